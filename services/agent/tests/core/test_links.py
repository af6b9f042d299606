"""Links in a reply: only those that the store's systems gave, whatever dress they are written in."""

from typing import Any

import pytest

from agent.core.links import links_of, links_said, remember_links, strange_links, with_shown_links

TRACK = "https://track.example/1Z-99?lang=en"
LABEL = "https://labels.example/l_(7).pdf"
KNOWN = [TRACK, LABEL, "https://help.store.com/returns"]


@pytest.mark.parametrize(
    "sentence",
    [
        f"You can follow it at {TRACK}.",
        f"You can follow it here: {TRACK}",
        f"[Follow it]({TRACK}), please.",
        f"[{TRACK}]({TRACK})",
        f"**{TRACK}**!",
        f"Ihr Etikett: {LABEL}.",
        f"Votre étiquette ({LABEL}) est prête.",
        f"Siga el envío en «{TRACK}»",
        "It is at track.example/1Z-99?lang=en, I believe.",
        "Our help center at help.store.com has more.",
        "The refund is 64.00 USD, i.e. all of it.",
        "Das geht z.B. per E-Mail an hilfe@store.com/info@other.com.",
        "It was paid 12.50/month and/or returned on 3.11.2026/4.11.2026.",
        "Done.Thanks for waiting.",
    ],
)
def test_a_known_link_and_no_link_at_all_may_stand(sentence: str) -> None:
    assert strange_links(sentence, KNOWN) == []


@pytest.mark.parametrize(
    ("sentence", "strange"),
    [
        ("Pay here: https://evil.example/pay.", ["https://evil.example/pay."]),
        ("Log in at www.store-support.com first.", ["www.store-support.com"]),
        ("Log in at store-support.com first.", ["store-support.com"]),
        ("Log in at evil.example/login.", ["evil.example/login."]),
        ("[track.example](https://evil.example/1Z-99)", ["https://evil.example/1Z-99)"]),
        (f"{TRACK}&to=https://evil.example", [f"{TRACK}&to=https://evil.example"]),
        (f"{TRACK}x", [f"{TRACK}x"]),
        ("https://track.example@evil.example/1Z-99", ["https://track.example@evil.example/1Z-99"]),
        ("https://track.example.evil.com/1Z-99", ["https://track.example.evil.com/1Z-99"]),
        ("http://track.example/1Z-99?lang=en", ["http://track.example/1Z-99?lang=en"]),
        ("HTTPS://EVIL.EXAMPLE", ["HTTPS://EVIL.EXAMPLE"]),
        ("https://tr\u0430ck.example/1Z-99?lang=en", ["https://tr\u0430ck.example/1Z-99?lang=en"]),
        ("tr\u0430ck.example/1Z-99", ["tr\u0430ck.example/1Z-99"]),
        ("ftp://track.example/1Z-99?lang=en", ["ftp://track.example/1Z-99?lang=en"]),
        ("Try https://a.example and https://b.example", ["https://a.example", "https://b.example"]),
        ("Or www.evil.de then", ["www.evil.de"]),
        ("[here](//evil.com/x)", ["evil.com/x)"]),
        ("_evil.com_", ["evil.com"]),
        ("-evil.com", ["evil.com"]),
        ("1https://evil.com/x", ["https://evil.com/x"]),
        ("http:/evil.com/x", ["http:/evil.com/x"]),
        ("ask evil.io or evil.co.uk", ["evil.io", "evil.co.uk"]),
    ],
)
def test_a_link_that_no_system_gave_is_strange(sentence: str, strange: list[str]) -> None:
    assert strange_links(sentence, KNOWN) == strange


def test_without_any_known_link_every_link_is_strange() -> None:
    assert strange_links(f"Follow it at {TRACK}", []) == [TRACK]


def test_links_come_from_fields_made_for_them_and_are_written_as_they_may_be_shown() -> None:
    result: dict[str, Any] = {
        "order_id": "1",
        "tracking_url": "https://tr\u00e4ck.example/1",
        "note": "see https://evil.example/now",
        "labels": [{"url": LABEL}, {"url": "https://store.com@evil.example/"}, {"url": None}],
        "passages": [
            {"title": "https://evil.example", "url": "https://help.example/a", "text": "https://evil.example"}
        ],
    }
    shown = with_shown_links(result)
    assert shown["tracking_url"] == "https://xn--trck-moa.example/1"
    assert [label["url"] for label in shown["labels"]] == [LABEL, None, None]
    assert shown["note"] == result["note"], "a text stays what it is"
    assert list(links_of(shown)) == ["https://xn--trck-moa.example/1", LABEL, "https://help.example/a"]


def test_the_newest_links_are_kept_each_once() -> None:
    known = [f"https://a.example/{n}" for n in range(60)]
    remember_links(known, ["https://a.example/3", "https://b.example"])
    assert known[-2:] == ["https://a.example/3", "https://b.example"]
    assert len(known) == 60
    assert known[0] == "https://a.example/1"


def test_links_of_our_own_earlier_words_are_read_without_what_stands_around_them() -> None:
    assert links_said(f"It is on its way ({TRACK}). More: help.store.com.") == [TRACK, "help.store.com"]
