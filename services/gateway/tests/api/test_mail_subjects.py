"""A subject may be as long as the mail, and is masked on the event loop that serves everybody."""

import pytest

from common.guard import masking
from gateway.api.hooks import _reply_subject
from gateway.core.mail import read_mail


def subject_of(header: str) -> str:
    raw = f"From: maya@example.com\r\nMessage-ID: <m1@x>\r\nSubject: {header}\r\n\r\nHi\r\n"
    return read_mail(raw.encode()).subject


def test_no_more_than_the_beginning_of_a_long_subject_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # A charset nobody knows leaves the whole header to be read as it came.
    subject = subject_of("=?x-none?q?Card?= " + "4111 1111 1111 1111 " * 15_000)
    assert len(subject) > 250_000
    read: list[int] = []
    find_cards = masking.find_cards
    monkeypatch.setattr(masking, "find_cards", lambda text: read.append(len(text)) or find_cards(text[:5_000]))
    answered = _reply_subject(subject)
    assert answered.startswith("Re: =?x-none?q?Card?= [card ••••1111] [card ••••1111]")
    assert "4111 1" not in answered
    assert [n for n in read if n > 3_000] == []


@pytest.mark.parametrize("before", range(270, 301))
@pytest.mark.parametrize("after", ["", " thank you." * 200])
def test_a_card_across_the_end_of_a_subject_is_never_halved(before: int, after: str) -> None:
    answered = _reply_subject(subject_of("A" * before + " 4111 1111 1111 1111" + after))
    assert answered.startswith("Re: " + "A" * before)
    assert len(answered) <= len("Re: ") + 300
    assert "4111" not in answered.replace("••••1111", "")
