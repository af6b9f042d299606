"""Tells a policy that is restated ("refunds take 5 days") from a deed that is claimed ("I have refunded you").

The reply check is made for talk about one customer's orders. Rules, conditions and what happens to everybody are what a
policy answer is for, so it is stopped only where it says that something is done or under way, no row bears that out,
and the sentence doesn't stand in the passages that it answers from.
"""

import re
from collections.abc import Iterable

from agent.core.claims import Facts, check_sentence, split_sentences
from agent.core.claims.opinion import Reader
from agent.core.keywords import folded

_OF_ONE_CASE = frozenset({"done", "pending"})
# So many words in a row, and so many of a sentence's such runs, make it the passage's own.
_RUN = 3
_RESTATED = 0.7
Runs = set[tuple[str, ...]]


def false_deeds(
    answer: str, language: str, facts: Facts, passages: Iterable[str] = (), reader: Reader | None = None
) -> list[str]:
    """Return the sentences that say something was done for this customer and aren't borne out by the facts.

    ``passages`` are the texts that the answer was drawn from; ``reader`` seconds the reply check's rules.
    """
    shown: Runs = set[tuple[str, ...]]().union(*map(_runs, passages))
    return [
        sentence
        for sentence in split_sentences(answer)
        if not _is_restated(sentence, shown) and _claims_a_deed(sentence, language, facts, reader)
    ]


def _claims_a_deed(sentence: str, language: str, facts: Facts, reader: Reader | None) -> bool:
    claims = check_sentence(sentence, language, facts, reader=reader).claims
    return any(not claim.holds and claim.state in _OF_ONE_CASE for claim in claims)


def _is_restated(sentence: str, shown: Runs) -> bool:
    runs = _runs(sentence)
    return bool(runs) and len(runs & shown) >= _RESTATED * len(runs)


def _runs(text: str) -> Runs:
    words = re.findall(r"\w+", folded(text))
    return set(zip(*(words[start:] for start in range(_RUN)), strict=False))
