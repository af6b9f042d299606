-- C8: what is pending for over fifteen minutes (the reconciler's threshold and two of its periods) is a person's task
-- needs: ledger
-- over: select count(*) from ledger.actions where status in ('pending', 'awaiting_approval')
select key as offender, status || ' since ' || coalesce(expires_at, first_tried_at, updated_at) as why
from ledger.actions a
where ((status = 'pending' and coalesce(first_tried_at, updated_at) < clock_timestamp() - interval '15 minutes')
       -- An overdue wish goes before the leads under a new version.
       or (status = 'awaiting_approval' and not leads_only and expires_at < clock_timestamp() - interval '15 minutes'))
  and not exists (select 1 from ledger.tasks t where t.about = a.key and t.closed_at is null)
