"""One-time codes on a real database: tries are counted before anything is compared, however many come at once."""

import asyncio
from typing import Any

from common import db
from gateway.adapters.code_store import CodeBook

BOOK = CodeBook(pepper=b"p" * 32, valid_s=600, tries_per_h=5, codes_per_h=3)


async def test_bb_auth_07_a_hundred_guesses_from_as_many_threads_are_five_tries(database: Any) -> None:
    pool = await db.open_pool(database.dsn("gateway"), "gateway", min_size=20, max_size=20)
    everybody = asyncio.Barrier(20)
    try:

        async def guess(number: int) -> bool:
            async with pool.acquire() as conn:
                # Twenty transactions are open before the first one counts.
                await everybody.wait()
                async with conn.transaction():
                    return await BOOK.try_code(
                        conn, bucket="claimed:C-1", conversation_id=f"conv_{number}", typed=f"{number:06d}"
                    )

        for first in range(0, 100, 20):
            assert not any(await asyncio.gather(*(guess(first + n) for n in range(20))))
        assert await pool.fetchval("select count(*) from code_tries where bucket = 'claimed:C-1'") == 5
    finally:
        await pool.close()
