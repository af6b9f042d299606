-- C1: money under one of our refund keys stands in a row that says so, or that still says "being processed"
-- needs: provider
-- over: select count(*) from provider_refunds where key like 'refund:%' and status <> 'failed'
select p.key as offender, 'moved as ' || p.refund_id || ', the row says ' || coalesce(a.status, 'nothing') as why
from provider_refunds p left join ledger.actions a on a.key = p.key
where p.key like 'refund:%' and p.status <> 'failed'
  and (a.key is null or a.status not in ('pending', 'succeeded')
       or (a.amount, a.currency, a.order_id) is distinct from (p.amount, p.currency, p.order_id)
       or (a.status = 'succeeded' and a.external_ref <> p.refund_id))
