"""The local reader on the committed artefact, and on the fallback."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from router.adapters import local
from router.adapters.encoders import HashEncoder
from router.adapters.local import LocalReader, load_reader
from router.core.reading import Asked


@pytest.mark.parametrize(
    ("text", "intent", "language"),
    [
        ("hello, where is my parcel? it should have been here on tuesday", "where_is_my_order", "en"),
        ("¿Cuántos días tengo para devolver un producto?", "policy_question", "es"),
        ("Je voudrais parler à un conseiller", "asks_for_human", "fr"),
        ("Mein Konto wurde gehackt", "account_security", "de"),
    ],
)
def test_plain_messages_are_read_right(reader: LocalReader, text: str, intent: str, language: str) -> None:
    reading = reader.read_all([Asked(text)])[0]
    assert (reading.best()[0], reading.language) == (intent, language)


def test_a_message_reads_the_same_alone_and_in_a_batch(reader: LocalReader) -> None:
    asked = [
        Asked("My mug broke. Also I want to change the delivery address of my other order"),
        Asked("hola"),
        Asked("Wo bleibt das Paket"),
    ]
    together = reader.read_all(asked)
    for one, reading in zip(asked, together, strict=True):
        alone = reader.read_all([one])[0]
        assert alone.best()[0] == reading.best()[0]
        assert alone.probabilities == pytest.approx(dict(reading.probabilities), abs=1e-4)


def test_fury_scores_below_the_handoff_line_and_calm_above(reader: LocalReader) -> None:
    furious, calm, glad = reader.read_all(
        [
            Asked("You are thieves and liars, this is an absolute disgrace, I am furious!!!"),
            Asked("Could you tell me the return address please"),
            Asked("Thank you so much, you are wonderful!"),
        ]
    )
    assert furious.sentiment <= -0.6 < calm.sentiment < glad.sentiment


@pytest.mark.parametrize("thanks", ["👍", "👍👍", "ok 👍", "danke 👍"])
def test_a_thumb_up_is_no_complaint_and_no_wish(reader: LocalReader, thanks: str) -> None:
    reading = reader.read_all([Asked(thanks)])[0]
    assert reading.best()[0] == "other"
    assert reading.sentiment > 0


@pytest.mark.parametrize(
    ("spoken", "intent"),
    [
        ("uh hello I wanted to know where my order is the one with the chair", "where_is_my_order"),
        ("eh buenas quiero hablar con una persona", "asks_for_human"),
        ("euh oui la cafetière est arrivée cassée je voudrais l'argent", "refund"),
        ("äh ja können Sie die Bestellung von gestern stornieren", "cancel_order"),
    ],
)
def test_what_was_spoken_is_read_without_marks_and_with_its_ers(reader: LocalReader, spoken: str, intent: str) -> None:
    assert reader.read_all([Asked(spoken)])[0].best()[0] == intent


def test_the_fallback_still_reads_and_still_hears_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "best_encoder", HashEncoder)
    weak = load_reader()
    assert weak.encoder.name == "hash"
    assert weak.read_all([Asked("I want to talk to a human")])[0].asked_for_person
    assert weak.read_all([Asked("where is my order")])[0].best()[0] == "where_is_my_order"


def test_an_artefact_of_another_encoder_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("router.adapters.encoders.SentenceEncoder.identity", lambda _: "some other weights")
    assert load_reader().encoder.name == "hash"


def test_the_reader_multiplies_with_one_thread() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        load_reader()
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}
