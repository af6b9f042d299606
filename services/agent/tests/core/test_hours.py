"""When somebody is there, and what is said while nobody is: local time, through clock changes and holidays."""

from datetime import UTC, date, datetime
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from agent.core.claims import Facts, check_reply
from agent.core.hours import ALWAYS, StaffHours, on_duty, parse_shifts, tell_hours
from agent.core.wording import Phrase, say
from common.events.model import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
MADRID = ZoneInfo("Europe/Madrid")
OFFICE = StaffHours(MADRID, parse_shifts("mon-fri 09:00-18:00, sat 10:00-14:00"), frozenset({date(2026, 12, 25)}))
NIGHT = StaffHours(ZoneInfo("America/New_York"), parse_shifts("fri-sat 22:00-06:00"))


@pytest.mark.parametrize(
    ("hours", "now", "back"),
    [
        # Monday 30 November 2026, Madrid is UTC+1
        (OFFICE, "2026-11-30T07:59:59Z", "2026-11-30T09:00:00+01:00"),
        (OFFICE, "2026-11-30T08:00:00Z", None),
        (OFFICE, "2026-11-30T16:59:59Z", None),
        (OFFICE, "2026-11-30T17:00:00Z", "2026-12-01T09:00:00+01:00"),
        # Friday evening, Saturday morning, Saturday afternoon, Sunday
        (OFFICE, "2026-12-04T17:00:00Z", "2026-12-05T10:00:00+01:00"),
        (OFFICE, "2026-12-05T12:59:00Z", None),
        (OFFICE, "2026-12-05T13:00:00Z", "2026-12-07T09:00:00+01:00"),
        (OFFICE, "2026-12-06T12:00:00Z", "2026-12-07T09:00:00+01:00"),
        # Christmas is a Friday: closed all day, back on Saturday
        (OFFICE, "2026-12-24T18:00:00Z", "2026-12-26T10:00:00+01:00"),
        (OFFICE, "2026-12-25T10:00:00Z", "2026-12-26T10:00:00+01:00"),
        # the day in the store's zone counts, not in UTC
        (OFFICE, "2026-12-24T23:30:00Z", "2026-12-26T10:00:00+01:00"),
        # over the change to summer time (28 March 2027) nine o'clock stays nine o'clock
        (OFFICE, "2027-03-27T14:00:00Z", "2027-03-29T09:00:00+02:00"),
        # a shift over midnight belongs to the day it begins on
        (NIGHT, "2026-12-05T04:00:00Z", None),
        (NIGHT, "2026-12-05T10:59:00Z", None),
        (NIGHT, "2026-12-05T11:00:00Z", "2026-12-05T22:00:00-05:00"),
        (NIGHT, "2026-12-06T10:00:00Z", None),
        (NIGHT, "2026-12-06T11:00:00Z", "2026-12-11T22:00:00-05:00"),
        (ALWAYS, "2026-12-25T03:00:00Z", None),
    ],
)
def test_somebody_is_there_within_the_hours_and_back_at_the_next(hours: StaffHours, now: str, back: str | None) -> None:
    found = hours.back_at(datetime.fromisoformat(now))
    assert (found.isoformat() if found else None) == back
    assert on_duty(hours, datetime.fromisoformat(now))["on_duty"] is (back is None)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        ("2026-11-30T10:00:00Z", {"en": [], "es": [], "fr": [], "de": []}),
        (
            "2026-11-29T10:00:00Z",
            {
                "en": ["Our team is back Monday at 09:00 (CET)."],
                "es": ["Nuestro equipo vuelve el lunes a las 09:00 (CET)."],
                "fr": ["Notre équipe est de retour lundi à 09:00 (CET)."],
                "de": ["Unser Team ist am Montag um 09:00 (CET) wieder da."],
            },
        ),
        (
            "2026-11-30T06:00:00Z",
            {
                "en": ["Our team is back today at 09:00 (CET)."],
                "es": ["Nuestro equipo vuelve hoy a las 09:00 (CET)."],
                "fr": ["Notre équipe est de retour aujourd'hui à 09:00 (CET)."],
                "de": ["Unser Team ist heute um 09:00 (CET) wieder da."],
            },
        ),
    ],
)
def test_the_customer_is_told_when_the_team_is_back(now: str, told: dict[Language, list[str]]) -> None:
    assert {language: tell_hours(language, OFFICE, datetime.fromisoformat(now)) for language in LANGUAGES} == told


def test_a_weekday_that_is_not_this_weeks_comes_with_its_date() -> None:
    once_a_week = StaffHours(UTC, parse_shifts("mon 09:00-10:00"), frozenset({date(2026, 12, 7)}))
    assert tell_hours("en", once_a_week, datetime(2026, 12, 1, tzinfo=UTC)) == [
        "Our team is back Monday (2026-12-14) at 09:00 (UTC)."
    ]


def test_while_somebody_is_there_the_usual_wait_is_told_if_the_store_names_one() -> None:
    hours = StaffHours(UTC, parse_shifts("mon-sun 00:00-24:00"), wait_min=15)
    now = datetime(2026, 12, 1, 12, tzinfo=UTC)
    assert ["15" in sentence for language in LANGUAGES for sentence in tell_hours(language, hours, now)] == [True] * 4
    assert on_duty(hours, now) == {"on_duty": True, "back_at": None, "expected_wait_min": 15}


@pytest.mark.parametrize("text", ["monday 09:00-18:00", "mon 9-18", "fri-mon 09:00-18:00", "mon 25:00-26:00", "x"])
def test_hours_nobody_can_read_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_shifts(text)


def test_hours_that_never_open_are_an_error_and_not_an_endless_search() -> None:
    with pytest.raises(ValueError, match="never open"):
        StaffHours(UTC, parse_shifts("mon 09:00-10:00"), _all_mondays()).back_at(datetime(2026, 12, 1, tzinfo=UTC))


def _all_mondays() -> frozenset[date]:
    return frozenset(date.fromordinal(n) for n in range(739_900, 741_500) if date.fromordinal(n).weekday() == 0)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("phrase", ["handoff", "handoff_sensitive", "handoff_no_model", "with_person"])
@pytest.mark.parametrize("day", range(8))
def test_the_notice_passes_the_reply_check_on_every_day(language: Language, phrase: Phrase, day: int) -> None:
    hours = StaffHours(MADRID, parse_shifts("mon-sun 09:00-18:00"), wait_min=15)
    for hour in (6, 12, 20):
        now = datetime(2026, 11, 30 if day == 0 else day, hour, tzinfo=UTC).replace(month=11 if day == 0 else 12)
        text = " ".join([say(language, phrase), *tell_hours(language, hours, now)])
        assert check_reply(text, language, Facts(handoff=True)).holds, text
