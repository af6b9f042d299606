"""Lets a finished text out only as far as ledger and facts bear it out; money words come after the result (R17)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from prometheus_client import Counter

from agent.adapters.run_store import ClaimedRun
from agent.core.claims import Claim, Facts, SentenceCheck, check_reply, split_sentences, templated_truth
from agent.core.claims.wordings import OFFER
from agent.core.facts import facts_now, facts_of
from agent.core.links import strange_links
from agent.core.live_words import check_after, is_told, may_leave_early, speaks_of_rows, without_repeats
from agent.core.state import Memory, RunProgress
from agent.loop.live import Passed
from agent.loop.parts import Parts
from common.events.model import Language

_BLOCKED = Counter("reply_claims_blocked_total", "Sentences the facts did not bear out", ["language"])


@dataclass(frozen=True, slots=True)
class Judged:
    """The sentences that may go out, or the ones that may not; ``current`` is False where the ledger was out of reach
    for what they speak of.
    """

    sentences: list[str]
    false: list[str]
    current: bool = True


async def judge_words(
    parts: Parts, run: ClaimedRun, text: str, *, continued: bool = False, within_s: float | None = None
) -> Judged:
    """Hold what is left of a reply, after what was said of it before, against the facts as they are now.

    The ledger is read, for ``within_s`` at most, where the words speak of a deed.
    """
    memory, progress, language = run.state.memory, run.state.run_for(run.message_id), run.work.language
    said, sentences = progress.said, split_sentences(text)

    def judge(facts: Facts) -> tuple[Sequence[SentenceCheck], Sequence[SentenceCheck]]:
        # A text that can't be judged beside what was said is judged on its own.
        judged = check_after(said, sentences, language, facts, parts.reader)
        return judged or ((), check_reply(text, language, facts, parts.reader).sentences)

    current, remembered = True, facts_of(memory)
    told, checks = judge(remembered)
    if any(speaks_of_rows(check, language) for check in checks):
        current = await parts.ledger.refresh(run, within_s)
        facts = facts_now(memory, progress, current=current)
        if facts != remembered:
            told, checks = judge(facts)
    false = [c.sentence for c in checks if not c.holds or strange_links(c.sentence, memory.links)]
    if not false and (await parts.guard.check(" ".join([*said, *sentences]), "reply")).verdict == "flagged":
        false = sentences
    _BLOCKED.labels(language).inc(len(false))
    claims = [claim for check in told for claim in check.claims]
    return Judged(without_repeats(checks, said, claims, continued=continued), false, current)


async def judge_early(parts: Parts, run: ClaimedRun, sentences: list[str], continued: bool) -> Passed:  # noqa: FBT001 - a Judge
    """Hold the next sentences of a turn that is still being written against the facts; the first that may not leave
    keeps the rest.
    """
    progress, memory, language = run.state.run_for(run.message_id), run.state.memory, run.work.language
    deed_done, remembered = bool(progress.moved_keys), facts_of(memory)

    def may_leave(check: SentenceCheck, facts: Facts) -> bool:
        early = may_leave_early(check, language, facts, deed_done=deed_done)
        return early and not strange_links(check.sentence, memory.links)

    def judge(facts: Facts) -> tuple[Sequence[SentenceCheck], list[SentenceCheck]]:
        judged = check_after(progress.said, sentences, language, facts, parts.reader)
        told, checks = judged or ((), ())
        return told, list(takewhile(lambda check: may_leave(check, facts), checks))

    told, passed = judge(remembered)
    if any(speaks_of_rows(check, language) for check in passed):
        current = await parts.ledger.refresh(run, parts.ledger.brief_s)
        facts = facts_now(memory, progress, current=current)
        if facts != remembered:
            told, passed = judge(facts)
    reply = " ".join([*progress.said, *(c.sentence for c in passed)])
    if passed and (await parts.guard.check(reply, "reply")).verdict == "flagged":
        return Passed([], 0, stop=True)
    claims = [claim for check in told for claim in check.claims]
    fresh = without_repeats(passed, progress.said, claims, continued=continued)
    return Passed(fresh, len(passed), stop=len(passed) < len(sentences))


def deeds_of(run: RunProgress, memory: Memory, language: Language, *, current: bool) -> list[str]:
    """Return what was done in this very message and not yet told, one sentence a row, without any offer."""
    untold = [key for key in run.moved_keys if key not in run.told_keys]
    rows = {key: memory.actions[key] for key in untold if key in memory.actions}
    facts = facts_now(memory.model_copy(update={"actions": rows}), run, current=current)
    if not facts.actions:
        return []
    words = split_sentences(templated_truth(language, facts))
    return [s for s in _untold(words, run, memory, language, current=current) if s != OFFER[language]]


def safe_words(run: RunProgress, memory: Memory, language: Language, *, current: bool) -> list[str]:
    """Return what the ledger itself would say beyond what was said already."""
    words = split_sentences(templated_truth(language, facts_now(memory, run, current=current)))
    return _untold(words, run, memory, language, current=current)


def _untold(words: list[str], run: RunProgress, memory: Memory, language: Language, *, current: bool) -> list[str]:
    facts = facts_now(memory, run, current=current)
    judged = check_after(run.said, words, language, facts) if run.said else None
    if judged is None:
        return words
    told: list[Claim] = [claim for check in judged[0] for claim in check.claims]
    return [c.sentence for c in judged[1] if not c.claims or not all(is_told(claim, told) for claim in c.claims)]
