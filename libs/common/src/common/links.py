"""Links that come from other systems, as they may be shown: to the host that they name, and to no look-alike of one."""

import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

import idna

# A browser reads a backslash as a slash and skips white space: what we compare must be what it opens.
_TRICKY = re.compile(r"[\x00-\x20\x7f\\]|[^\S ]")


def shown_link(url: str, hosts: Sequence[str] = ()) -> str | None:
    """Return a web link as it may be shown, or None.

    Its host is written in ASCII (``xn--…``), so that no other script can pass for a name somebody trusts, and compared
    after that: equal to one of ``hosts`` or below one of them. No ``hosts``: any host. A user name before the host is
    never a link of ours: it is there to be read for the host.
    """
    parts = _split(url)
    if parts is None or "@" in parts.netloc or parts.hostname is None:
        return None
    host = ascii_host(parts.hostname)
    if host is None or (hosts and not any(_is_at_or_below(host, ascii_host(one)) for one in hosts)):
        return None
    try:
        netloc = host if parts.port is None else f"{host}:{parts.port}"
    except ValueError:
        return None
    return url if netloc == parts.netloc else parts._replace(netloc=netloc).geturl()


# A store's links name a handful of carriers' hosts, and the tables behind one cost as much as a small request.
@lru_cache(maxsize=1_024)
def ascii_host(host: str) -> str | None:
    """Return a host in the form that name servers are asked for, or None when it has none."""
    try:
        return idna.encode(host.rstrip("."), uts46=True, transitional=False).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        return None


def _split(url: str) -> SplitResult | None:
    if _TRICKY.search(url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") else None


def _is_at_or_below(host: str, allowed: str | None) -> bool:
    return allowed is not None and (host == allowed or host.endswith(f".{allowed}"))
