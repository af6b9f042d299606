"""Tells a policy that is restated ("refunds take 5 days") from a deed that is claimed ("I have refunded you").

The reply check is made for talk about one customer's orders. Rules, conditions and what happens to everybody are what a
policy answer is for, so it is stopped only where it says that something is done, under way or wasn't done, the rows
don't bear that out, and the sentence doesn't stand in the passages that it answers from.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from agent.core.claims import Claim, Facts, check_sentence, split_sentences
from agent.core.claims.opinion import Reader
from agent.core.keywords import folded

_OF_ONE_CASE = frozenset({"done", "pending", "negated"})
# So many words in a row, and so many such runs that two sentences share, make them the same one.
_RUN = 3
_RESTATED = 0.7
Runs = frozenset[tuple[str, ...]]


def speaks_of_deeds(answer: str, language: str, passages: Iterable[str] = (), reader: Reader | None = None) -> bool:
    """Whether something is said of this customer's own case, so that the ledger must be asked."""
    return any(_deeds(sentence, language, Facts(), reader) for sentence in _own_words(answer, passages))


def false_deeds(
    answer: str, language: str, facts: Facts, passages: Iterable[str] = (), reader: Reader | None = None
) -> list[str]:
    """Return the sentences that say something was or wasn't done for this customer and aren't borne out by the facts.

    ``passages`` are the texts that the answer was drawn from; ``reader`` seconds the reply check's rules.
    """
    return [
        sentence
        for sentence in _own_words(answer, passages)
        if any(not claim.holds for claim in _deeds(sentence, language, facts, reader))
    ]


def _deeds(sentence: str, language: str, facts: Facts, reader: Reader | None) -> list[Claim]:
    claims = check_sentence(sentence, language, facts, reader=reader).claims
    return [claim for claim in claims if claim.state in _OF_ONE_CASE]


def _own_words(answer: str, passages: Iterable[str]) -> list[str]:
    """The sentences that no passage has."""
    # A heading ("The order has already been shipped") is a case, said of nobody, and ends without a full stop.
    shown = [_runs(s) for passage in passages for s in split_sentences(passage) if s.endswith((".", "!", "?"))]
    return [s for s in split_sentences(answer) if not _is_among(_runs(s), shown)]


def _is_among(runs: Runs, shown: list[Runs]) -> bool:
    """Alike both ways: without its "as soon as" a sentence says something else."""
    return bool(runs) and any(len(runs & other) >= _RESTATED * max(len(runs), len(other)) for other in shown)


# A streamed answer is looked at again with each sentence it grows by, beside the same passages.
@lru_cache(maxsize=512)
def _runs(text: str) -> Runs:
    words = re.findall(r"\w+", folded(text))
    return frozenset(zip(*(words[start:] for start in range(_RUN)), strict=False))
