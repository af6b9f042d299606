"""One-time codes: what counts as a try, how a code is kept, and how it is compared."""

import hashlib
import hmac
import re

HIDDEN = "••••••"
_SIX_DIGITS = re.compile(r"[0-9]{6}", re.ASCII)


def typed_code(text: str, *, first_line: bool = False) -> str | None:
    """Return the six digits a message consists of; with ``first_line`` a greeting or signature may follow below."""
    whole = text.strip()
    if first_line and whole:
        whole = whole.splitlines()[0].strip()
    return whole if _SIX_DIGITS.fullmatch(whole) else None


def format_code(number: int) -> str:
    """Return a number below a million as six digits."""
    return f"{number:06d}"


def pepper_of(secret: str) -> bytes:
    """Derive the key codes are hashed with: six digits alone could be tried out by anyone who reads the table."""
    return hashlib.sha256(b"one-time-codes\n" + secret.encode()).digest()


def hash_code(pepper: bytes, code_id: str, code: str) -> bytes:
    """Return what is stored of a code; the id keeps equal codes apart."""
    return hmac.new(pepper, f"{code_id}\n{code}".encode(), hashlib.sha256).digest()


def is_right(pepper: bytes, code_id: str | None, stored: bytes | None, typed: str) -> bool:
    """Compare in constant time; without a stored code the same work is done and the answer is no."""
    given = hash_code(pepper, code_id or "none", typed)
    return hmac.compare_digest(given, stored or bytes(32)) and stored is not None
