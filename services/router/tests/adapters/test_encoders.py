"""Both encoders keep the port's promises; the cache changes nothing but the cost."""

from collections.abc import Sequence

import numpy as np
import pytest

from router.adapters import encoders
from router.adapters.encoders import CachedEncoder, Encoder, HashEncoder, SentenceEncoder, Vectors, best_encoder


@pytest.mark.parametrize("encoder", [SentenceEncoder(), HashEncoder(), CachedEncoder(HashEncoder(), size=2)])
@pytest.mark.parametrize("text", ["Where is my order?", "", " ", "¿dónde?", "🤷", "x" * 20_000, "\n\t"])
def test_every_text_becomes_one_finite_row(encoder: Encoder, text: str) -> None:
    rows = encoder.encode([text, "hola"])
    assert rows.shape == (2, encoder.dimensions)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("encoder", [SentenceEncoder(), HashEncoder()])
def test_a_text_means_the_same_alone_and_in_a_batch(encoder: Encoder) -> None:
    alone = encoder.encode(["my mug broke"])[0]
    together = encoder.encode(["hello there, how are you", "my mug broke", "a" * 300])[1]
    assert np.allclose(alone, together, atol=1e-4)


def test_the_sentence_encoder_sees_one_meaning_in_two_languages() -> None:
    question, german, other = SentenceEncoder().encode(
        ["Where is my parcel?", "Wo ist mein Paket?", "I like jazz music"]
    )
    assert question @ german > question @ other + 0.3


@pytest.mark.parametrize("encoder", [SentenceEncoder(), HashEncoder()])
def test_a_picture_alone_is_read_as_its_word(encoder: Encoder) -> None:
    thumb, word, angry = encoder.encode(["👍", "ok", "😡"])
    assert np.allclose(thumb, word, atol=1e-4)
    assert not np.allclose(thumb, angry, atol=1e-2)


class Counting:
    name, dimensions = "counting", 1

    def __init__(self) -> None:
        self.seen: list[str] = []

    def identity(self) -> str:
        return "counting"

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        return np.array([[float(len(text))] for text in texts], dtype=np.float32).reshape(len(texts), 1)


def test_a_known_text_is_computed_once_and_the_oldest_is_forgotten() -> None:
    inner = Counting()
    cached = CachedEncoder(inner, size=2)
    assert cached.encode(["a", "bb", "a"]).ravel().tolist() == [1.0, 2.0, 1.0]
    cached.encode(["a", "bb"])
    assert inner.seen == ["a", "bb"]
    cached.encode(["ccc"])
    cached.encode(["a"])
    assert inner.seen == ["a", "bb", "ccc", "a"]


def test_the_same_question_about_another_order_is_remembered_as_the_same() -> None:
    inner = Counting()
    cached = CachedEncoder(inner, size=8)
    cached.encode(["Where is my order 4417028?", " Where is my order 9100001? ", "Where is my order #123-456789?"])
    cached.encode(["Where is my order 7300111?", "Where is my parcel 7300111?"])
    assert inner.seen == ["Where is my order 4417028?", "Where is my parcel 4417028?"]


@pytest.mark.parametrize(
    "text", ["", " 👍 ", "order 4417028 broke 😡😡", "a" * 1_500, f"{'b' * 990} 12345678 {'c' * 800}", "¿dónde?\n"]
)
def test_remembering_changes_nothing_of_what_a_text_means(text: str) -> None:
    assert np.array_equal(CachedEncoder(HashEncoder()).encode([text]), HashEncoder().encode([text]))


def test_without_the_wheel_the_hashed_encoder_takes_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> SentenceEncoder:
        raise ImportError("no wheel")

    monkeypatch.setattr(encoders, "SentenceEncoder", missing)
    assert best_encoder().name == "hash"
