-- C1: the provider made at most one effective payment for each line under one of our keys
-- needs: provider
-- over: select count(distinct (key, line_id)) from provider_refunds where key is not null and status <> 'failed'
select key || ' ' || coalesce(line_id, '') as offender, count(*) || ' payments' as why
from provider_refunds where key is not null and status <> 'failed'
group by key, line_id having count(*) > 1
