-- C9: a conversation's event numbers and each message's rise by one from 1; a finished message is done once, last
-- needs: gateway
-- over: select count(*) from gateway.events
select conversation_id as offender, count(*) || ' events up to position ' || max(position) as why
from gateway.events group by conversation_id having count(*) <> max(position) or min(position) <> 1
union all
select message_id, count(*) || ' events up to ' || max(seq)
from gateway.events group by message_id
having count(*) <> max(seq) or min(seq) <> 1
    or count(*) filter (where event = 'done') > 1
    or max(seq) filter (where event = 'done') < max(seq)
