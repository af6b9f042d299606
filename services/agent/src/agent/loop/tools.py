"""Runs one tool call of a saved turn: judged first, in the customer's name, booked before anything is said."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from agent.adapters.run_store import ClaimedRun, TakenOver
from agent.adapters.store import was_said
from agent.adapters.toolgateway import SessionOver, Toolgateway
from agent.core.confirming import confidence_of, hold
from agent.core.facts import KIND_OF_TOOL, book_own_row, book_told_row, remember_answer, row_of
from agent.core.guarding import guard_of, take_in_records
from agent.core.links import links_of, remember_links, with_shown_links
from agent.core.outcomes import outcome_message_id
from agent.core.state import Memory, RunProgress, worse_guard
from agent.core.steps import TURN_CUT, may_have_written, tools_may_run
from agent.core.toolcalls import OWN_TOOLS, WRITES, Answer, Run, judge_call
from agent.core.unheard import forget_heard, note_unheard, row_of_lost
from agent.loop.guarding import judge_texts
from agent.loop.parts import Parts
from common.errors import OutcomeUnknown, Transient

Json = dict[str, Any]
# Longer than any order number, key or time of the systems; shorter than an order that somebody encoded.
_LONGEST_CODE = 40
# A restarted process answers after three to five seconds; the customer sees "looking into it" meanwhile.
_UNTIL_BACK_S = (0.3, 0.7, 1.0, 2.0, 3.0)
TROUBLE: tuple[type[Transient | OutcomeUnknown], ...] = (Transient, OutcomeUnknown)
_T = TypeVar("_T")
_HAND_REASONS = frozenset({"asked", "sensitive", "policy", "stuck", "upset"})


def judge_next(parts: Parts, schemas: dict[str, Any], progress: RunProgress, position: int) -> Run | Answer:
    """Return whether the call may run; nothing of a turn that broke off does (R16)."""
    assert progress.turn is not None
    call = progress.turn.calls[position]
    if not tools_may_run(progress):
        return Answer(call["id"], call["name"], "invalid", TURN_CUT)
    return judge_call(call, progress, schemas, parts.limits)


def book_refusal(answer: Answer, progress: RunProgress) -> None:
    """Give a call that doesn't run its one result; it counts as a failed one."""
    progress.results[answer.call_id] = {"status": answer.status, "result": {"reason": answer.reason}}
    progress.invented_in_a_row = progress.invented_in_a_row + 1 if answer.invented else 0
    progress.failed_calls += 1


async def run_call(parts: Parts, run: ClaimedRun, call: Run) -> None:
    """Run one call that may run and book its answer; a row that it moved is then ``untold``.

    Raises SessionOver when no valid session can be had.
    """
    progress, memory = run.state.run_for(run.message_id), run.state.memory
    progress.invented_in_a_row = 0
    if call.name in OWN_TOOLS:
        answer = _own_tool(parts, run, call, progress)
    else:
        answer = await _remote(parts, run, call, progress, memory)
    answer = {**answer, "result": with_shown_links(answer.get("result") or {})}
    remember_links(memory.links, links_of(answer["result"]))
    await _mind_the_text(parts, call, answer, progress, memory)
    if await _needs_code(parts, run, call, answer, memory):
        answer = {"status": "denied", "result": {"reason": "a one-time code was sent; ask the customer for it"}}
    known = tuple(progress.moved_keys)
    row = row_of(call.name, call.args, answer) if call.name in WRITES else None
    is_repeated = bool(answer["result"].get("repeated"))
    if row is not None and is_repeated and row["status"] == "pending" and row["key"] not in known:
        # Its first try may still end as the answer to a call that nobody waits for.
        await _note_unheard(parts, run, row)
    # Counted with its answer: one that died with a worker is asked again, however often that happens.
    progress.seen_calls[call.canonical] = progress.seen_calls.get(call.canonical, 0) + 1
    moved = remember_answer(call.name, call.args, answer, memory, progress)
    forget_heard(memory)
    progress.results[call.call_id] = answer
    if not is_repeated:
        progress.untold += [moved] if moved is not None else []
    elif answer["result"].get("key") not in known:
        await _claim_own_row(parts, run, answer["result"].get("key"))


