-- C10: no connection of this database sits in an open transaction, holding its locks
-- needs: ledger
-- over: select count(*) from pg_stat_activity where datname = current_database()
select usename || ' ' || pid as offender, state || ' since ' || state_change as why
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'
  and state_change < clock_timestamp() - interval '30 seconds'
