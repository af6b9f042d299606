-- C6: the group that tells customers of outcomes has taken every change it has to tell (once, by its inbox's key)
-- needs: kafka, support
-- over: select count(distinct event_id) from published where untold
select p.key as offender, 'version ' || p.version || ' was not taken by agent-ledger' as why
from published p
where p.untold and p.at < clock_timestamp() - interval '2 minutes' and p.at > clock_timestamp() - interval '29 days'
  and not exists (select 1 from support.inbox i where i.consumer_group = 'agent-ledger' and i.event_id = p.event_id)
