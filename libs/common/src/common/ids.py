"""Ids are opaque strings, matched whole; made-up ones sort by time, derived ones are the same on every retry."""

import hashlib
import os
import re
import time


def new_id(prefix: str) -> str:
    """Return a fresh id such as ``msg_0199…``: 48 bits of Unix milliseconds, then 80 random bits, in hex."""
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def derived_id(*parts: str) -> str:
    """Return 32 hex digits that depend on nothing but ``parts``, so that a repeated step names the same thing."""
    # The unit separator can't be confused with part of an id, so ("a", "bc") differs from ("ab", "c").
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


class OrderIds:
    """The store's order-id pattern (R19): ``"4417028\\n"`` is no order id, nor is the number 4417028."""

    def __init__(self, pattern: str = r"[0-9]{6,12}") -> None:
        self._pattern = re.compile(pattern, re.ASCII)
        self._inside = re.compile(rf"(?<!\w)(?:{pattern.strip('^$')})(?!\w)", re.ASCII)

    def matches(self, value: object) -> bool:
        """Say whether ``value`` is a string that is an order id from first to last character."""
        return isinstance(value, str) and self._pattern.fullmatch(value) is not None

    def find_in(self, text: str) -> list[str]:
        """Return the order ids standing in free text, in order and without repeats."""
        return list(dict.fromkeys(m.group(0) for m in self._inside.finditer(text)))
