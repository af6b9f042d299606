"""Addresses and account values in a customer's words."""

import re
from typing import Any

from sandbox.core.personas.reading import fold

Json = dict[str, Any]
_COUNTRY_NAMES = {
    "US": "us usa united-states estados-unidos etats-unis",
    "GB": "gb uk united-kingdom england reino-unido royaume-uni",
    "ES": "es spain espana spanien espagne",
    "FR": "fr france francia frankreich",
    "DE": "de germany alemania allemagne deutschland",
    "IT": "it italy italia italie italien",
    "CA": "ca canada kanada",
    "MX": "mx mexico mexique mexiko",
    "AT": "at austria autriche osterreich",
    "CH": "ch switzerland suiza suisse schweiz",
    "NL": "nl netherlands paises-bajos pays-bas niederlande",
    "PT": "pt portugal",
    "IE": "ie ireland irlanda irlande irland",
    "BE": "be belgium belgica belgique belgien",
}
_COUNTRIES = {name: code for code, names in _COUNTRY_NAMES.items() for name in names.split()}
_LEAD = re.compile(
    r"^.*?(?:\b(?:to|is|deliver to|send to|a|es|à|est|an|nach|in|auf|lautet|instead)\b|:)\s*:?\s*(?=[^,]*\d)",
    re.IGNORECASE | re.DOTALL,
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+?\d[\d ()/-]{6,}\d")
_WORD = r"[A-ZÀ-Ý][\w'-]+"
_NAME = re.compile(rf"(?:\b(?:to|is|a|es|en|à|est|zu|auf|in|heiße)|:)\s+({_WORD}(?:\s+{_WORD})*)\s*[.!]?\s*$")


def address_in(text: str, order_id: str | None) -> Json | None:
    """Return the address in a text, or None unless street, city, postal code and country can all be told."""
    # The order number is the first thing with digits in many messages; it must not be taken for the street.
    line = next((part for part in reversed(text.splitlines()) if part.count(",") >= 2), "")
    if order_id is not None:
        line = line.replace(order_id, "")
    parts = [part.strip(" .!") for part in _LEAD.sub("", line, count=1).split(",") if part.strip(" .!")]
    if len(parts) < 3:
        return None
    country = _COUNTRIES.get(fold(parts[-1]).replace(" ", "-"))
    rest = parts[:-1] if country else parts
    coded = [(place, code) for place, part in enumerate(rest) if place > 0 and (code := _code(part)) is not None]
    if country is None or not coded:
        return None
    place, code = coded[-1]
    beside = rest[place].replace(code, "").strip()
    before = rest[1:place]
    city = before[0] if before else beside
    if not city:
        city = next(iter(rest[place + 1 :]), "")
    region = beside if before and beside else None
    if not city:
        return None
    found = {"line1": rest[0], "city": city, "region": region, "postal_code": code, "country": country}
    return {name: value for name, value in found.items() if value}


def account_change(text: str) -> tuple[str, Any] | None:
    """Return (field, value) of the change a customer asks for, or None when it isn't complete."""
    folded = fold(text)
    email, phone = _EMAIL.search(text), _PHONE.search(text)
    if email and re.search(r"mail|correo|courriel|adress|address", folded):
        return "email", email.group(0)
    if phone and re.search(r"phone|telefon|telephone|handy|number|numero|nummer|movil", folded):
        return "phone", phone.group(0).strip()
    if re.search(r"address|direccion|adresse|anschrift", folded):
        address = address_in(text, None)
        return None if address is None else ("address", address)
    name = _NAME.search(text)
    return ("name", name.group(1)) if name and re.search(r"name|nombre|\bnom\b", folded) else None


def _code(part: str) -> str | None:
    found = re.search(
        r"\b(\d{4,6}(?:-\d{4})?|[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d|\d{4} ?[A-Z]{2})\b", part
    )
    return found.group(1) if found else None
