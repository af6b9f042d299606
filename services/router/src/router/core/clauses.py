"""Finds the parts of a message and says whether they ask for different things."""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from router.core.intents import FAMILIES, INTENTS, NO_WISH, SENSITIVE

# A clause is worth its own look only with enough words to carry a wish; more than four make a story, not a list.
_MIN_WORDS = 3
_MAX_CLAUSES = 4
# Both clauses must be clear by themselves: two half-guesses are one unclear message.
_CLEAR = 0.60
# A threat or an injury in one sentence of a long message drowns in the rest; alone it must be clearer than the 0.3 that
# a whole message needs, since a sentence without its neighbours is easier to misread.
_CLEARLY_SENSITIVE = 0.85
_BREAK = re.compile(
    r"[.!?;\n]+\s+|[!?;\n]+|,?\s+(?:"
    r"and also|also,?|plus,|besides,?|and (?:can|could|when|how|what|please)(?=\s)|"
    r"y (?:también|ademas|además|cuándo|cuando|cómo)|además,?|de paso,?|aparte,?|"
    r"et aussi|et (?:sinon|puis|quand|comment|pouvez-vous)|par ailleurs,?|de plus,?|en plus,?|"
    r"und (?:außerdem|auch|wann|wie|könnt|können)|außerdem,?|zusätzlich,?|nebenbei,?"
    r")\s+",
    re.IGNORECASE,
)


def split_clauses(text: str) -> tuple[str, ...]:
    """Return up to four clauses of at least three words, or nothing when the message is all of one piece."""
    parts = [part.strip(" ,-") for part in _BREAK.split(text)]
    clauses = [part for part in parts if len(part.split()) >= _MIN_WORDS]
    return tuple(clauses[:_MAX_CLAUSES]) if len(clauses) > 1 else ()


def asks_several_things(clauses: Sequence[Mapping[str, float]]) -> bool:
    """Say whether two clauses clearly want two different things, given each clause's probabilities."""
    wishes = []
    for probabilities in clauses:
        intent = max(INTENTS, key=lambda name: probabilities.get(name, 0.0))
        if intent not in NO_WISH and probabilities.get(intent, 0.0) >= _CLEAR:
            wishes.append(intent)
    return any(first != second and not _one_matter(first, second) for first, second in combinations(wishes, 2))


def sensitive_clause(clauses: Sequence[Mapping[str, float]]) -> str | None:
    """Return the sensitive topic that some clause is clearly about, the likeliest first, or nothing."""
    found = max(((p.get(topic, 0.0), topic) for p in clauses for topic in SENSITIVE), default=(0.0, ""))
    return found[1] if found[0] >= _CLEARLY_SENSITIVE else None


def _one_matter(first: str, second: str) -> bool:
    return any({first, second} <= family for family in FAMILIES)
