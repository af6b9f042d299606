-- C3: an order's effective refunds, whoever made them, are not above what was captured
-- needs: provider
-- over: select count(*) from provider_payments
select p.order_id as offender, 'captured ' || p.captured || ', refunded ' || sum(r.amount) as why
from provider_payments p join provider_refunds r on r.order_id = p.order_id and r.status <> 'failed'
group by p.order_id, p.captured having sum(r.amount) > p.captured
