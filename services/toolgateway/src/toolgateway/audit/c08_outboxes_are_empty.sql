-- C8: no event waits unpublished for over a minute in any outbox
-- needs: ledger, gateway, support, approvals
-- over: select (select count(*) from ledger.outbox) + (select count(*) from gateway.outbox) + (select count(*) from support.outbox) + (select count(*) from approvals.outbox)
select place || ' ' || key as offender, 'unpublished since ' || created_at as why
from (select 'ledger' as place, key, created_at from ledger.outbox
      union all select 'gateway', key, created_at from gateway.outbox
      union all select 'support', key, created_at from support.outbox
      union all select 'approvals', key, created_at from approvals.outbox) waiting
where created_at < clock_timestamp() - interval '1 minute'
