"""A rule: a pattern over folded text (lower case, no accents, no lookalikes) and the words that make it worth a try."""

import re
from dataclasses import dataclass

from common.guard.verdict import Where

EVERYWHERE: frozenset[Where] = frozenset({"customer", "tool_result", "reply"})
INCOMING: frozenset[Where] = frozenset({"customer", "tool_result"})
RECORDS: frozenset[Where] = frozenset({"tool_result"})
REPLIES: frozenset[Where] = frozenset({"reply"})


@dataclass(frozen=True, slots=True)
class Rule:
    """`needs` are plain substrings; unless one is present the pattern can't match and isn't run (speed)."""

    name: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()
    where: frozenset[Where] = INCOMING

    def matches(self, folded: str) -> bool:
        if self.needs and not any(word in folded for word in self.needs):
            return False
        return self.pattern.search(folded) is not None


def rule(name: str, pattern: str, needs: str = "", where: frozenset[Where] = INCOMING) -> Rule:
    """Build a rule. In `pattern` a space stands for any run of white space (` ?` for none or more) and `~` for a
    bounded gap within a sentence; `needs` are words parted by spaces.
    """
    body = pattern.replace(" ?", r"\s*").replace(" ", r"\s+").replace("~", r"[^.!?\n]{0,60}?")
    return Rule(name, re.compile(body, re.MULTILINE), tuple(needs.split()), where)
