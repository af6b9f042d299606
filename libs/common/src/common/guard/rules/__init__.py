"""The guard's written rules: a file a language, one for other languages, for none, for tricks, for our own replies."""

from common.guard.rules import de, en, es, foreign, fr, markup, replies, tricks
from common.guard.rules.rule import Rule
from common.guard.verdict import Where

ALL: tuple[Rule, ...] = (
    markup.RULES + en.RULES + es.RULES + fr.RULES + de.RULES + foreign.RULES + tricks.RULES + replies.RULES
)


def matching(folded: str, where: Where) -> tuple[str, ...]:
    """Names of the rules that `folded` text breaks, each once, in the order the rules are written."""
    return tuple(dict.fromkeys(r.name for r in ALL if where in r.where and r.matches(folded)))
