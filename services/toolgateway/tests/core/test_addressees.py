"""Who hears of a changed email or phone: a table, no fixtures."""

import pytest

from toolgateway.core.addressees import is_told, language_tag, old_addresses
from toolgateway.core.orders import Customer

BOTH = Customer(email="old@example.com", phone="+15550001")
E, P = ("email", "old@example.com"), ("whatsapp", "+15550001")


@pytest.mark.parametrize(
    ("field", "value", "before", "told"),
    [
        ("email", "new@example.com", BOTH, [E]),
        ("phone", "+15559999", BOTH, [P, E]),
        ("email", "new@example.com", Customer(email="old@example.com"), [E]),
        ("phone", "+15559999", Customer(email="old@example.com"), [E]),
        ("phone", "+15559999", Customer(phone="+15550001"), [P]),
        ("email", "new@example.com", Customer(phone="+15550001"), [P]),
        ("email", "new@example.com", Customer(), []),
        # Nothing changes: nothing is told.
        ("email", "old@example.com", BOTH, []),
        ("phone", "+15550001", BOTH, []),
        # What no mail could be sent to must not hold the change up.
        ("email", "new@example.com", Customer(email="  "), []),
        ("email", "new@example.com", Customer(email="a\x00@example.com"), []),
        ("email", "new@example.com", Customer(email="x" * 321), []),
    ],
)
def test_a_change_is_told_to_whoever_was_reached_before(
    field: str, value: str, before: Customer, told: list[tuple[str, str]]
) -> None:
    assert [(a.channel, a.address) for a in old_addresses(field, value, before)] == told


def test_only_a_way_into_the_account_is_told() -> None:
    assert [f for f in ("email", "phone", "name", "address") if is_told("account_change", {"field": f})] == [
        "email",
        "phone",
    ]
    assert not is_told("refund", {"field": "email"})


@pytest.mark.parametrize(
    ("locale", "tag"), [("es-MX", "es-MX"), ("de", "de"), ("", None), (None, None), ("a\x00", None)]
)
def test_a_language_tag_is_one_or_none(locale: str | None, tag: str | None) -> None:
    assert language_tag(locale) == tag
