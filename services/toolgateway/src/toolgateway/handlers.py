"""One coroutine per message or route: load → decide → save. ``TOOLS`` at the end is the table of contents."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, assert_never

from prometheus_client import Counter

from common import db
from common.clock import Clock
from common.consumer import Received
from common.errors import Malformed, OutcomeUnknown, Refused, Transient
from common.events import ApprovalDecided
from common.http import Problem
from common.ids import OrderIds
from common.telemetry import get_logger
from toolgateway.adapters import operations, store
from toolgateway.adapters.helpcenter import HelpCenter
from toolgateway.adapters.staff import StaffTokens
from toolgateway.approving import Approving, Decided, Decision, NotDecided
from toolgateway.asking import Asker, Asking, Context, OrderMissing, WrongAmount
from toolgateway.background import Background
from toolgateway.comparing import Comparing
from toolgateway.core.actions import Action, ledger_columns, tool_result
from toolgateway.core.arguments import (
    WRITES,
    Arguments,
    BadArguments,
    GetOrder,
    HandToPerson,
    ListOrders,
    SearchHelpCenter,
    read_arguments,
)
from toolgateway.core.ceilings import Person
from toolgateway.core.orders import trimmed
from toolgateway.core.twins import Read
from toolgateway.facts import Facts
from toolgateway.proposals import Proposals, Stopped, Turned, Written
from toolgateway.runner import Audience, Runner

Answer = dict[str, Any]
# The one text for an order that isn't there and for one that isn't theirs.
_NOT_FOUND: Answer = {"status": "not_found", "result": {"reason": "the signed-in customer has no such order"}}
_WAIT_AND_RETRY = {"Retry-After": "2"}
_CALLS = Counter("tool_calls_total", "Calls of tools by how they were answered", ["tool", "status"])
_log = get_logger()


@dataclass(frozen=True)
class Parts:
    """What the handlers work with; built once in app.py."""

    pool: db.Database
    clock: Clock
    order_ids: OrderIds
    facts: Facts
    asking: Asking
    proposals: Proposals
    runner: Runner
    approving: Approving
    help_center: HelpCenter
    staff_tokens: StaffTokens
    background: Background
    comparing: Comparing
    inline_s: float
    link_hosts: tuple[str, ...] = ()


async def call_tool(parts: Parts, tool: str, raw_args: object, asker: Asker, context: Context) -> Answer:
    """Answer one tool call as ``{"status", "result"}``; raises Problem 503 when a system it needs is away."""
    try:
        args = read_arguments(tool, raw_args, parts.order_ids)
        answer = await (_write if tool in WRITES else READS[tool])(parts, args, asker, context)
    except (BadArguments, WrongAmount) as e:
        answer = {"status": "invalid", "result": {"reason": e.reason}}
    except OrderMissing:
        answer = _NOT_FOUND
    except Malformed as e:
        # The store's own record can't be read (an unknown currency, an amount that is none): no rule can judge it.
        _log.error("the store's record can't be read", tool=tool, error=e.reason)
        if tool not in WRITES:
            raise Problem(503, "the store's record can't be read", headers=_WAIT_AND_RETRY) from e
        answer = {"status": "handoff", "result": _no_row("order_unreadable")}
    except (Transient, OutcomeUnknown, Refused) as e:
        # Reads and look-ups failed: nothing was done, and the caller may ask again.
        _log.warning("a tool's look-up failed", tool=tool, error=e.reason)
        raise Problem(503, "a system this needs is not answering; nothing was done", headers=_WAIT_AND_RETRY) from e
    _CALLS.labels(tool, answer["status"]).inc()
    return answer


async def _get_order(parts: Parts, args: Arguments, asker: Asker, _: Context) -> Answer:
    assert isinstance(args, GetOrder)
    if asker.customer_id is None:
        order = await parts.facts.order(args.order_id) if args.order_id == asker.job_order_id else None
    else:
        order = await parts.facts.own_order(args.order_id, asker.customer_id)
    return {"status": "ok", "result": trimmed(order, parts.link_hosts)} if order else _NOT_FOUND


async def _list_orders(parts: Parts, args: Arguments, asker: Asker, _: Context) -> Answer:
    assert isinstance(args, ListOrders)
    orders = await parts.facts.own_orders(asker.customer_id) if asker.customer_id else ()
    return {"status": "ok", "result": {"orders": [trimmed(order, parts.link_hosts) for order in orders]}}


async def _search_help_center(parts: Parts, args: Arguments, _: Asker, context: Context) -> Answer:
    assert isinstance(args, SearchHelpCenter)
    language = str((context.recorded or {}).get("language") or "en")
    return {"status": "ok", "result": await parts.help_center.search(args.query, language)}


async def _hand_to_person(parts: Parts, args: Arguments, asker: Asker, _: Context) -> Answer:
    assert isinstance(args, HandToPerson)
    # The agent service opens the handoff itself; this answers whoever calls the tool here and leaves a trace.
    await operations.save_audit(
        parts.pool, "hand_to_person", asker.name, customer_id=asker.customer_id,
        conversation_id=asker.conversation_id, verdict="handoff", reason="asked",
    )  # fmt: skip
    return {"status": "handoff", "result": {"reason": "asked"}}


async def _write(parts: Parts, args: Arguments, asker: Asker, context: Context) -> Answer:
    ask = await parts.asking.of_call(args, asker, context)
    proposal = await parts.proposals.propose(ask, asker, context)
    match proposal:
        case Read(action, unmet, reason):
            answered = "handoff" if unmet else action.status
            return {"status": answered, "result": tool_result(action, repeated=True, reason=reason)}
        case Turned(judgment, version):
            status = "denied" if judgment.verdict == "deny" else "handoff"
            return {"status": status, "result": _no_row(judgment.reason) | {"policy_version": version}}
        case Stopped():
            return {"status": "blocked", "result": _no_row("stopped_by_operator")}
        case Written(action):
            if action.status == "pending":
                action = await run_written(parts, action, waiting=asker.waits)
            return {"status": action.status, "result": tool_result(action, repeated=False)}
        case _:
            assert_never(proposal)


def _no_row(reason: str) -> dict[str, Any]:
    return {"key": None, "status": None, "amount": None, "currency": None, "reference": None, "reason": reason,
            "repeated": False}  # fmt: skip


async def run_written(parts: Parts, action: Action, *, waiting: bool) -> Action:
    """Run a claimed row on its own and wait a while for how it ends; returns the row as far as it is known."""
    audience = Audience(waiting)
    task = parts.background.start(parts.runner.first_try(action, audience))
    try:
        return await asyncio.wait_for(asyncio.shield(task), parts.inline_s)
    except asyncio.CancelledError:
        raise
    except Exception:  # noqa: BLE001 - the background logs it; to the caller the row is being processed
        return action
    finally:
        # From here on nobody waits: how it ends is told by the event.
        audience.waiting = audience.waiting and task.done()


async def load_customer(parts: Parts, customer_id: str | None) -> dict[str, Any] | None:
    """Return what a handoff packet says of a customer, or None."""
    customer = await parts.facts.customer(customer_id) if customer_id else None
    return customer.model_dump(mode="json", exclude={"fraud_score"}) if customer else None


async def decide_approval(parts: Parts, person: Person, key: str, decision: Decision) -> Action | NotDecided:
    """Apply a person's decision; an approved row is run, and returned as far as it got while the person waited."""
    outcome = await parts.approving.decide(person, key, decision)
    match outcome:
        case Decided(action):
            return await run_written(parts, action, waiting=False) if action.status == "pending" else action
        case NotDecided():
            return outcome


