"""How a channel's name for somebody is compared with what is on file: whole, and without folding foreign letters."""

import re

_ADDRESS = re.compile(r"[^\s@<>,;:\"()\[\]\\]{1,64}@[A-Za-z0-9.-]{1,190}", re.ASCII)
_PHONE = re.compile(r"\+?[0-9][0-9 ().\-/]{4,30}", re.ASCII)


def email_address(value: str) -> str | None:
    """Return a plausible address as it stands, None for anything else."""
    stripped = value.strip()
    return stripped if _ADDRESS.fullmatch(stripped) else None


def same_address(given: str, on_file: object) -> bool:
    """Compare addresses; only ASCII letters fold, so a lookalike (K for the Kelvin sign) is somebody else."""
    return isinstance(on_file, str) and given.isascii() and on_file.isascii() and given.lower() == on_file.lower()


def phone_number(value: str) -> str | None:
    """Return ``+`` and digits for anything written like a phone number, None for anything else."""
    stripped = value.strip()
    if _PHONE.fullmatch(stripped) is None:
        return None
    digits = re.sub(r"[^0-9]", "", stripped)
    if stripped.startswith("+"):
        return "+" + digits
    return "+" + digits[2:] if digits.startswith("00") else digits


def same_phone(given: str, on_file: object) -> bool:
    """Compare two spellings of a number by their digits."""
    if not isinstance(on_file, str):
        return False
    one, other = phone_number(given), phone_number(on_file)
    return one is not None and other is not None and one.lstrip("+") == other.lstrip("+")
