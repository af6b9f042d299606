"""Which lines of an order words name by their title: "the kettle" is not the blender beside it."""

import re
from collections.abc import Iterable

from agent.core.claims.facts import Action, Facts, Line
from agent.core.claims.lexicon import Lexicon

# Shorter words ("the", "set", "und") name nothing; a title's only word may be as short as "mug".
_LONG = 4
_LISTED = re.compile(r"\s*(?:[,&]|\b(?:and|plus|as well as|y|e|et|ainsi que|und|sowie)\b)\s*")
_ITEM = 4  # "and the big steel kettle"


def named_lines(clause: str, facts: Facts) -> tuple[Line, ...]:
    """The lines of which the clause says a word that stands in no other line's title."""
    if not facts.lines:
        return ()
    said = _words(clause)
    return tuple(line for line in facts.lines if said & _own_words(line, facts.lines))


def named_beside(clause: str, sentence: str, facts: Facts, lexicon: Lexicon) -> tuple[Line, ...]:
    """Lines the clause names, and those that the sentence lists with them: "the kettle and the blender"."""
    named = list(named_lines(clause, facts))
    if not named:
        return ()
    items = [item for item in _LISTED.split(sentence.lower()) if item]
    for at, item in enumerate(items):
        short = len(item.split()) <= _ITEM and not lexicon.has("negation", item)
        beside = [line for other in items[max(at - 1, 0) : at + 2] for line in named_lines(other, facts)]
        if short and any(line in named for line in beside):
            named += [line for line in named_lines(item, facts) if line not in named]
    return tuple(named)


def is_of(row: Action, lines: Iterable[Line]) -> bool:
    """Whether a row moved one of these lines; a row without a line moved its whole order."""
    return any(
        row.line_id in (None, line.line_id) and row.order_id in (None, line.order_id)
        for line in lines
    )  # fmt: skip


def _own_words(line: Line, lines: tuple[Line, ...]) -> set[str]:
    words = _words(line.title)
    if len(words) > 1:
        words = {word for word in words if len(word) >= _LONG}
    others = [other for other in lines if (other.order_id, other.line_id) != (line.order_id, line.line_id)]
    return words.difference(*(_words(other.title) for other in others))


def _words(text: str) -> set[str]:
    """Lower-case words; a plural is the word it is made of."""
    return {re.sub(r"(?<=\w{3})s$", "", word) for word in re.findall(r"[^\W\d_]{3,}", text.casefold())}
