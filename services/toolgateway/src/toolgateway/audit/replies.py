"""C7 in words: ``… replies lines <stack.env> | python -m agent.check_reply | … replies judge``.

``lines`` writes each reply a customer got with the ledger as it stood then, in the form the reply check reads;
``judge`` reads its answers and names every claim of a deed that the ledger didn't bear out; exit 1 when there is one.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import IO, Any

import asyncpg

from common import db
from toolgateway.audit.stack_file import read_stack

# What an order's carrier did isn't the ledger's to say; these are.
_LEDGER_KINDS = frozenset({"refund", "cancel", "address_change", "return_label", "account_change"})
# A row whose customer was erased has no one's id any more; the order that a reply names still finds it.
_REPLIES = """
with erased as materialized (
    select key, order_id from ledger.actions where customer_id in (select pseudonym from ledger.erasures)
)
select e.message_id as id, coalesce(s.language, 'en') as language, e.data ->> 'reply' as reply,
    exists (select 1 from support.handoffs f
            where f.conversation_id = e.conversation_id and f.opened_at <= e.created_at) as handoff,
    (select coalesce(jsonb_agg(jsonb_build_object('key', a.key, 'kind', a.kind, 'status', h.status,
            'order_id', a.order_id, 'line_id', a.line_id, 'amount', a.amount::text, 'currency', a.currency,
            'reference', h.external_ref)), '[]')
     from ledger.actions a
     join lateral (select status, external_ref from ledger.actions_history
                   where key = a.key and at <= e.created_at order by version desc limit 1) h on true
     where a.customer_id = c.customer_id
        or a.key in (select key from erased where strpos(e.data ->> 'reply', order_id) > 0)) as actions
from gateway.events e
join gateway.conversations c on c.id = e.conversation_id
left join support.conversations s on s.id = e.conversation_id
where e.event = 'done' and e.writer = 'agent' and coalesce(e.data ->> 'reply', '') <> ''
order by e.created_at
"""


async def reply_lines(dsn: str) -> list[dict[str, Any]]:
    """Return every reply of the agent with the facts of its moment, oldest first."""
    conn = await asyncpg.connect(dsn, server_settings={"application_name": "audit"})
    try:
        await db.prepare_connection(conn)
        rows = await conn.fetch(_REPLIES)
    finally:
        await conn.close()
    return [
        {"id": row["id"], "language": row["language"], "reply": row["reply"],
         "facts": {"actions": row["actions"], "orders": [], "handoff": row["handoff"]}}
        for row in rows
    ]  # fmt: skip


def judge(answers: IO[str]) -> tuple[str, bool]:
    """Return the report on the reply check's answers and whether it is clean; what can't be read isn't clean."""
    read, claims, bad = 0, 0, list[str]()
    for line in answers:
        answer = json.loads(line)
        read += 1
        if "error" in answer:
            bad.append(f"{answer['id']}: not readable: {answer['error']}")
            continue
        done = [c for c in answer["claims"] if c["state"] == "done" and c["kind"] in _LEDGER_KINDS]
        claims += len(done)
        bad += [f"{answer['id']}: {c['sentence']}" for c in done if not c["holds"]]
    head = (
        f"C7   {'BROKEN' if bad else 'ok':<7} {len(bad)} violations; looked at: replies {read}, claims in them {claims}"
    )
    return "\n".join([head, *(f"     replies: {line}" for line in bad[:20])]), not bad


def main(arguments: list[str]) -> int:
    """Run one half of the pipe; returns the exit code."""
    match arguments:
        case ["lines", file]:
            for line in asyncio.run(reply_lines(read_stack(Path(file))["DATABASE_URL"])):
                print(json.dumps(line))
            return 0
        case ["judge"]:
            text, clean = judge(sys.stdin)
            print(text)
            return 0 if clean else 1
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
