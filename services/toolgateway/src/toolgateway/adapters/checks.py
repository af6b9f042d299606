"""The part of the history checker that the ledger alone can answer, as SQL to run in production (RELIABILITY C1–C10).

Each statement returns the offenders; none is the good answer. What needs the provider's log or the conversations is
checked by ``books compare`` and by the auditor of the whole stack.
"""

from common import db

# C8's fifteen minutes: two of the reconciler's periods and its own threshold; what hangs longer is a person's task.
CHECKS: dict[str, str] = {
    "C2 succeeded without a provider reference": """
        select key from ledger.actions where status = 'succeeded' and external_ref is null
    """,
    "C1 one provider refund under two rows": """
        select external_ref as key from ledger.actions where kind = 'refund' and external_ref is not null
        group by external_ref having count(*) > 1
    """,
    "C4 automatic refunds above the window's count": """
        select a.key from ledger.actions a where a.kind = 'refund' and a.verdict = 'auto'
            and a.status in ('pending', 'succeeded')
            and (select count(*) from ledger.actions b where b.kind = 'refund' and b.customer_id = a.customer_id
                and b.status in ('pending', 'succeeded') and b.key <> a.key and b.verdict = 'auto'
                and b.created_at between a.created_at - interval '30 days' and a.created_at) >= 2
    """,
    "C5 run without the decision it needed": """
        select a.key from ledger.actions a where a.verdict = 'approval' and a.status in ('pending', 'succeeded')
            and (a.approved_by is null or a.approved_digest is null or a.decided_at is null
                or a.approved_digest is distinct from (select h.digest from ledger.actions_history h
                    where h.key = a.key and h.status = 'awaiting_approval' order by h.version desc limit 1)
                or a.decided_at > (select min(h.at) from ledger.actions_history h
                    where h.key = a.key and h.status = 'succeeded'))
    """,
    "C6 history with a gap or without the row's newest version": """
        select a.key from ledger.actions a
        left join (select key, count(*) as changes, max(version) as newest, min(version) as oldest
            from ledger.actions_history group by key) h using (key)
        where h.key is null or h.changes <> a.version or h.newest <> a.version or h.oldest <> 1
    """,
    "C8 pending too long without a task": """
        select key from ledger.actions a where status = 'pending'
            and first_tried_at < clock_timestamp() - interval '15 minutes'
            and not exists (select 1 from ledger.tasks t where t.about = a.key and t.closed_at is null)
    """,
    "C10 a claim that outlived its row's work": """
        select key from ledger.actions where claim_until is not null and status <> 'pending'
    """,
    "C10 automatic money that no row holds": """
        select m.currency || ' ' || m.hour as key from ledger.automatic_money m
        where m.minor <> (select coalesce(sum(a.minor_units), 0) from ledger.actions a where a.currency = m.currency
            and a.reserved_hour = m.hour and not exists (select 1 from ledger.actions_history h
                where h.key = a.key and h.status = 'failed'))
    """,
}


async def find_offenders(conn: db.Connection) -> dict[str, list[str]]:
    """Return each broken rule with its offenders' keys; an empty result is a sound ledger."""
    found = {name: [row["key"] for row in await conn.fetch(sql)] for name, sql in CHECKS.items()}
    return {name: keys for name, keys in found.items() if keys}
