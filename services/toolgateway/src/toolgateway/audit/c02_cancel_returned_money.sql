-- C2: a cancellation that succeeded returned the money its row names
-- needs: provider
-- over: select count(*) from ledger.actions where kind = 'cancel' and status = 'succeeded' and amount is not null
select a.key as offender, 'the row says ' || a.amount || ', the provider ' || coalesce(sum(p.amount), 0) as why
from ledger.actions a
left join provider_refunds p on p.key = 'cancel:' || a.order_id and p.order_id = a.order_id and p.status <> 'failed'
where a.kind = 'cancel' and a.status = 'succeeded' and a.amount is not null
group by a.key, a.amount having coalesce(sum(p.amount), 0) <> a.amount
