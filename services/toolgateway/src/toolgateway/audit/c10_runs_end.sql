-- C10: no run's claim has ended without somebody taking the run over
-- needs: support
-- over: select count(*) from support.runs
select message_id as offender, 'the run''s claim ended at ' || claim_expires_at as why
from support.runs where status = 'running' and claim_expires_at < clock_timestamp() - interval '2 minutes'
