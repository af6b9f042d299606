"""The reply check's trained linear reader: meaning, letters and the rules' own ideas, one weight each, no pickle."""

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.adapters.encoding import Encoder
from agent.adapters.opinions import IDEA_COUNT, RememberedOpinions
from agent.core.claims.opinion import NOTHING, Opinion
from agent.core.claims.segments import Segment

Floats = NDArray[np.float32]
Ranked = tuple[tuple[str, float], ...]
BUCKETS = 8_192
_FORMAT = f"sentence + letters 4, words 1-2, crc32 mod {BUCKETS} + {IDEA_COUNT} ideas, v1"
_WORD = re.compile(r"\w+")


class ClaimReader:
    """Reads segments by linear weights, one softmax for what is spoken of and one for the manner."""

    def __init__(self, encoder: Encoder, path: Path | None = None) -> None:
        """Raises ValueError when the artefact was trained for other features or another encoder's vectors."""
        self._opinions = RememberedOpinions(encoder, self._read)
        with np.load(path or artefact(), allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            if about["format"] != _FORMAT or about["encoder"] != fingerprint(encoder):
                raise ValueError("claim reader was trained for other features; run python -m agent.train_claims")
            self._weights = {
                part: (stored[part].astype(np.float32) * stored[f"{part}_scale"]) for part in ("meaning", "letters")
            }
            self._ideas: Floats = stored["ideas"].astype(np.float32)
            self._bias: Floats = stored["bias"].astype(np.float32)
        self._topics: list[str] = about["topics"]
        self._manners: list[str] = about["manners"]

    def __call__(self, segments: Sequence[Segment]) -> list[Opinion]:
        """One opinion a segment; segments seen lately cost a look-up."""
        return self._opinions.of(segments)

    def warm(self, texts: Sequence[str]) -> None:
        """Encode many texts at once, which costs a third of one by one."""
        self._opinions.warm(texts)

    def _read(self, vector: Floats, segment: Segment) -> Opinion:
        scores = self._bias + vector @ self._weights["meaning"]
        buckets, values = letters(segment.text, segment.language)
        scores = scores + values @ self._weights["letters"][buckets]
        scores = scores + np.asarray(segment.ideas, dtype=np.float32) @ self._ideas
        split = len(self._topics)
        return opinion_of(_ranked(self._topics, scores[:split]), _ranked(self._manners, scores[split:]))


def letters(text: str, language: str) -> tuple[NDArray[np.int64], Floats]:
    """Buckets and values (unit length) of words, pairs of words and groups of four letters, kept apart by language."""
    words = _WORD.findall(text.lower())
    spaced = f" {' '.join(words)} "
    grams = [f"w{w}" for w in words] + [f"b{a} {b}" for a, b in pairwise(words)]
    grams += [f"c{spaced[i : i + 4]}" for i in range(len(spaced) - 3)]
    counts = Counter(zlib.crc32(f"{language}{gram}".encode()) % BUCKETS for gram in grams)
    values = np.array(list(counts.values()), dtype=np.float32)
    return np.array(list(counts), dtype=np.int64), values / max(float(np.linalg.norm(values)), 1.0)


def save(
    path: Path, parts: dict[str, Floats], names: tuple[Sequence[str], Sequence[str]], encoder: Encoder, segments: int
) -> None:
    """Write `meaning` (512 x labels), `letters`, `ideas` and `bias`; the two large ones as bytes on a common scale.

    `names` are the topics and the manners, in the order of the columns.
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    for name in ("meaning", "letters"):
        scale = np.float32(np.abs(parts[name]).max() / 127)
        arrays[name] = np.round(parts[name] / scale).astype(np.int8)
        arrays[f"{name}_scale"] = np.array(scale)
    arrays["ideas"] = parts["ideas"].astype(np.float16)
    arrays["bias"] = parts["bias"].astype(np.float32)
    about = {
        "format": _FORMAT, "encoder": fingerprint(encoder), "topics": list(names[0]), "manners": list(names[1]),
        "segments": segments,
    }  # fmt: skip
    np.savez_compressed(path, **arrays, about=np.array(json.dumps(about, sort_keys=True)))  # type: ignore[arg-type]


def fingerprint(encoder: Encoder) -> str:
    """What an encoder makes of a fixed sentence, coarse enough to be the same on every machine."""
    coarse = (encoder(["Your refund is on its way."]) * 20).round().astype(np.int8)
    return hashlib.sha256(coarse.tobytes()).hexdigest()[:16]


def artefact() -> Path:
    """Where the packaged weights lie."""
    return Path(str(resources.files("agent") / "claim_reader.npz"))


def opinion_of(topics: Ranked, manners: Ranked) -> Opinion:
    """Likely topics and likely manners as an opinion: a manner is as likely of one topic as of another."""
    groups: dict[str, list[tuple[str, str, float]]] = {}
    for topic, probability in topics:
        if topic != NOTHING:
            said = groups.setdefault(topic.partition(":")[0], [])
            said += [(topic, manner, probability * share) for manner, share in manners]
    return Opinion(tuple(map(tuple, groups.values())))


def _ranked(names: Sequence[str], scores: Floats) -> Ranked:
    exponents = np.exp(scores - scores.max())
    shares = exponents / exponents.sum()
    return tuple((names[i], float(shares[i])) for i in np.argsort(-shares)[:6])
