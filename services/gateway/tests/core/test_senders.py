"""Who is believed, what a mail says, and what a code is."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.core import codes, identities, texts
from gateway.core.inbound import Facts, Step, decide_step
from gateway.core.mail import html_to_text, read_mail, strip_quotes

QUOTED = [
    ("Yes please\n\nOn Mon, 5 Jan 2026 at 10:00, Store <help@store> wrote:\n> old\n> older", "Yes please"),
    ("Ja\n\nAm Mo., 5. Jan. 2026 um 10:00 schrieb Store <a@b>:\n> alt", "Ja"),
    ("Oui\n\nLe lun. 5 janv. 2026 à 10:00, Store <a@b> a écrit :\n> vieux", "Oui"),
    ("Sí\n\nEl lun, 5 ene 2026 a las 10:00, Store (<a@b>) escribió:\n> viejo", "Sí"),
    ("New\n\nOn Mon, 5 Jan 2026 at 10:00, A Very Long Name\n<help@store> wrote:\n> old", "New"),
    ("New\n-----Original Message-----\nFrom: x\nold", "New"),
    ("New\n\nFrom: Store <help@store>\nSent: Monday\nold", "New"),
    ("> old\nmine\n> old\nalso mine", "mine\nalso mine"),
    ("On Mon, 5 Jan 2026, Store wrote:\n> old\n\nbelow it", "below it"),
    ("text\n-- \nMaya\nCEO", "text"),
    ("On Monday I wrote: where is it?", "On Monday I wrote: where is it?"),
    ("From my point of view it is broken", "From my point of view it is broken"),
    ("a\r\nb\rc", "a\nb\nc"),
]


@pytest.mark.parametrize(("text", "expected"), QUOTED)
def test_only_what_is_new_in_a_mail_is_kept(text: str, expected: str) -> None:
    assert strip_quotes(text) == expected


def test_html_mail_is_read_as_a_reader_sees_it() -> None:
    html = "<style>x{}</style><p>Hello<br>world</p><blockquote>old</blockquote><script>bad()</script>"
    assert html_to_text(html).split() == ["Hello", "world"]


@given(st.binary(max_size=400))
def test_any_bytes_are_a_mail(raw: bytes) -> None:
    mail = read_mail(raw)
    for value in (mail.source_id, mail.thread_ref, mail.subject, mail.text):
        assert "\x00" not in value
        value.encode()
    assert 0 < len(mail.thread_ref) <= 200


def test_two_from_lines_are_nobody() -> None:
    assert read_mail(b"From: a@x.example\r\nFrom: b@x.example\r\n\r\nhi").sender is None
    assert read_mail(b"From: Maya <maya@x.example>\r\n\r\nhi").sender == "maya@x.example"


def test_a_thread_is_named_by_its_first_mail() -> None:
    mail = read_mail(b"Message-ID: <3@x>\r\nReferences: <1@x> <2@x>\r\n\r\nhi")
    assert (mail.source_id, mail.thread_ref) == ("<3@x>", "<1@x>")


@pytest.mark.parametrize(
    ("given_address", "same"),
    [
        ("Quick@Example.com", True),
        ("quic\u212a@example.com", False),
        ("qu\u0131ck@example.com", False),
        ("x@example.com", False),
    ],
)
def test_lookalike_letters_are_another_address(given_address: str, same: bool) -> None:
    """BB-AUTH-13."""
    assert identities.same_address(given_address, "quick@example.com") is same


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("+1 555-0100", "+15550100", True), ("001 5550100", "+15550100", True), ("15550100", "+15550100", True),
     ("+15550101", "+15550100", False), ("abc", "abc", False), ("١٢٣٤٥٦", "123456", False)],
)  # fmt: skip
def test_a_number_is_the_same_however_it_is_written(one: str, other: str, same: bool) -> None:
    assert identities.same_phone(one, other) is same


@pytest.mark.parametrize(
    ("text", "first_line", "expected"),
    [("123456", False, "123456"), (" 123456\n", False, "123456"), ("123456\nThanks", False, None),
     ("123456\nThanks", True, "123456"), ("1234567", False, None), ("code 123456", True, None),
     ("１２３４５６", False, None), ("", True, None)],
)  # fmt: skip
def test_a_code_is_six_digits_alone(text: str, first_line: bool, expected: str | None) -> None:
    assert codes.typed_code(text, first_line=first_line) == expected


def test_a_code_is_right_only_under_its_own_id_and_key() -> None:
    pepper = codes.pepper_of("secret")
    stored = codes.hash_code(pepper, "c1", "123456")
    assert codes.is_right(pepper, "c1", stored, "123456")
    assert not codes.is_right(pepper, "c1", stored, "123457")
    assert not codes.is_right(pepper, "c2", stored, "123456")
    assert not codes.is_right(codes.pepper_of("other"), "c1", stored, "123456")
    assert not codes.is_right(pepper, None, None, "123456")


def test_nobody_unproved_is_ever_published_as_a_customer() -> None:
    for known, outstanding, holding, is_code, asks in itertools.product((True, False), repeat=5):
        step = decide_step(
            Facts(
                proved=False,
                customer_known=known,
                code_outstanding=outstanding,
                holding=holding,
                is_code=is_code,
                needs_code_channel=asks,
            )
        )
        assert step is not Step.PUBLISH
        assert (step is Step.HOLD or step is Step.TRY_CODE) == known


def test_six_digits_are_a_try_only_while_a_code_is_outstanding() -> None:
    facts = {"proved": True, "customer_known": True, "holding": False, "needs_code_channel": False}
    assert decide_step(Facts(**facts, code_outstanding=False, is_code=True)) is Step.PUBLISH
    assert decide_step(Facts(**facts, code_outstanding=True, is_code=True)) is Step.TRY_CODE
    assert decide_step(Facts(**facts, code_outstanding=True, is_code=False)) is Step.PUBLISH


@pytest.mark.parametrize("tag", ["en", "es-MX", "fr_FR", "DE", "pt", None, ""])
def test_every_text_exists_in_the_language_or_in_english(tag: str | None) -> None:
    subject, text = texts.code_mail("123456", 600, tag)
    assert "123456" in text
    assert "123456" not in subject
    assert "{" not in text
    assert texts.with_disclosure("Hi", "agent", tag).startswith("Hi\n\n")
    assert texts.with_disclosure("Hi", "staff", tag) == "Hi"
