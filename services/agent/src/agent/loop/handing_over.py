"""Ends a run with a person: one transaction, exactly one notice, in the customer's language."""

import asyncio

from agent.adapters.customers import Customers
from agent.adapters.handoff_store import HandoffDraft, count_handoff
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import ClaimedRun, Ending, RunStore
from agent.core.endings import close_turn
from agent.core.handoff import HandOver
from agent.core.hours import ALWAYS, StaffHours, on_duty, tell_hours
from agent.core.packet import Case
from agent.core.replies import Address
from agent.core.situation import topic_of
from agent.core.unheard import found_by_now, name_lost
from agent.core.wording import Phrase, say
from agent.loop.speaking import deeds_of
from common.clock import Clock
from common.events.model import Route
from common.telemetry import get_logger

_log = get_logger()


async def hand_over(
    runs: RunStore,
    customers: Customers,
    clock: Clock,
    run: ClaimedRun,
    why: HandOver,
    *,
    ledger: Ledger,
    route: Route,
    notice: Phrase = "handoff",
    prompt_version: str | None = None,
    staff: StaffHours = ALWAYS,
) -> None:
    """Open the handoff and end the run, with packet and words from the ledger as it is now.

    What was done in this very message is said before the notice, in the ledger's own words.
    """
    work, state = run.work, run.state
    current, state.memory.customer = await asyncio.gather(
        ledger.refresh(run, ledger.brief_s), customers.of_message(work.message, state.memory.customer)
    )
    now = clock.now()
    progress = state.run_for(run.message_id)
    if progress.outcome_unknown:
        # Its row may have turned up since; then it is told as any other.
        progress.moved_keys += [key for key in found_by_now(state.memory) if key not in progress.moved_keys]
    before = deeds_of(progress, state.memory, work.language, current=current)
    if progress.outcome_unknown and name_lost(state.memory) is not None:
        before = [*before, say(work.language, "outcome_unknown")]
    elapsed_s = max(0.0, (now - work.message.received_at).total_seconds())
    close_turn(work, state.memory, progress, elapsed_s=elapsed_s)
    draft = HandoffDraft(
        conversation_id=run.conversation_id,
        seed=run.message_id,
        case=Case(
            reason=why.reason,
            detail=why.detail,
            language=work.language,
            intent=work.intent,
            customer_id=work.message.customer_id,
            topic=topic_of(work),
            rows_current=current,
            staffing=on_duty(staff, now),
        ),
        memory=state.memory,
        channel=work.message.channel,
        thread_ref=work.message.thread_ref,
        language=work.language,
    )
    told = say(work.language, "handoff_sensitive" if why.reason == "sensitive" else notice)
    sentences = [*before, told, *tell_hours(work.language, staff, now)]
    whole = " ".join([*progress.said, *sentences])

    def ending(owner_version: int) -> Ending:
        address = Address.of(work.message, owner_version)
        # What a dead worker moved and couldn't show any more comes before the words.
        shown, words_from = (
            address.actions(progress.next_seq, progress.untold),
            progress.next_seq + len(progress.untold),
        )
        spoken = address.spoken(words_from, route, sentences, handoff_reason=why.reason, said=progress.said)
        events = [*shown, *spoken]
        return Ending("handoff", events, whole, prompt_version=prompt_version or progress.prompt_version, state=state)

    await runs.finish_with_handoff(run, draft, ending, now)
    count_handoff(why.reason)
    _log.info("handed over", conversation=run.conversation_id, reason=why.reason, detail=why.detail)
