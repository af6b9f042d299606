"""In which manner a clause speaks of a deed: done, running, waiting, decided, promised, denied."""

from typing import Literal

from agent.core.claims.lexicon import Lexicon

Manner = Literal[
    "done",
    "pending",
    "started",
    "waiting",
    "agreed",
    "approved",
    "declined",
    "failed",
    "unknowable",
    "future",
    "negated",
]


def find_manner(clause: str, lexicon: Lexicon, *, about_people: bool) -> Manner:
    """The strongest manner a clause shows, and "done" when it shows none: silence about state reads as completion.

    `about_people` is true of handoffs, where "a colleague is looking at it" is no wait for an approval.
    """
    if lexicon.has("unknowable", clause):
        return "unknowable"
    if not about_people:
        decided = _decision(clause, lexicon)
        if decided:
            return decided
    return _progress(clause, lexicon)


def state_words(clause: str, lexicon: Lexicon) -> Manner | None:
    """The manner of a clause that names no deed itself ("…, it is still waiting for approval"), if it shows one."""
    if lexicon.has("unknowable", clause):
        return "unknowable"
    decided = _decision(clause, lexicon)
    if decided:
        return decided
    if lexicon.has("unfinished", clause) or lexicon.has("pending", clause):
        return "pending"
    return None


def _decision(clause: str, lexicon: Lexicon) -> Manner | None:
    if lexicon.has("waiting", clause):
        return "waiting"
    negated = lexicon.has("negation", clause)
    if lexicon.has("declined", clause):
        return "waiting" if negated and lexicon.has("not_yet", clause) else "declined"
    if lexicon.has("approved", clause):
        if negated:
            return "waiting" if lexicon.has("not_yet", clause) else "declined"
        # "will be approved" foretells a decision nobody has taken
        return "unknowable" if lexicon.has("will", clause) else "approved"
    return "failed" if lexicon.has("failed", clause) else None


def _progress(clause: str, lexicon: Lexicon) -> Manner:
    if lexicon.has("unfinished", clause):
        return "pending"
    if lexicon.has("negation", clause):
        return "negated"
    finished = lexicon.one["perfect"].search(clause)
    ahead = lexicon.one["future"].search(clause)
    running = lexicon.one["pending"].search(clause)
    if running and not (finished and finished.start() < running.start() and not running.group().startswith("being")):
        return "pending"
    if ahead and not (finished and finished.start() < ahead.start()):
        return "future"
    return "started" if lexicon.has("started", clause) else "done"
