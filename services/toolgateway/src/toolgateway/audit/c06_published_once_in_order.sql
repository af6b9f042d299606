-- C6: every change of what a row says, in the topic's lifetime, is published as one event, in the row's order
-- needs: ledger, kafka
-- over: select count(*) from published
with firsts as (
    select key, version, count(distinct event_id) as events, min(partition) as partition, min(log_offset) as place
    from published group by key, version
), ordered as (
    select key, version, events, lag(version) over (partition by key order by place) as before from firsts
)
select h.key as offender, 'version ' || h.version || ' was never published' as why
from ledger.actions_history h left join firsts f on f.key = h.key and f.version = h.version
-- Half a minute for the relay; the topic keeps thirty days.
where f.key is null
  -- A claim and a try without an outcome change nothing that anybody is told.
  and h.cause not in ('claimed', 'tried')
  and h.at between clock_timestamp() - interval '29 days' and clock_timestamp() - interval '30 seconds'
union all
select key, 'version ' || version || ' is ' || events || ' events' from ordered where events > 1
union all
select key, 'version ' || version || ' came after ' || before from ordered where before > version
