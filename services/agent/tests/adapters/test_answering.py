"""Messages answered together: each is stored whole or not at all, and what is wrong with one is that one's own."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from agent.adapters.answering import Answered, Answering
from agent.adapters.sending import outgoing_replies
from agent.adapters.store import Standing, save_owner
from agent.core.replies import Address

GROUP = "agent-fixed"
SEEN = Standing("agent", 1, "active")


class Answers:
    """The store under test, a first message of as many conversations as a test wants, and what became of them."""

    def __init__(self, pool: Any, make_work: Any) -> None:
        self.pool, self.make_work = pool, make_work
        self.store = Answering(pool, GROUP)

    def answered(self, n: int, *, text: str = "It is on its way.", seq: int = 1, **over: Any) -> Answered:
        work = self.make_work(
            "Where is my order?", route="fixed", conversation_id=f"conv_{n}", message_id=f"msg_{n}_{seq}", seq=seq
        )
        events = outgoing_replies(Address.of(work.message, 1).spoken(2, "fixed", [text]), datetime.now(UTC))
        return Answered.of(work, over.get("event_id", f"ev_{n}_{seq}"), SEEN, text, events)

    async def save(self, items: Sequence[Answered]) -> list[bool]:
        """Save them side by side: the first goes alone, the others share the next statement."""
        return await asyncio.gather(*(self.store.save_answered(item) for item in items))

    async def stored(self) -> dict[str, set[str]]:
        """Return which messages each table knows."""
        columns = {"runs": "message_id", "outbox": "convert_from(payload, 'UTF8')::json ->> 'message_id'"}
        found = {t: await self.pool.fetch(f"select distinct {c} as id from {t}") for t, c in columns.items()}
        said = await self.pool.fetch("select message_id as id from messages group by 1 having count(*) = 2")
        return {t: {row["id"] for row in rows} for t, rows in {**found, "messages": said}.items()}


@pytest.fixture
def answers(make_bench: Any, make_work: Any) -> Answers:
    return Answers(make_bench().pool, make_work)


async def test_what_is_answered_side_by_side_is_stored_whole_and_in_order(answers: Answers) -> None:
    assert await answers.save([answers.answered(n) for n in range(12)]) == [True] * 12
    everything = {f"msg_{n}_1" for n in range(12)}
    assert await answers.stored() == {"runs": everything, "outbox": everything, "messages": everything}
    rows = await answers.pool.fetch("select key, convert_from(payload, 'UTF8')::json as event from outbox order by id")
    for n in range(12):
        assert [row["event"]["event"] for row in rows if row["key"] == f"conv_{n}"] == ["token", "done"]
    words = await answers.pool.fetch("select conversation_id, sender from messages order by id")
    for n in range(12):
        assert [row["sender"] for row in words if row["conversation_id"] == f"conv_{n}"] == ["customer", "agent"]


async def test_the_one_whose_owner_changed_since_it_was_read_is_left_alone_and_its_neighbours_are_stored(
    answers: Answers,
) -> None:
    assert await answers.save([answers.answered(n) for n in range(6)]) == [True] * 6
    async with answers.pool.acquire() as conn:
        await save_owner(conn, "conv_3", 1, "dana", "with_person")
        await save_owner(conn, "conv_4", 1, "dana", "with_person")
        await save_owner(conn, "conv_4", 2, "agent", "active")
    saved = await answers.save([answers.answered(n, seq=2) for n in range(6)])
    assert saved == [True, True, True, False, False, True]
    stored = {f"msg_{n}_2" for n in (0, 1, 2, 5)}
    assert all({name for name in table if name.endswith("_2")} == stored for table in (await answers.stored()).values())
    assert await answers.pool.fetchval("select count(*) from inbox where event_id in ('ev_3_2', 'ev_4_2')") == 0


async def test_no_batch_waits_for_a_conversation_that_somebody_holds(answers: Answers) -> None:
    await answers.save([answers.answered(n) for n in range(3)])
    async with answers.pool.acquire() as holder, holder.transaction(), asyncio.timeout(20):
        await holder.execute("select from conversations where id = 'conv_1' for update")
        saved = await answers.save([*(answers.answered(n, seq=2) for n in range(3)), answers.answered(7)])
    assert saved == [True, False, True, True]
    assert (await answers.stored())["runs"] >= {"msg_0_2", "msg_2_2", "msg_7_1"}
    assert await answers.save([answers.answered(1, seq=2)]) == [True]


async def test_a_redelivered_event_among_new_ones_changes_nothing(answers: Answers) -> None:
    await answers.save([answers.answered(1)])
    await answers.pool.execute("update conversations set status = 'closed' where id = 'conv_1'")
    before = await answers.pool.fetchrow("select * from conversations where id = 'conv_1'")
    saved = await answers.save([answers.answered(0), answers.answered(1), answers.answered(2)])
    assert saved == [True, False, True]
    assert await answers.pool.fetchrow("select * from conversations where id = 'conv_1'") == before
    assert await answers.pool.fetchval("select count(*) from outbox where key = 'conv_1'") == 2
    assert (await answers.stored())["runs"] == {"msg_0_1", "msg_1_1", "msg_2_1"}


async def test_one_that_comes_elsewhere_at_the_same_moment_spoils_no_other(answers: Answers) -> None:
    """Another process stored the same events before ours, so the statement fails as a whole at first."""
    await answers.save([answers.answered(2)])
    await answers.pool.execute("delete from inbox; delete from runs; delete from messages")
    saved = await answers.save([answers.answered(n) for n in range(5)])
    assert saved == [True, True, False, True, True]
    assert (await answers.stored())["runs"] == {f"msg_{n}_1" for n in (0, 1, 3, 4)}


async def test_one_that_the_database_refuses_fails_alone(answers: Answers) -> None:
    items = [answers.answered(0), answers.answered(1, text="a\x00b"), answers.answered(2), answers.answered(3)]
    saved = await asyncio.gather(*(answers.store.save_answered(item) for item in items), return_exceptions=True)
    assert isinstance(saved[1], asyncpg.PostgresError)
    assert (saved[0], *saved[2:]) == (True, True, True)
    assert (await answers.stored())["runs"] == {"msg_0_1", "msg_2_1", "msg_3_1"}


async def test_two_messages_of_one_conversation_that_meet_are_both_stored(answers: Answers) -> None:
    saved = await answers.save([answers.answered(0), answers.answered(1), answers.answered(1, seq=2)])
    assert saved == [True, True, True]
    assert await answers.pool.fetchval("select count(*) from runs where conversation_id = 'conv_1'") == 2


async def test_how_many_conversations_stand_is_told_to_each_asker(answers: Answers) -> None:
    await answers.save([answers.answered(n) for n in range(3)])
    async with answers.pool.acquire() as conn:
        await save_owner(conn, "conv_1", 1, "dana", "with_person")
    asked = [answers.answered(n, seq=2).work.message for n in range(3)] + [answers.answered(9).work.message]
    asked.append(answers.answered(2, seq=4).work.message)
    first, owned, third, new, early = await asyncio.gather(*(answers.store.load_standing(m) for m in asked))
    assert first == third == Standing("agent", 1, "active")
    assert owned == Standing("dana", 2, "with_person")
    assert new == Standing("agent", 1, "active")
    assert early.in_order is False
