"""Builders and stand-ins the agent's tests share: work items, a scripted model, a tool gateway with a small ledger."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.adapters.customers import Customers
from agent.adapters.gateway import ChannelGateway
from agent.adapters.ledger import Ledger
from agent.adapters.run_store import ClaimedRun, RunStore
from agent.adapters.sessions import Sessions
from agent.adapters.store import add_queued_run, save_arrival
from agent.core.limits import Limits
from agent.loop.catalogue import Catalogue
from agent.loop.parts import Parts
from common import db
from common.clock import SystemClock
from common.errors import OutcomeUnknown, Transient
from common.events import CustomerMessage, WorkItem
from common.guard import GuardVerdict
from common.models import Hearer, ModelRequest, ModelTurn, ToolCall, Usage, account, require_room
from common.statements import Signer, session_claims

Json = dict[str, Any]

TOOLS: list[Json] = [
    {
        "name": "get_order",
        "description": "Read one order",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
            "additionalProperties": False,
        },
    },
    {
        "name": "issue_refund",
        "description": "Refund one line",
        "input_schema": {
            "type": "object",
            "properties": {n: {"type": "string"} for n in ("order_id", "line_id", "amount", "reason")},
            "required": ["order_id", "line_id", "amount", "reason"],
            "additionalProperties": False,
        },
    },
    {
        "name": "update_account_field",
        "description": "Change one field",
        "input_schema": {
            "type": "object",
            "properties": {"field": {"type": "string"}, "value": {"type": "string"}},
            "required": ["field", "value"],
            "additionalProperties": False,
        },
    },
    {
        "name": "hand_to_person",
        "description": "Hand over",
        "input_schema": {
            "type": "object",
            "properties": {"reason": {"type": "string"}},
            "required": ["reason"],
            "additionalProperties": False,
        },
    },
]
ORDER: Json = {
    "order_id": "4417028",
    "status": "delivered",
    "currency": "USD",
    "lines": [{"line_id": "L2", "title": "glass blender", "paid": "64.00"}],
}


@dataclass
class FakeTools:
    """A tool gateway whose ledger is a dict; ``paid`` counts what really moved."""

    ledger: dict[str, Json] = field(default_factory=dict)
    calls: list[tuple[str, Json, Json]] = field(default_factory=list)
    paid: list[str] = field(default_factory=list)
    answers: dict[str, list[Json | Exception]] = field(default_factory=dict)
    status: str = "succeeded"
    customer: Json | None = None
    customer_asked: list[str] = field(default_factory=list)
    # An account system that accepts and never answers.
    hanging: bool = False
    listed: int = 0
    ledger_down: bool = False

    async def call(self, name: str, args: Json, context: Json, assertion: str | None) -> Json:
        self.calls.append((name, args, context))
        if self.answers.get(name):
            answer = self.answers[name].pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if name == "get_order":
            return (
                {"status": "ok", "result": ORDER}
                if args["order_id"] == "4417028"
                else {"status": "not_found", "result": {}}
            )
        assert name == "issue_refund", name
        key = f"refund:{args['order_id']}:{args['line_id']}"
        repeated = key in self.ledger
        if not repeated:
            self.ledger[key] = {
                "key": key,
                "message_id": context.get("message_id"),
                "kind": "refund",
                "status": self.status,
                "order_id": args["order_id"],
                "line_id": args["line_id"],
                "amount": args["amount"],
                "currency": "USD",
                "reference": "re_1" if self.status == "succeeded" else None,
            }
            if self.status == "succeeded":
                self.paid.append(key)
        row = self.ledger[key]
        result = {f: row[f] for f in ("key", "status", "amount", "currency", "reference")}
        return {"status": row["status"], "result": {**result, "reason": None, "repeated": repeated}}

    async def look_up(self, name: str, args: Json, assertion: str) -> Json:
        if name == "list_orders":
            return {"status": "ok", "result": {"orders": [ORDER]}}
        return await self.call(name, args, {}, assertion)

    def within(self, left_s: float) -> "FakeTools":
        return self

    def sooner(self, by_s: float) -> "FakeTools":
        return self

    async def pause(self, pause_s: float) -> bool:
        await asyncio.sleep(pause_s)
        return True

    async def list_tools(self) -> list[Json]:
        return TOOLS

    async def load_customer(self, assertion: str) -> Json | None:
        return await self._tell_customer(assertion)

    async def load_customer_of(self, key: str) -> Json | None:
        return await self._tell_customer(key)

    async def _tell_customer(self, asked_with: str) -> Json | None:
        self.customer_asked.append(asked_with)
        if self.hanging:
            await asyncio.Event().wait()
        return self.customer

    async def list_actions(self, conversation_id: str) -> list[Json]:
        self.listed += 1
        if self.ledger_down:
            raise Transient("the ledger can't be reached")
        return list(self.ledger.values())

    async def load_action(self, key: str) -> Json | None:
        return self.ledger.get(key)


class LoopClock:
    """The event loop's own time as a clock, so that what skips the one skips the other."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.began, self.began_at = self.loop.time(), datetime.now(UTC)

    def now(self) -> datetime:
        return self.began_at + timedelta(seconds=self.loop.time() - self.began)

    def monotonic(self) -> float:
        return self.loop.time()