async def book_unseen_rows(parts: Parts, run: ClaimedRun) -> None:
    """Book what this message moved before the worker that asked for it died. Raises Transient or OutcomeUnknown."""
    progress = run.state.run_for(run.message_id)
    if run.attempts == 1 or not may_have_written(progress):
        return
    # A second even when the turn's time is over, and no more: a person waits to be fetched.
    within_s = min(max(parts.left_s(progress), 0.0) + 1.0, parts.limits.row_asks_s)
    for row in await parts.tools.within(within_s).list_actions(run.conversation_id):
        if row.get("message_id") == run.message_id and row["key"] not in progress.moved_keys:
            if row["status"] == "pending":
                # Whoever asked for it is gone; the handoff reads the ledger once more after this is saved.
                await _note_unheard(parts, run, row)
            await _book_own_row(parts, run, row)


def _own_tool(parts: Parts, run: ClaimedRun, call: Run, progress: RunProgress) -> Json:
    if call.name == "hand_to_person":
        reason = str(call.args.get("reason", ""))
        progress.hand_reason = reason if reason in _HAND_REASONS else "other"
        return {"status": "ok", "result": {"note": "a colleague takes over"}}
    found = parts.help_passages(str(call.args.get("query", "")), run.work.language)
    known = {c["article_id"] for c in progress.citations}
    for passage in found:
        if passage["article_id"] not in known:
            known.add(passage["article_id"])
            progress.citations.append({f: passage[f] for f in ("article_id", "title", "url")})
    return {"status": "ok", "result": {"passages": found}}


async def _remote(parts: Parts, run: ClaimedRun, call: Run, progress: RunProgress, memory: Memory) -> Json:
    message = run.work.message
    guard = worse_guard(progress.guard or "down", worse_guard(guard_of(memory), progress.wish_guard))
    context = {
        "intent_confidence": confidence_of(run.work, progress),
        "guard": guard,
        "language": run.work.language,
        "message_id": message.message_id,
        "run_id": message.message_id,
    }
    statement = await parts.sessions.statement(message)
    if statement is None:
        if message.customer_id is None:
            return {"status": "denied", "result": {"reason": "the visitor is not logged in"}}
        raise SessionOver("no valid session")
    try:
        try:
            return await _call_once_back(parts, call, context, statement)
        except SessionOver:
            fresh = await parts.sessions.statement(message, refused=True)
            if fresh is None:
                raise
            return await _call_once_back(parts, call, context, fresh)
    except OutcomeUnknown:
        if call.name not in WRITES:
            return {"status": "error", "result": {"reason": "the store's system did not answer"}}
        return await _look_for_row(parts, run, call, progress)
    except Transient:
        return {"status": "error", "result": {"reason": "the store's system can't be reached just now"}}


async def once_back(
    tools: Toolgateway, trouble: tuple[type[Transient | OutcomeUnknown], ...], ask: Callable[[], Awaitable[_T]]
) -> _T:
    """Ask again while a tool gateway in ``trouble`` comes back and time is left; raises what the last try raised."""
    for pause_s in _UNTIL_BACK_S:
        try:
            return await ask()
        except trouble:
            if not await tools.pause(pause_s):
                raise
    return await ask()


async def _call_once_back(parts: Parts, call: Run, context: Json, statement: str) -> Json:
    """Call a tool; a toolgateway that can't be reached has done nothing, so it is asked again while it comes back."""
    # A write leaves time to ask for its row, should its answer be lost.
    tools = parts.tools.sooner(parts.limits.row_asks_s) if call.name in WRITES else parts.tools
    return await once_back(tools, (Transient,), lambda: tools.call(call.name, call.args, context, statement))


