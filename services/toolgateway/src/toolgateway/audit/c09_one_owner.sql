-- C9: a conversation is in one person's hands at most, and its own record names that person
-- needs: support, approvals
-- over: select count(*) from approvals.handoffs where status = 'claimed'
select conversation_id as offender, count(distinct owner) || ' people hold it' as why
from approvals.handoffs where status = 'claimed' group by conversation_id having count(distinct owner) > 1
union all
select h.conversation_id, h.owner || ' holds it, the record says ' || c.owner
from approvals.handoffs h join support.conversations c on c.id = h.conversation_id
where h.status = 'claimed' and h.owner <> c.owner and h.updated_at < clock_timestamp() - interval '30 seconds'
