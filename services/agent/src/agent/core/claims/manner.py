"""In which manner a clause speaks of a deed: done, running, waiting, decided, promised, denied."""

from typing import Literal, get_args

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
    "absent",
]

MANNERS = get_args(Manner)


def find_manner(clause: str, lexicon: Lexicon, *, about_people: bool) -> Manner:
    """The strongest manner a clause shows, and "done" when it shows none: silence about state reads as completion.

    `about_people` is true of handoffs, where "a colleague is looking at it" is no wait for an approval.
    """
    if _unknowable(clause, lexicon):
        return "unknowable"
    if not about_people:
        decided = _decision(clause, lexicon)
        if decided:
            return decided
    return _progress(clause, lexicon)


def state_words(clause: str, lexicon: Lexicon) -> Manner | None:
    """The manner of a clause that names no deed itself ("…, it is still waiting for approval"), if it shows one."""
    if _unknowable(clause, lexicon):
        return "unknowable"
    decided = _decision(clause, lexicon)
    if decided:
        return decided
    if lexicon.has("unfinished", clause) or lexicon.has("pending", clause):
        return "pending"
    return None


def _unknowable(clause: str, lexicon: Lexicon) -> bool:
    """What lies in the bank's hands; a refund the bank sent back, or that is yet to come, we do know of."""
    if any(lexicon.has(idea, clause) for idea in ("failed", "will")) or is_denied(clause, lexicon):
        return False
    return lexicon.has("unknowable", clause)


def is_denied(clause: str, lexicon: Lexicon) -> bool:
    """Whether the clause denies; "it won't be sent any more" is how one says that it was cancelled."""
    return lexicon.has("negation", lexicon.one["positive"].sub(" ", clause))


def _decision(clause: str, lexicon: Lexicon) -> Manner | None:
    if lexicon.has("failed", clause):
        return "failed"
    refused = lexicon.has("declined", clause) and not lexicon.has("not_yet", clause)
    if lexicon.has("waiting", clause) and not refused:
        return "waiting"
    negated = is_denied(clause, lexicon)
    if lexicon.has("declined", clause):
        return "waiting" if negated and lexicon.has("not_yet", clause) else "declined"
    if lexicon.has("approved", clause):
        if negated:
            return "waiting" if lexicon.has("not_yet", clause) else "declined"
        # "will be approved" foretells a decision nobody has taken
        return "unknowable" if lexicon.has("will", clause) else "approved"
    return None


def _progress(clause: str, lexicon: Lexicon) -> Manner:
    if lexicon.has("unfinished", clause):
        return "pending"
    if is_denied(clause, lexicon):
        return "negated"
    finished = lexicon.one["perfect"].search(clause)
    ahead = lexicon.one["future"].search(clause)
    running = lexicon.one["pending"].search(clause)
    if running and not (finished and finished.start() < running.start() and not running.group().startswith("being")):
        return "pending"
    if ahead and not (finished and finished.start() < ahead.start()):
        return "future"
    return "started" if lexicon.has("started", clause) else "done"