async def _look_for_row(parts: Parts, run: ClaimedRun, call: Run, progress: RunProgress) -> Json:
    """The answer to a write was lost: its row says what happened; without one nobody may guess, a person looks (R3)."""
    fact = await _note_unheard(parts, run, {**call.args, "kind": KIND_OF_TOOL[call.name]})
    row = row_of_lost(fact, await _ledger_rows(parts, run.conversation_id))
    if row is None:
        progress.hand_reason, progress.outcome_unknown = "policy", True
        return {"status": "error", "result": {"reason": "the outcome is not known; a colleague looks into it"}}
    if await _was_told(parts, row):
        book_told_row(row, run.state.memory, progress)
    known = {f: row.get(f) for f in ("key", "status", "amount", "currency")}
    return {"status": row["status"], "result": known | {"reference": row.get("external_ref")}}


async def _note_unheard(parts: Parts, run: ClaimedRun, write: Json) -> Json:
    """Keep that nobody heard how a write ended; ``write`` is its row, or its arguments where there is none yet.

    Before the look: what the ledger settles after it comes by the topic, and must find that nobody has heard of it.
    """
    fact = note_unheard(write["kind"], write, run.state.memory, write.get("key"))
    if run.is_ours:
        with suppress(TakenOver):
            await parts.runs.checkpoint(run)
            return fact
    # Whoever took the conversation over meanwhile still has to see what this write did.
    run.unsaved_lost.append(fact)
    return fact


async def _ledger_rows(parts: Parts, conversation_id: str) -> list[Json]:
    """Return the ledger's rows; a toolgateway that died with an answer is waited for while it comes back."""
    try:
        return await once_back(parts.tools, TROUBLE, lambda: parts.tools.list_actions(conversation_id))
    except TROUBLE:
        return []


async def _mind_the_text(parts: Parts, call: Run, answer: Json, progress: RunProgress, memory: Memory) -> None:
    """A record may carry somebody's orders to the machine: what was read tightens every later write (R15)."""
    if call.name in WRITES or call.name == "hand_to_person" or answer["status"] != "ok":
        return
    found = take_in_records(memory, _prose(answer["result"]))
    reasons = await judge_texts(parts, progress, memory, found)
    progress.guard = worse_guard(progress.guard or "down", guard_of(memory))
    progress.guard_reasons = [*progress.guard_reasons, *reasons][:20]


async def _needs_code(parts: Parts, run: ClaimedRun, call: Run, answer: Json, memory: Memory) -> bool:
    result, message = answer.get("result") or {}, run.work.message
    if answer["status"] != "denied" or result.get("reason") != "step_up_required" or message.customer_id is None:
        return False
    if not await parts.sessions.gateway.send_code(message.conversation_id, message.customer_id, call.name):
        return False
    memory.held_call = hold(run.work, run.state.run_for(run.message_id), call, "code")
    return True


async def _claim_own_row(parts: Parts, run: ClaimedRun, key: str | None) -> None:
    """A repeated answer may be our own lost one, of a dead worker's call or of this call's first try.

    One event a change: the ledger knows which message asked for the row. What another one did is told in words.
    """
    for row in await _ledger_rows(parts, run.conversation_id):
        if row["key"] == key and row.get("message_id") == run.message_id:
            await _book_own_row(parts, run, row)


async def _book_own_row(parts: Parts, run: ClaimedRun, row: Json) -> None:
    progress = run.state.run_for(run.message_id)
    book = book_told_row if await _was_told(parts, row) else book_own_row
    book(row, run.state.memory, progress)


async def _was_told(parts: Parts, row: Json) -> bool:
    """Say whether the ledger's topic was faster than our look and has told how the row ended (outcomes.py)."""
    version = row.get("version")
    return version is not None and await was_said(parts.pool, outcome_message_id(row["key"], version))


def _prose(value: Any) -> list[str]:
    """Return what a person could have written into a record: words, or a long run of characters that may hide some.

    Numbers, codes, times and links are the systems' own; read as a text they look like nothing a person says.
    """
    if isinstance(value, dict):
        return [text for v in value.values() for text in _prose(v)]
    if isinstance(value, list):
        return [text for v in value for text in _prose(v)]
    if not isinstance(value, str) or value.startswith(("http://", "https://")):
        return []
    return [value] if len(value.split()) > 1 or len(value) > _LONGEST_CODE else []
