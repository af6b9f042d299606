"""Which links a reply may hold: those that the store's systems gave in this conversation, written as they may be shown.

A model may make one up, or have read one in a customer's message or a record's note; a customer can't tell them apart.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from common.links import shown_link

_MOST = 60
# What a client turns into a link: anything with a scheme, www, a host with a path, a host in a usual domain.
_LINK = re.compile(
    r"https?:[\\/]+[^\s<>\"'`\[\]]+"
    r"|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^\s<>\"'`\[\]]+"
    r"|(?<![^\W_])(?<![@.])(?:www\.[^\s<>\"'`\[\]]+|(?:[^\W_](?:[\w-]*[^\W_])?\.)+"
    r"(?:[^\W\d_]{2,}/[^\s<>\"'`\[\]]*|(?:com|net|org|info|biz|shop|store|online|site|xyz|top|click|link"
    r"|app|dev|io|eu|de|fr|es|me|uk|co)(?![^\W_])))",
    re.IGNORECASE,
)
# May end a link, but more often ends what stands around it.
_AROUND = ".,;:!?*_~)}»”’…|"


def with_shown_links(value: Any) -> Any:
    """Return a tool's result with each link as it may be shown; one that may not be is None."""
    if isinstance(value, dict):
        return {
            name: shown_link(one) if _holds_link(name, one) else with_shown_links(one) for name, one in value.items()
        }
    if isinstance(value, list):
        return [with_shown_links(one) for one in value]
    return value


def links_of(value: Any) -> Iterator[str]:
    """Yield the links of a tool's result: fields made for them, for a note may hold anybody's."""
    if isinstance(value, dict):
        for name, one in value.items():
            if _holds_link(name, one):
                yield one
            else:
                yield from links_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from links_of(one)


def links_said(text: str) -> list[str]:
    """Return what in a text is or becomes a link, without what stands around it."""
    return [match.group().rstrip(_AROUND) for match in _LINK.finditer(text)]


def remember_links(known: list[str], new: Iterable[str]) -> None:
    """Add links that may be repeated, the newest last; ``known`` stays short."""
    for link in new:
        if link in known:
            known.remove(link)
        known.append(link)
    del known[:-_MOST]


def strange_links(sentence: str, known: Sequence[str]) -> list[str]:
    """Return the links of a sentence that nobody but its writer knows of."""
    return [match.group() for match in _LINK.finditer(sentence) if not _is_known(match.group(), known)]


def _is_known(written: str, known: Sequence[str]) -> bool:
    while True:
        if any(written == link or written in _without_scheme(link) for link in known):
            return True
        # A host's root is the host.
        if not written or written[-1] not in f"{_AROUND}/":
            return False
        written = written[:-1]


def _without_scheme(link: str) -> tuple[str, str, str]:
    """Return the link as it is often written: host and path, or the host alone, with its scheme or without."""
    scheme, _, rest = link.partition("://")
    host = rest.partition("/")[0]
    return rest, host, f"{scheme}://{host}"


def _holds_link(name: str, value: Any) -> bool:
    return isinstance(value, str) and (name == "url" or name.endswith("_url"))