@pytest.fixture
async def quick_time(monkeypatch: pytest.MonkeyPatch) -> LoopClock:
    """Waiting costs nothing: while nobody is heard of for a moment, the loop's time jumps to the next thing planned.

    Never while the database works, which may take its moments, nor to what is planned a minute ahead or more.
    """
    loop: Any = asyncio.get_running_loop()
    moment_s, furthest_s, skipped = 0.05, 59.0, 0.0
    time, select = loop.time, loop._selector.select

    def database_works() -> bool:
        # A query's own time limit stands in the loop until it is answered.
        planned = [handle._callback for handle in loop._scheduled if not handle._cancelled]
        return any("asyncpg.protocol" in str(getattr(callback, "__module__", "")) for callback in planned)

    def skip(timeout: float | None) -> Any:
        nonlocal skipped
        if timeout is None or not moment_s < timeout <= furthest_s or database_works():
            return select(timeout)
        if not (heard := select(moment_s)):
            skipped += timeout - moment_s
        return heard

    monkeypatch.setattr(loop, "time", lambda: time() + skipped)
    monkeypatch.setattr(loop._selector, "select", skip)
    return LoopClock()


@dataclass
class ScriptedModels:
    """Plays the given turns in order; an exception in the list is raised instead."""

    turns: list[Any] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    pause: asyncio.Event | None = None

    async def ask(
        self, request: ModelRequest, budget_s: float, priority: str = "live", hearer: Hearer | None = None
    ) -> ModelTurn:
        require_room()
        self.requests.append(request)
        if self.pause is not None:
            await self.pause.wait()
        turn = self.turns.pop(0)
        if isinstance(turn, Exception):
            raise turn
        assert isinstance(turn, ModelTurn)
        account(turn.provider, turn.model, turn.usage)
        return turn

    async def close(self) -> None:
        return None


def says(text: str) -> ModelTurn:
    return ModelTurn(text, (), "end_turn", Usage(100, 20), "fake", "fake-large")


def calls(*tools: tuple[str, str], text: str = "", stop: str = "tool_use", ids: list[str] | None = None) -> ModelTurn:
    """A turn that calls tools, each given as (name, arguments as JSON text)."""
    made = tuple(ToolCall(ids[n] if ids else f"toolu_{name}_{n}", name, raw) for n, (name, raw) in enumerate(tools))
    return ModelTurn(text, made, stop, Usage(100, 20), "fake", "fake-large")


@dataclass
class FixedGuard:
    """Says what it is told to about each kind of text."""

    customer: str = "clean"
    tool_result: str = "clean"
    reply: str = "clean"

    async def check(self, text: str, where: str) -> GuardVerdict:
        verdict: Any = getattr(self, where)
        return GuardVerdict(verdict, () if verdict == "clean" else ("test",))


@dataclass
class CountingTokens:
    """A counter of one conversation's tokens, in the process."""

    total: int = 0

    async def add(self, conversation_id: str, tokens: int, known: int) -> int:
        self.total = max(self.total + tokens, known)
        return self.total


@dataclass
class NoGateway:
    codes: list[str] = field(default_factory=list)

    async def renew(self, assertion: str) -> str | None:
        return None

    async def send_code(self, conversation_id: str, customer_id: str, purpose: str) -> bool:
        self.codes.append(purpose)
        return True


