"""When people are there: a store's weekly hours in its own time zone, and what a customer is told while nobody is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

from common.events.model import Language

Json = dict[str, Any]
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ENTRY = re.compile(r"([a-z]{3})(?:-([a-z]{3}))? ([0-9]{2}:[0-9]{2})-([0-9]{2}:[0-9]{2})")
# A team whose every opening day in a year is a holiday has no hours.
_LOOK_AHEAD_DAYS = 366


@dataclass(frozen=True, slots=True)
class Shift:
    """People are there from ``opens`` to ``closes``; one that closes at or before it opens ends on the next day."""

    weekday: int
    opens: time
    closes: time


@dataclass(frozen=True, slots=True)
class StaffHours:
    """``shifts`` in ``zone``'s local time (none: somebody is always there), except on ``holidays``.

    ``wait_min`` is how many minutes a customer usually waits while somebody is there; None: not told.
    """

    zone: tzinfo = UTC
    shifts: tuple[Shift, ...] = ()
    holidays: frozenset[date] = frozenset()
    wait_min: int | None = None

    def back_at(self, now: datetime) -> datetime | None:
        """Return when somebody is there again (in ``zone``), or None while somebody is."""
        if not self.shifts:
            return None
        today = now.astimezone(self.zone).date()
        for day in (today + timedelta(days=n) for n in range(-1, _LOOK_AHEAD_DAYS)):
            for opens, closes in self._open(day):
                if closes > now:
                    return opens if opens > now else None
        raise ValueError("these hours never open")

    def _open(self, day: date) -> Iterator[tuple[datetime, datetime]]:
        if day in self.holidays:
            return
        for shift in sorted((s for s in self.shifts if s.weekday == day.weekday()), key=lambda s: s.opens):
            ends = day if shift.closes > shift.opens else day + timedelta(days=1)
            yield (
                datetime.combine(day, shift.opens, self.zone),
                datetime.combine(ends, shift.closes, self.zone),
            )


ALWAYS = StaffHours()


def parse_shifts(text: str) -> tuple[Shift, ...]:
    """Read ``mon-fri 09:00-18:00, sat 10:00-14:00`` (24:00: midnight). Raises ValueError naming what it can't read."""
    shifts: list[Shift] = []
    for entry in filter(None, (part.strip().casefold() for part in text.split(","))):
        found = _ENTRY.fullmatch(entry)
        if found is None or found[1] not in _DAYS or (found[2] or found[1]) not in _DAYS:
            raise ValueError(f"{entry!r} is not like 'mon-fri 09:00-18:00'")
        first, last = _DAYS.index(found[1]), _DAYS.index(found[2] or found[1])
        if last < first:
            raise ValueError(f"{entry!r} ends before it begins")
        opens, closes = time.fromisoformat(found[3]), time.fromisoformat(found[4].replace("24:00", "00:00"))
        shifts += [Shift(weekday, opens, closes) for weekday in range(first, last + 1)]
    return tuple(shifts)


def on_duty(hours: StaffHours, now: datetime) -> Json:
    """Return what a handoff packet says of it: ``{"on_duty", "back_at", "expected_wait_min"}``."""
    back = hours.back_at(now)
    return {
        "on_duty": back is None,
        "back_at": back.isoformat() if back else None,
        "expected_wait_min": hours.wait_min if back is None else None,
    }


_WEEKDAYS: dict[Language, tuple[str, ...]] = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "es": ("el lunes", "el martes", "el miércoles", "el jueves", "el viernes", "el sábado", "el domingo"),
    "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    "de": ("am Montag", "am Dienstag", "am Mittwoch", "am Donnerstag", "am Freitag", "am Samstag", "am Sonntag"),
}
_TODAY: dict[Language, str] = {"en": "today", "es": "hoy", "fr": "aujourd'hui", "de": "heute"}
_BACK: dict[Language, str] = {
    "en": "Our team is back {day} at {time}.",
    "es": "Nuestro equipo vuelve {day} a las {time}.",
    "fr": "Notre équipe est de retour {day} à {time}.",
    "de": "Unser Team ist {day} um {time} wieder da.",
}
_WAIT: dict[Language, str] = {
    "en": "It usually takes about {n} minutes until somebody answers.",
    "es": "Alguien suele responder en unos {n} minutos.",
    "fr": "Il faut en général environ {n} minutes avant une réponse.",
    "de": "Es dauert meistens etwa {n} Minuten, bis jemand antwortet.",
}


def tell_hours(language: Language, hours: StaffHours, now: datetime) -> list[str]:
    """Return the sentence a customer who waits for a person is told after the notice, or none."""
    back = hours.back_at(now)
    if back is None:
        return [] if hours.wait_min is None else [_WAIT[language].format(n=hours.wait_min)]
    days = (back.date() - now.astimezone(hours.zone).date()).days
    day = _TODAY[language] if days == 0 else _WEEKDAYS[language][back.weekday()]
    if days >= len(_DAYS):
        # The weekday alone would be taken for this week's.
        day = f"{day} ({back.date().isoformat()})"
    return [_BACK[language].format(day=day, time=f"{back:%H:%M} ({back.tzname()})")]