async def on_approvals_decided(parts: Parts, batch: list[Received[ApprovalDecided]]) -> None:
    """Take decisions of staff programs from the topic; twice, late or forbidden ones change nothing."""
    for received in batch:
        event = received.event
        person = await parts.staff_tokens.person(event.credential, parts.clock.now())
        decision = Decision(event.version, event.decision, event.note[:2_000], event.digest)
        outcome = await parts.approving.decide(person, event.key, decision, event.credential)
        if isinstance(outcome, NotDecided):
            if outcome.why == "unavailable":
                raise Transient(outcome.reason)
            _log.info("a decision changed nothing", key=event.key, why=outcome.why, reason=outcome.reason)
        elif outcome.action.status == "pending":
            # Long work is a claimed run of its own; should this process die, the reconciler finishes the row.
            parts.background.start(parts.runner.first_try(outcome.action, Audience(waiting=False)))


async def resume_action(parts: Parts, key: str) -> tuple[Action | None, bool]:
    """Finish a hanging pending row; returns it and whether this call worked on it."""
    return await parts.runner.resume(key, parts.approving.recheck)


async def list_actions(parts: Parts, conversation_id: str) -> list[dict[str, Any]]:
    """Return a conversation's ledger rows."""
    return [ledger_columns(row) for row in await store.list_of_conversation(parts.pool, conversation_id)]


READS: dict[str, Callable[[Parts, Arguments, Asker, Context], Awaitable[Answer]]] = {
    "get_order": _get_order,
    "list_orders": _list_orders,
    "search_help_center": _search_help_center,
    "hand_to_person": _hand_to_person,
}
TOOLS = {**READS, **dict.fromkeys(sorted(WRITES), _write)}
