"""The default classifier: encoder, trained heads and word rules, all on this machine."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it has no types

from router.adapters.encoders import CachedEncoder, Encoder, HashEncoder, best_encoder
from router.adapters.heads import MODEL_DIR, Heads, WrongEncoder, load_heads
from router.adapters.languages import LanguageDetector
from router.core.clauses import asks_several_things, sensitive_clause, split_clauses
from router.core.intents import INTENTS
from router.core.reading import Asked, Reading
from router.core.word_rules import apply_word_rules, with_topic

_LETTERS = re.compile(r"[^\W\d_]+")
# "4417028" or "the blue one" says something only after what was asked before.
_BARE_WORDS = 3


@dataclass(frozen=True)
class LocalReader:
    """Reads messages in batches, synchronously: under 2 ms of CPU each in a batch, about 4 alone."""

    encoder: Encoder
    heads: Heads
    languages: LanguageDetector

    def read_all(self, asked: Sequence[Asked]) -> list[Reading]:
        """Return one reading a message, in order; all texts and their clauses go through the encoder together."""
        clauses = [split_clauses(one.text) for one in asked]
        wholes = [_in_context(one) for one in asked]
        vectors = self.encoder.encode([*wholes, *(part for parts in clauses for part in parts)])
        probabilities = self.heads.probabilities(vectors)
        sentiments = self.heads.sentiment(vectors[: len(asked)])
        readings, start = [], len(asked)
        for index, (one, parts) in enumerate(zip(asked, clauses, strict=True)):
            own = [_named(row) for row in probabilities[start : start + len(parts)]]
            start += len(parts)
            reading = Reading(
                probabilities=with_topic(_named(probabilities[index]), sensitive_clause(own)),
                language=self.languages.language_of(one),
                sentiment=round(float(sentiments[index]), 3),
                multi_intent=asks_several_things(own),
            )
            readings.append(apply_word_rules(one.text, reading))
        return readings


def load_reader(folder: Path = MODEL_DIR, cache_size: int = 1_024) -> LocalReader:
    """Return a reader, warmed up; a missing or different sentence encoder means the hashed one.

    From then on this process multiplies with one thread: what the heads multiply is far too small for a second, which
    would wait for the next batch in a busy loop, a third of the router's whole work.
    """
    threadpool_limits(limits=1, user_api="blas")
    encoder = best_encoder()
    try:
        heads = load_heads(encoder, folder)
    except WrongEncoder:
        encoder = HashEncoder()
        heads = load_heads(encoder, folder)
    reader = LocalReader(CachedEncoder(encoder, cache_size), heads, LanguageDetector())
    reader.read_all([Asked("warm up")])
    return reader


def _in_context(asked: Asked) -> str:
    earlier = asked.customer_turns()
    if earlier and len(_LETTERS.findall(asked.text)) < _BARE_WORDS:
        return f"{earlier[-1]} {asked.text}"
    return asked.text


def _named(row: npt.NDArray[np.float64]) -> dict[str, float]:
    return dict(zip(INTENTS, row.tolist(), strict=True))
