"""Migrations that repair rows beside workers that are at work."""

import asyncio
from importlib.resources import files
from typing import Any

import asyncpg


async def test_a_claim_under_way_neither_slips_past_the_repair_nor_breaks_the_index(
    database: Any, make_bench: Any, make_work: Any
) -> None:
    bench = make_bench()
    for seq in (1, 2):
        await bench.arrive(make_work(message_id=f"msg_{seq}", seq=seq))
    await bench.claim()
    admin = await asyncpg.connect(database.dsn("admin"), server_settings={"search_path": "support,public"})
    await admin.execute("drop index runs_one_at_work")
    text = (files("agent") / "migrations" / "0005_one_run_at_a_time.sql").read_text()

    async def migrate() -> None:
        # As the migrator does: one transaction, which waits for nobody longer than this.
        async with admin.transaction():
            await admin.execute("set local lock_timeout = '5s'")
            await admin.execute(text)

    async with bench.pool.acquire() as conn, conn.transaction():
        # A worker of the release before, which nothing kept from a second message of the conversation.
        await conn.execute("update runs set status = 'running', claimed_by = 'w2', attempts = 1 where seq = 2")
        migrating = asyncio.create_task(migrate())
        waiting = (
            "select count(*) from pg_locks l join pg_database d on d.oid = l.database "
            "where d.datname = current_database() and l.relation = 'runs'::regclass and not l.granted"
        )
        async with asyncio.timeout(10):
            while not await bench.pool.fetchval(waiting):  # noqa: ASYNC110 - another session's wait has no event
                await asyncio.sleep(0.01)
    await migrating
    await admin.close()
    assert [tuple(r) for r in await bench.pool.fetch("select seq, status from runs order by seq")] == [
        (1, "running"), (2, "queued"),
    ]  # fmt: skip
