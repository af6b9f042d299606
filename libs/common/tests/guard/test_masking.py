"""Secrets out, everything else byte for byte as it was."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.guard.masking import mask, mask_beginning
from common.guard.payment_numbers import luhn_valid

_ISSUERS = [
    ("4", 16),
    ("4", 13),
    ("51", 16),
    ("2221", 16),
    ("34", 15),
    ("37", 15),
    ("6011", 16),
    ("36", 14),
    ("35", 16),
    ("62", 19),
]
_SCRIPTS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "०१२३४५६७८९", "０１２３４５６７８９", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"]


def complete(body: str) -> str:
    """`body` with the Luhn digit that makes it a card number."""
    return next(body + d for d in "0123456789" if luhn_valid(body + d))


@st.composite
def cards(draw: st.DrawFn) -> str:
    prefix, length = draw(st.sampled_from(_ISSUERS))
    missing = length - len(prefix) - 1
    return complete(prefix + draw(st.text("0123456789", min_size=missing, max_size=missing)))


@settings(max_examples=300, deadline=None)
@given(cards(), st.sampled_from(["", " ", "-", ".", "\u00a0", " - ", "\u200b"]), st.sampled_from(_SCRIPTS))
def test_a_card_number_is_masked_in_any_script_and_grouping(card: str, separator: str, script: str) -> None:
    written = separator.join(card[i : i + 4] for i in range(0, len(card), 4)).translate(
        str.maketrans("0123456789", script)
    )
    masked = mask(f"pay with {written} please")
    assert masked == f"pay with [card ••••{card[-4:]}] please"


@settings(max_examples=200, deadline=None)
@given(cards())
def test_a_card_number_typed_digit_by_digit_shows_at_most_its_last_four(card: str) -> None:
    assert sum(c.isdigit() for c in mask(" ".join(card))) <= 4


@settings(max_examples=300, deadline=None)
@given(
    st.from_regex(r"[0-9]{6,12}", fullmatch=True),
    st.sampled_from(["order {}", "#{}", "{}.", "Bestellung {} fehlt", "{}"]),
)
def test_an_order_number_is_never_masked(order_id: str, sentence: str) -> None:
    text = sentence.format(order_id)
    assert mask(text) == text


@settings(max_examples=300, deadline=None)
@given(st.lists(st.from_regex(r"[0-9]{6,7}", fullmatch=True), min_size=2, max_size=4))
def test_order_numbers_in_a_row_stay_readable(order_ids: list[str]) -> None:
    for joined in (
        ", ".join(order_ids),
        " and ".join(order_ids),
        " ".join(order_ids[:2]),
        "\n".join(f"- {o}" for o in order_ids),
    ):
        assert mask(joined) == joined, joined


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("4242 4242 4242 4242 12/27 123", "[card ••••4242] 12/27 •••"),
        ("card 3782 822463 10005", "card [card ••••0005]"),
        ("4242 4242 4242 4242 paid 250", "[card ••••4242] paid 250"),
        ("DE89 3704 0044 0532 0130 00 bitte", "[IBAN ••••3000] bitte"),
        ("ES9121000418450200051332", "[IBAN ••••1332]"),
        ("my password is hunter2.", "my password is ••••••."),
        ("Password: Tr0ub4dor&3", "Password: ••••••"),
        ("the password for my account is Blue", "the password for my account is ••••••"),
        ("mi contraseña es gato123, ayuda", "mi contraseña es ••••••, ayuda"),
        ("mon mot de passe est Soleil99", "mon mot de passe est ••••••"),
        ("Mein Passwort lautet Sommer2024!", "Mein Passwort lautet ••••••!"),
        ("Kennwort: geheim", "Kennwort: ••••••"),
        ("CVV: 123", "CVV: •••"),
        ("Prüfnummer 987", "Prüfnummer •••"),
        ("the code is 123456", "the code is ••••••"),
        ("Bestätigungscode 482913", "Bestätigungscode ••••••"),
        ("mi código es 482 913", "mi código es ••••••"),
        ("code de vérification : 482913", "code de vérification : ••••••"),
    ],
)
def test_secrets_customers_paste_are_masked(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "My password is too short",
        "my password is not working",
        "La contraseña es demasiado corta",
        "mon mot de passe est oublié",
        "Das Passwort ist falsch",
        "order #4417028, promo code SAVE10",
        "my order code 4417028",
        "call me at +49 1512 3456789",
        "tracking 1Z999AA10123456784",
        "I paid 250.00 on 12.05.2026",
        "4242 4242 4242 4243",  # fails the check digit
        "",
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert mask(text) == text


_SECRETS = [
    "4111 1111 1111 1111",
    "4111-1111-1111-1111 12/27 123",
    "4\u200b1\u200b1\u200b1 " * 3 + "1111",
    "DE89 3704 0044 0532 0130 00",
    "my password is " + "Geheim7!" * 8,
    "one-time code: 123 456",
    "pw:abc",
]


@pytest.mark.parametrize("secret", _SECRETS)
def test_a_secret_on_the_cut_is_masked_or_left_out_but_never_halved(secret: str) -> None:
    limit = 300
    for start in range(limit - len(secret) - 20, limit + 5):
        text = "Z" * start + " " + secret + " thank you. " * 200
        begun = mask_beginning(text, limit)
        assert mask(text).startswith(begun)
        assert len(begun) == limit


@pytest.mark.parametrize("secret", _SECRETS)
def test_a_secret_where_reading_stops_is_left_out(secret: str) -> None:
    for filler in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55):
        # Masking shortens most of these: what stands where reading stops may come to lie within the limit.
        text = "Z" * filler + f" {secret};" * 500
        begun = mask_beginning(text, 3_000)
        assert mask(text).startswith(begun)
        assert begun


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([*_SECRETS, "order 4417028", "Hello,", "\n", "12", "4111"]), max_size=300),
    st.integers(1, 900),
)
def test_a_masked_beginning_is_the_beginning_of_the_masked_text(parts: list[str], limit: int) -> None:
    text = " ".join(parts)
    assert mask(text).startswith(mask_beginning(text, limit))


def test_a_text_within_the_limit_is_masked_whole() -> None:
    assert mask_beginning("Card 4111 1111 1111 1111, hello", 8_000) == "Card [card ••••1111], hello"


def test_no_more_than_the_limit_and_a_margin_of_a_long_text_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr("common.guard.masking.mask", lambda text: read.append(len(text)) or text)
    assert mask_beginning("a" * 5_000_000, 8_000) == "a" * 8_000
    assert sum(read) < 10_000
