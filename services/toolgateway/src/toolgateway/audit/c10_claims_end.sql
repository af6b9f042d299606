-- C10: no claim on a ledger row outlives its work
-- needs: ledger
-- over: select count(*) from ledger.actions
select key as offender, 'claimed though ' || status as why
from ledger.actions where claim_until is not null and status <> 'pending'
