-- C7: an action shown to a customer as succeeded was so before, with that amount, order and currency
-- needs: ledger, gateway
-- over: select count(*) from gateway.events where event = 'action' and data ->> 'status' = 'succeeded'
select e.message_id || ' ' || coalesce(e.data ->> 'key', '') as offender, case
    when a.key is null then 'there is no such row'
    when h.at is null then 'it had not succeeded by then'
    else 'the row says ' || coalesce(a.amount::text, '-') || ' ' || coalesce(a.currency, '') end as why
from gateway.events e
join gateway.conversations c on c.id = e.conversation_id
left join ledger.actions a on a.key = e.data ->> 'key' and a.customer_id = c.customer_id
left join lateral (select min(at) as at from ledger.actions_history
    where key = a.key and status = 'succeeded' and at <= e.created_at) h on true
where e.event = 'action' and e.data ->> 'status' = 'succeeded'
  and (a.key is null or h.at is null
       or coalesce((e.data ->> 'amount')::numeric, a.amount) is distinct from a.amount
       or coalesce(e.data ->> 'currency', a.currency) is distinct from a.currency
       or coalesce(e.data ->> 'order_id', a.order_id) is distinct from a.order_id)
