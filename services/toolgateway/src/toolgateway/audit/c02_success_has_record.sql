-- C2: a refund that succeeded is in the provider's books, effective, with this amount
-- needs: provider
-- over: select count(*) from ledger.actions where kind = 'refund' and status = 'succeeded'
select a.key as offender, 'no effective refund ' || coalesce(a.external_ref, '') as why
from ledger.actions a
where a.kind = 'refund' and a.status = 'succeeded'
  and not exists (select 1 from provider_refunds p where p.refund_id = a.external_ref and p.status <> 'failed'
                  and (p.amount, p.currency, p.order_id) = (a.amount, a.currency, a.order_id))
