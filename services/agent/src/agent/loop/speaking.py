"""Lets a finished text out only as far as ledger and facts bear it out; money words come after the result (R17)."""

from dataclasses import dataclass

from prometheus_client import Counter

from agent.adapters.run_store import ClaimedRun
from agent.core.claims import check_reply, split_sentences, templated_truth
from agent.core.claims.wordings import OFFER
from agent.core.facts import facts_of, merge_ledger
from agent.core.state import Memory, RunProgress
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


async def judge_words(parts: Parts, run: ClaimedRun, text: str) -> Judged:
    """Hold a whole reply against the facts as they are now."""
    memory = run.state.memory
    await refresh_rows(parts, run.conversation_id, memory)
    checked = check_reply(text, run.work.language, facts_of(memory))
    false = [s.sentence for s in checked.sentences if not s.holds]
    if not false and (await parts.guard.check(text, "reply")).verdict == "flagged":
        false = split_sentences(text)
    _BLOCKED.labels(run.work.language).inc(len(false))
    return Judged(split_sentences(text), false)


async def refresh_rows(parts: Parts, conversation_id: str, memory: Memory) -> None:
    """Rows that were still open may have moved while the model was thinking."""
    if all(row.get("status") in _FINAL for row in memory.actions.values()):
        return
    try:
        merge_ledger(await parts.tools.list_actions(conversation_id), memory)
    except (Transient, OutcomeUnknown):
        return


def deeds_of(run: RunProgress, memory: Memory, language: Language) -> list[str]:
    """Return what was done in this very message, one sentence a row, without any offer."""
    rows = {key: memory.actions[key] for key in run.moved_keys if key in memory.actions}
    if not rows:
        return []
    said = split_sentences(templated_truth(language, facts_of(memory.model_copy(update={"actions": rows}))))
    return [sentence for sentence in said if sentence != OFFER[language]]


def safe_words(memory: Memory, language: Language) -> list[str]:
    """Return what the ledger itself would say."""
    return split_sentences(templated_truth(language, facts_of(memory)))
