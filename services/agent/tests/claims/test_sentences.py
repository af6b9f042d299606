"""Sentence splitting, whole and streamed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.claims import SentenceStream, split_sentences

TEXTS: list[tuple[str, list[str]]] = [
    ("Es sind 1.200,50 €. Gut.", ["Es sind 1.200,50 €.", "Gut."]),
    ("Bestellung Nr. 4417028 ist da. Ja.", ["Bestellung Nr. 4417028 ist da.", "Ja."]),
    ("Order No. 4417028 shipped. No. Nothing else.", ["Order No. 4417028 shipped.", "No.", "Nothing else."]),
    ("Etwa Kleidung, z. B. Schals. Oder z.B. Hosen.", ["Etwa Kleidung, z. B. Schals.", "Oder z.B. Hosen."]),
    ("Am 3. Mai kam es an. Danke.", ["Am 3. Mai kam es an.", "Danke."]),
    ("Hmm... let me see. Wait... Your refund is out.", ["Hmm... let me see.", "Wait...", "Your refund is out."]),
    ("Vale… lo miro. ¿Cuál es? ¡Listo!", ["Vale… lo miro.", "¿Cuál es?", "¡Listo!"]),
    ("Refunded 27.00 USD. Anything else?", ["Refunded 27.00 USD.", "Anything else?"]),
    ("M. Dupont vous écrit. Voilà !", ["M. Dupont vous écrit.", "Voilà !"]),
    ("Done!Next", ["Done!", "Next"]),
    ("At https://shop.example/t?Q=7&R it is. Fine.", ["At https://shop.example/t?Q=7&R it is.", "Fine."]),
    ("- first\n- second", ["- first", "- second"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS, ids=[t[0][:24] or "empty" for t in TEXTS])
def test_text_is_split_where_a_reader_would(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_a_stream_never_lets_half_an_amount_out() -> None:
    stream = SentenceStream()
    assert stream.feed("Wir zahlen 1.") == []
    assert stream.feed("200,50 € zurück. Nr. ") == ["Wir zahlen 1.200,50 € zurück."]
    assert stream.feed("44 folgt.") == []
    assert stream.finish() == ["Nr. 44 folgt."]


@given(st.sampled_from([t for t, _ in TEXTS]), st.lists(st.integers(1, 5), max_size=40))
def test_a_stream_in_any_pieces_gives_the_same_sentences(text: str, sizes: list[int]) -> None:
    stream, sentences, at = SentenceStream(), [], 0
    for size in sizes:
        sentences += stream.feed(text[at : at + size])
        at += size
    sentences += stream.feed(text[at:])
    assert sentences + stream.finish() == split_sentences(text)