MakeWork = Callable[..., WorkItem]


@pytest.fixture
def make_work(keys: Path) -> MakeWork:
    """Build a work item of a signed-in customer; keyword arguments override the message's or the item's fields."""
    signer = Signer.from_file("gateway", keys / "gateway.pem")

    def make(text: str = "The blender of order 4417028 arrived broken", **over: Any) -> WorkItem:
        conversation, customer = over.pop("conversation_id", "conv_1"), over.pop("customer_id", "C-1001")
        claims = session_claims(
            customer_id=customer or "-",
            conversation_id=conversation,
            channel="chat",
            verified_by="login",
            verified_fields=("login",),
        )
        token = signer.sign("toolgateway.session", claims, 600, datetime.now(UTC)) if customer else None
        message = {
            "conversation_id": conversation,
            "message_id": "msg_1",
            "seq": 1,
            "text": text,
            "channel": "chat",
            "customer_id": customer,
            "assertion": token,
            "visitor": customer is None,
            "received_at": datetime.now(UTC),
        }
        item: Json = {"route": "agent", "intent": "refund", "confidence": 0.95, "language": "en"}
        for name, value in over.items():
            (item if name in WorkItem.model_fields else message)[name] = value
        return WorkItem(message=CustomerMessage(**message), **item)

    return make


@pytest.fixture
async def pool(database: Any) -> AsyncIterator[db.Database]:
    opened = await db.open_pool(database.dsn("support"), "support")
    yield opened
    await opened.close()


@dataclass
class Bench:
    """A run store on a real database with everything else faked."""

    pool: db.Database
    parts: Parts
    tools: FakeTools
    models: ScriptedModels
    guard: FixedGuard
    gateway: NoGateway

    async def arrive(self, work: WorkItem) -> None:
        async with self.pool.acquire() as conn, conn.transaction():
            await save_arrival(conn, work)
            await add_queued_run(conn, work)

    async def claim(self, worker: str = "w1", ttl_s: float = 30.0, routes: tuple[str, ...] = ("agent",)) -> ClaimedRun:
        claimed = await self.parts.runs.claim(routes, worker, ttl_s, 1)
        assert claimed, "no run may start"
        return claimed[0]

    async def events(self, message_id: str = "msg_1") -> list[Json]:
        """What left for the customer, in the order it was written."""
        import json

        rows = await self.pool.fetch("select payload from outbox where topic = 'support.replies.v1' order by id")
        found = [json.loads(row["payload"]) for row in rows]
        return [e for e in found if e["message_id"] == message_id]

    async def done(self, message_id: str = "msg_1") -> Json:
        ended = [e for e in await self.events(message_id) if e["event"] == "done"]
        assert len(ended) == 1, ended
        data: Json = ended[0]["data"]
        return data


@pytest.fixture
def make_bench(pool: db.Database, keys: Path) -> Callable[..., Bench]:
    def make(*turns: Any, limits: Limits | None = None, customer: Json | None = None) -> Bench:
        tools, models, guard, gateway = (
            FakeTools(customer=customer),
            ScriptedModels(list(turns)),
            FixedGuard(),
            NoGateway(),
        )
        limits = limits or Limits()
        clock = SystemClock()
        any_tools: Any = tools
        any_models: Any = models
        channel_gateway: Any = gateway
        sessions = Sessions(channel_gateway, clock)
        parts = Parts(
            pool=pool,
            runs=RunStore(pool),
            tools=any_tools,
            ledger=Ledger(any_tools, clock, patience_s=0.2, brief_s=0.2),
            catalogue=Catalogue(any_tools, limits, ("fake-large",)),
            sessions=sessions,
            customers=Customers(any_tools, sessions, patience_s=0.1),
            models=any_models,
            tokens=CountingTokens(),
            guard=guard,  # type: ignore[arg-type]
            help_passages=lambda _q, _l: [],
            clock=clock,
            limits=limits,
        )
        return Bench(pool, parts, tools, models, guard, gateway)

    return make


@pytest.fixture
def counting_tokens() -> CountingTokens:
    return CountingTokens()


@pytest.fixture
def unknown_outcome() -> OutcomeUnknown:
    return OutcomeUnknown("no usable answer")


__all__ = ["Bench", "ChannelGateway", "MakeWork", "calls", "says"]
