"""One message, once: whatever a client repeats, breaks off or sends at the same time."""

import asyncio
from typing import Any

import pytest

from common.events import ReplyEvent

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_message_is_published_once_and_its_answer_streams_to_done(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    message = await maya.said(conversation, "Where is my order 4417028?")

    [event] = await world.published(1)
    await world.reply(conversation, message, _answer(message))
    events = await maya.follow(conversation, message)

    assert event["message_id"] == message
    assert (event["seq"], event["channel"], event["customer_id"], event["visitor"]) == (1, "chat", "C-1", False)
    session = world.verifier().session(event["assertion"], _now())
    assert (session.customer_id, session.conversation_id, session.verified_by) == ("C-1", conversation, "login")
    assert [(e.id, e.event) for e in events] == [(1, "status"), (2, "token"), (3, "done")]
    lines = await maya.transcript(conversation)
    assert [(line["from"], line["text"]) for line in lines] == [
        ("customer", "Where is my order 4417028?"),
        ("agent", "It is on its way."),
    ]


async def test_fifty_posts_of_one_key_make_one_message_and_fifty_equal_streams(world: Any) -> None:
    """BB-SSE-01."""
    maya = world.customer("C-1")
    conversation = await maya.open()
    barrier = asyncio.Barrier(50)

    async def post() -> list[tuple[int, str]]:
        await barrier.wait()
        async with maya.stream(
            "POST",
            f"/v1/conversations/{conversation}/messages",
            headers={"Idempotency-Key": "one"},
            json={"text": "hello"},
        ) as events:
            return [(e.id, e.event) async for e in events]

    posts = [asyncio.create_task(post()) for _ in range(50)]
    [event] = await world.published(1)
    await world.reply(conversation, event["message_id"], _answer(event["message_id"]))
    streams = await asyncio.wait_for(asyncio.gather(*posts), 30)

    assert all(stream == [(1, "status"), (2, "token"), (3, "done")] for stream in streams)
    assert await world.pool.fetchval("select count(*) from messages where direction = 'inbound'") == 1
    assert len(world.gateway.hub) == 0
    async with asyncio.timeout(10):
        # What the broker has acknowledged is marked with the relay's next look.
        while await world.pool.fetchval("select count(*) from outbox"):  # noqa: ASYNC110 - a row's end has no event
            await asyncio.sleep(0.01)


async def test_twenty_messages_at_once_get_twenty_numbers_without_a_gap(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    ids = await asyncio.gather(*(maya.said(conversation, f"message {n}", key=f"k{n}") for n in range(20)))
    events = await world.published(20)
    assert len(set(ids)) == 20
    assert [event["seq"] for event in events] == list(range(1, 21)), "published in the order of their numbers"
    assert {event["message_id"] for event in events} == set(ids)
    rows = await world.pool.fetch("select seq, id from messages where direction = 'inbound' order by seq")
    assert [(row["seq"], row["id"]) for row in rows] == [(e["seq"], e["message_id"]) for e in events]


async def test_one_key_with_another_body_is_refused_and_nothing_is_stored(world: Any) -> None:
    """BB-IDEM-02."""
    maya = world.customer("C-1")
    conversation = await maya.open()
    await maya.said(conversation, "refund line 1", "k")
    status, body = await maya.post(conversation, "cancel the order", "k")
    assert (status, body["status"]) == (422, 422)
    assert "key" in body["detail"]
    assert await world.pool.fetchval("select count(*) from messages") == 1


async def test_two_customers_may_use_the_same_key(world: Any) -> None:
    """BB-IDEM-01."""
    a, b = world.customer("A"), world.customer("B")
    first, second = await a.open(), await b.open()
    assert await a.said(first, "hello", "k1") != await b.said(second, "hello", "k1")


async def test_spacing_and_order_of_members_do_not_make_another_body(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    first = await maya.said(conversation, "hello", "k")
    headers = {"Idempotency-Key": "k", "Accept": "application/json", "Content-Type": "application/json"}
    status, body = await maya.call(
        "POST", f"/v1/conversations/{conversation}/messages", headers=headers, data=b'{ "text" :  "hello" }'
    )
    assert (status, body["message_id"]) == (202, first)


async def test_a_stream_resumes_after_the_last_event_it_saw(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    message = await maya.said(conversation, "hello")
    await world.reply(conversation, message, _answer(message))
    whole = await maya.follow(conversation, message)
    rest = await maya.follow(conversation, message, after=1)
    assert rest == whole[1:]
    assert await maya.follow(conversation, message, after=3) == []
    assert await maya.follow(conversation, message, after=10**25) == []


async def test_an_event_that_comes_twice_is_stored_and_streamed_once(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    message = await maya.said(conversation, "hello")
    steps = _answer(message)
    await world.reply(conversation, message, steps[:2])
    await world.reply(conversation, message, steps)
    events = await maya.follow(conversation, message)
    assert [e.id for e in events] == [1, 2, 3]
    assert len(await maya.transcript(conversation)) == 2


async def test_an_event_that_comes_twice_leaves_no_gap_in_the_conversations_ids(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    message = await maya.said(conversation, "hello")
    steps = _answer(message)
    async with asyncio.timeout(20), maya.stream("GET", f"/v1/conversations/{conversation}/events") as events:
        await world.reply(conversation, message, steps[:1])
        ids = [(await anext(events)).id]
        # As after a crash: what was sent before its offset was committed comes again, with more behind it.
        await world.reply(conversation, message, steps[:2])
        ids.append((await anext(events)).id)
        await world.reply(conversation, message, steps)
        ids.append((await anext(events)).id)
    assert ids == [1, 2, 3]


async def test_what_comes_unasked_reaches_the_open_conversation_stream(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    async with asyncio.timeout(20), maya.stream("GET", f"/v1/conversations/{conversation}/events") as events:
        done = _answer("own-1", "Your refund was approved.")
        await world.reply(conversation, "own-1", done, proactive=True)
        seen = [await anext(events) for _ in range(3)]
    assert [e.event for e in seen] == ["status", "token", "done"]
    assert seen[2].data["message_id"] == "own-1"
    [line] = await maya.transcript(conversation)
    assert (line["message_id"], line["from"], line["text"]) == ("own-1", "agent", "Your refund was approved.")


async def test_an_agents_words_after_a_takeover_are_dropped_and_the_stream_ends_as_the_persons(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    message = await maya.said(conversation, "hello")
    steps = _answer(message, "I refunded it.")
    await world.reply(conversation, message, steps[:1])
    staff = [{"event": "done", "data": {"message_id": "s-1", "route": "human", "handoff": True, "reply": "Dana here."}}]
    await world.reply(conversation, "s-1", staff, writer="approvals", owner_version=3)
    await world.reply(conversation, message, steps[1:], start=2)
    events = await maya.follow(conversation, message)
    assert [(e.id, e.event) for e in events] == [(1, "status"), (2, "done")]
    assert events[-1].data["reply"] == ""
    assert events[-1].data["handoff"] is True
    texts = [line["text"] for line in await maya.transcript(conversation)]
    assert texts == ["hello", "Dana here."]


async def test_a_late_batch_that_brings_its_own_takeover_ends_the_stream_behind_what_was_seen(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    message = await maya.said(conversation, "hello")
    events = world.gateway.events
    steps = [reply_event(conversation, message, n, step) for n, step in enumerate(_answer(message), 1)]
    staff = reply_event(conversation, "s-1", 1, _answer("s-1")[2], writer="approvals", owner_version=3)
    await events.save(conversation, steps[:1])
    await events.save(conversation, [staff, *steps[1:]])
    await events.save(conversation, [staff, *steps])
    seen = await maya.follow(conversation, message)
    assert [(e.id, e.event, e.data.get("reply")) for e in seen] == [(1, "status", None), (2, "done", "")]


def reply_event(conversation: str, message: str, seq: int, step: dict[str, Any], **more: Any) -> ReplyEvent:
    fields = {"channel": "chat", "owner_version": 0, "event": step["event"], "data": step["data"], **more}
    return ReplyEvent(conversation_id=conversation, message_id=message, seq=seq, **fields)


async def test_another_customers_conversation_reads_exactly_like_a_missing_one(world: Any) -> None:
    """BB-SSE-04."""
    maya, eve = world.customer("C-1"), world.customer("C-2")
    conversation = await maya.open()
    message = await maya.said(conversation, "hello")
    await world.reply(conversation, message, _answer(message))
    await maya.follow(conversation, message)
    for path in ("", "/events", f"/messages/{message}/events"):
        foreign = await eve.call("GET", f"/v1/conversations/{conversation}{path}", headers={"Last-Event-ID": "1"})
        missing = await eve.call("GET", f"/v1/conversations/conv_0{path}", headers={"Last-Event-ID": "1"})
        assert foreign == missing
        assert foreign[0] == 404
    assert (await eve.post(conversation, "hi"))[0] == 404
    assert await world.pool.fetchval("select count(*) from messages where direction = 'inbound'") == 1


async def test_pasted_card_numbers_never_reach_the_store_or_the_event(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    await maya.said(conversation, "My card is 4242 4242 4242 4242, please refund")
    [event] = await world.published(1)
    stored = await world.pool.fetchval("select text from messages")
    assert "4242 4242 4242" not in event["text"]
    assert stored == event["text"]


async def test_history_carries_the_last_turns_and_an_open_question(world: Any) -> None:
    maya = world.customer("C-1")
    conversation = await maya.open()
    first = await maya.said(conversation, "I want a refund")
    await world.reply(conversation, first, _answer(first, "Which item was damaged?", route="agent"))
    await maya.follow(conversation, first)
    await maya.said(conversation, "the blender")
    second = (await world.published(2))[1]
    assert second["history"] == [
        {"from": "customer", "text": "I want a refund"},
        {"from": "us", "text": "Which item was damaged?"},
    ]
    assert second["open_agent_turn"] is True
    assert second["seq"] == 2


async def test_the_limit_counts_messages_not_repetitions(run_gateway: Any) -> None:
    async with run_gateway(messages_per_10s=3) as world:
        maya = world.customer("limited")
        conversation = await maya.open()
        for n in range(3):
            await maya.said(conversation, "hello", f"k{n}")
        status, body = await maya.post(conversation, "hello", "k3")
        assert (status, body["title"]) == (429, "Too fast")
        assert [(await maya.post(conversation, "hello", "k1"))[0] for _ in range(10)] == [202] * 10
        assert len(await maya.transcript(conversation)) == 3


@pytest.mark.parametrize("redis", ["", "redis://127.0.0.1:9/0"])
async def test_without_redis_messages_are_taken_and_still_limited(run_gateway: Any, redis: str) -> None:
    async with run_gateway(messages_per_10s=2, redis_url=redis) as world:
        maya = world.customer("C-1")
        conversation = await maya.open()
        statuses = [(await maya.post(conversation, "hello", f"k{n}"))[0] for n in range(3)]
        assert statuses == [202, 202, 429]


async def test_a_reader_on_another_replica_sees_the_same_events(run_gateway: Any) -> None:
    async with run_gateway() as one, run_gateway(consume=False) as other:
        maya = one.customer("C-1")
        conversation = await maya.open()
        message = await maya.said(conversation, "hello")
        elsewhere = other.customer("C-1")
        following = asyncio.create_task(elsewhere.follow(conversation, message))
        await one.reply(conversation, message, _answer(message))
        assert [(e.id, e.event) for e in await following] == [(1, "status"), (2, "token"), (3, "done")]


def _answer(message_id: str, text: str = "It is on its way.", **done: Any) -> list[dict[str, Any]]:
    return [
        {"event": "status", "data": {"text": "Looking…"}},
        {"event": "token", "data": {"text": text}},
        {
            "event": "done",
            "data": {
                "message_id": message_id, "route": "fixed", "handoff": False, "citations": [], "reply": text, **done,
            },
        },
    ]  # fmt: skip


def _now() -> Any:
    from datetime import UTC, datetime

    return datetime.now(UTC)
