"""Lets a finished text out only as far as ledger and facts bear it out; money words come after the result (R17)."""

from dataclasses import dataclass
from itertools import takewhile

from prometheus_client import Counter

from agent.adapters.run_store import ClaimedRun
from agent.core.claims import Claim, SentenceCheck, check_reply, split_sentences, templated_truth
from agent.core.claims.wordings import OFFER
from agent.core.facts import facts_of, merge_ledger
from agent.core.links import strange_links
from agent.core.live_words import check_after, is_told, may_leave_early, without_repeats
from agent.core.state import Memory, RunProgress
from agent.loop.live import Passed
from agent.loop.parts import Parts
from common.errors import OutcomeUnknown, Transient
from common.events.model import Language

_BLOCKED = Counter("reply_claims_blocked_total", "Sentences the facts did not bear out", ["language"])
_FINAL = frozenset({"succeeded", "rejected", "failed"})


@dataclass(frozen=True, slots=True)
class Judged:
    """The sentences that may go out, or the ones that may not."""

    sentences: list[str]
    false: list[str]


async def judge_words(parts: Parts, run: ClaimedRun, text: str, *, continued: bool = False) -> Judged:
    """Hold what is left of a reply, after what was said of it before, against the facts as they are now."""
    memory, said = run.state.memory, run.state.run_for(run.message_id).said
    await refresh_rows(parts, run.conversation_id, memory)
    language, facts, sentences = run.work.language, facts_of(memory), split_sentences(text)
    # A text that can't be judged beside what was said is judged on its own.
    judged = check_after(said, sentences, language, facts, parts.reader)
    told, checks = judged or ((), check_reply(text, language, facts, parts.reader).sentences)
    false = [c.sentence for c in checks if not c.holds or strange_links(c.sentence, memory.links)]
    if not false and (await parts.guard.check(" ".join([*said, *sentences]), "reply")).verdict == "flagged":
        false = sentences
    _BLOCKED.labels(language).inc(len(false))
    claims = [claim for check in told for claim in check.claims]
    return Judged(without_repeats(checks, said, claims, continued=continued), false)


async def judge_early(parts: Parts, run: ClaimedRun, sentences: list[str], continued: bool) -> Passed:  # noqa: FBT001 - a Judge
    """Hold the next sentences of a turn that is still being written against the facts; the first that may not leave
    keeps the rest.
    """
    progress, memory = run.state.run_for(run.message_id), run.state.memory
    await refresh_rows(parts, run.conversation_id, memory)
    language, facts, deed_done = run.work.language, facts_of(memory), bool(progress.moved_keys)
    judged = check_after(progress.said, sentences, language, facts, parts.reader)
    if judged is None:
        return Passed([], 0, stop=True)
    told, checks = judged

    def may_leave(check: SentenceCheck) -> bool:
        early = may_leave_early(check, language, facts, deed_done=deed_done)
        return early and not strange_links(check.sentence, memory.links)

    passed = list(takewhile(may_leave, checks))
    reply = " ".join([*progress.said, *(c.sentence for c in passed)])
    if passed and (await parts.guard.check(reply, "reply")).verdict == "flagged":
        return Passed([], 0, stop=True)
    claims = [claim for check in told for claim in check.claims]
    fresh = without_repeats(passed, progress.said, claims, continued=continued)
    return Passed(fresh, len(passed), stop=len(passed) < len(sentences))


async def refresh_rows(parts: Parts, conversation_id: str, memory: Memory) -> None:
    """Rows that were still open may have moved while the model was thinking."""
    if all(row.get("status") in _FINAL for row in memory.actions.values()):
        return
    try:
        merge_ledger(await parts.tools.list_actions(conversation_id), memory)
    except (Transient, OutcomeUnknown):
        return


def deeds_of(run: RunProgress, memory: Memory, language: Language) -> list[str]:
    """Return what was done in this very message and not yet told, one sentence a row, without any offer."""
    rows = {key: memory.actions[key] for key in run.moved_keys if key in memory.actions}
    if not rows:
        return []
    words = split_sentences(templated_truth(language, facts_of(memory.model_copy(update={"actions": rows}))))
    return [s for s in _untold(words, run.said, memory, language) if s != OFFER[language]]


def safe_words(run: RunProgress, memory: Memory, language: Language) -> list[str]:
    """Return what the ledger itself would say beyond what was said already."""
    return _untold(split_sentences(templated_truth(language, facts_of(memory))), run.said, memory, language)


def _untold(words: list[str], said: list[str], memory: Memory, language: Language) -> list[str]:
    judged = check_after(said, words, language, facts_of(memory)) if said else None
    if judged is None:
        return words
    told: list[Claim] = [claim for check in judged[0] for claim in check.claims]
    return [c.sentence for c in judged[1] if not c.claims or not all(is_told(claim, told) for claim in c.claims)]
