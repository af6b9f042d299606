-- C6: each row's history has every version once, up to the row's own
-- needs: ledger
-- over: select count(*) from ledger.actions
select a.key as offender, coalesce(h.changes, 0) || ' changes for version ' || a.version as why
from ledger.actions a
left join (select key, count(*) as changes, max(version) as newest, min(version) as oldest
           from ledger.actions_history group by key) h using (key)
-- After seven years history leaves; the row and its key stay.
where a.created_at > clock_timestamp() - interval '7 years'
  and (h.key is null or h.changes <> a.version or h.newest <> a.version or h.oldest <> 1)
