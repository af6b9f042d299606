"""What customers read is held against the ledger of that moment, through the agent's own reply check."""

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from toolgateway.audit.replies import judge, main, reply_lines

TRUE = "Your refund of 64.00 USD for order 4417028 has been issued."


@pytest.fixture
async def told(gateway: Any, database: Any) -> AsyncIterator[Any]:
    """A refund that was made, and a reply that says so."""
    await gateway.refund()
    conn = await asyncpg.connect(database.dsn("admin"))
    await conn.execute("""
        insert into gateway.conversations (id, owner, customer_id, channel)
            values ('conv_1', 'C-1001', 'C-1001', 'chat');
        insert into support.conversations (id, customer_id, channel, language)
            values ('conv_1', 'C-1001', 'chat', 'en')
    """)
    await conn.execute(
        "insert into gateway.events (message_id, seq, conversation_id, position, event, data, writer, owner_version)"
        " values ('m1', 1, 'conv_1', 1, 'done', $1, 'agent', 1)", json.dumps({"reply": TRUE}),
    )  # fmt: skip
    yield conn
    await conn.close()


async def verdict(dsn: str) -> tuple[str, bool]:
    lines = "".join(json.dumps(line) + "\n" for line in await reply_lines(dsn))
    command = [sys.executable, "-m", "agent.check_reply"]
    pipe = asyncio.subprocess.PIPE
    checking = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    out, _ = await checking.communicate(lines.encode())
    return judge(io.StringIO(out.decode()))


async def test_a_true_reply_is_borne_out(told: Any, database: Any) -> None:
    text, clean = await verdict(database.dsn("admin"))
    assert clean, text
    assert "replies 1, claims in them 1" in text


@pytest.mark.parametrize(
    "planted",
    [
        """update gateway.events set data = json_build_object('reply', replace(data ->> 'reply', '64.00', '640.00'))""",
        """update gateway.events set created_at = created_at - interval '1 hour'""",
        """update gateway.conversations set customer_id = 'C-2', owner = 'C-2'""",
    ],
    ids=["another amount", "told before it was so", "another customer's refund"],
)
async def test_a_reply_the_ledger_does_not_bear_out_is_named(told: Any, database: Any, planted: str) -> None:
    await told.execute(planted)
    text, clean = await verdict(database.dsn("admin"))
    assert not clean
    assert "m1: Your refund of" in text


async def test_a_reply_about_a_row_whose_customer_was_erased_since_is_borne_out(
    told: Any, gateway: Any, database: Any
) -> None:
    """Somebody else asks about the order again and is told, truly, that it was refunded."""
    await told.execute("alter table ledger.actions disable trigger actions_guard")
    await told.execute("update ledger.actions set created_at = created_at - interval '31 days'")
    await told.execute("alter table ledger.actions enable trigger actions_guard")
    name = "erased-00000000000000a1"
    await gateway.pool.execute("select erase_customer('C-1001', '{}', '{}', $1, 30)", name)
    assert await told.fetchval("select customer_id from ledger.actions") == name
    text, clean = await verdict(database.dsn("admin"))
    assert clean, text
    await told.execute(
        "update gateway.events set data = json_build_object('reply', replace(data ->> 'reply', '28', '29'))"
    )
    _, clean = await verdict(database.dsn("admin"))
    assert not clean, "another order's is still not"


def test_an_answer_that_could_not_be_given_is_not_clean(capsys: Any) -> None:
    text, clean = judge(io.StringIO('{"id": "m1", "error": "language"}\n'))
    assert not clean
    assert "not readable" in text
    assert main([]) == 2
