-- C4: when a refund ran by itself, its customer had fewer pending or paid ones in the window than the policy allows
-- needs: ledger, limits
-- over: select count(*) from ledger.actions where kind = 'refund' and verdict = 'auto'
select a.key as offender, count(*) || ' in the window before it' as why
from ledger.actions a cross join limits l
join ledger.actions b on b.kind = 'refund' and b.customer_id = a.customer_id and b.key <> a.key
    and b.created_at between a.created_at - make_interval(days => l.window_days) and a.created_at
where a.kind = 'refund' and a.verdict = 'auto'
  -- What b was at that moment: a row that failed or was approved later counted otherwise then.
  and (select h.status from ledger.actions_history h where h.key = b.key and h.at <= a.created_at
       order by h.version desc limit 1) in ('pending', 'succeeded')
group by a.key, l.refunds_in_window having count(*) >= l.refunds_in_window
