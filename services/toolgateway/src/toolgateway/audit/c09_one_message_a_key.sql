-- C9: one stored message for each (customer, conversation, key), and one key for each message
-- needs: gateway
-- over: select count(*) from gateway.idempotency
select min(conversation_id) as offender, count(*) || ' messages under the key ' || key as why
from gateway.idempotency group by owner, conversation_id, key having count(*) > 1
union all
select message_id, count(*) || ' keys' from gateway.idempotency group by message_id having count(*) > 1
union all
select i.message_id, 'the key names a message that is not stored'
from gateway.idempotency i left join gateway.messages m on m.id = i.message_id where m.id is null
