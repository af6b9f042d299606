-- C1: an agent refunds a line once, ever; only a person's new try has a further generation
-- needs: ledger
-- over: select count(distinct fact) from ledger.actions where kind = 'refund'
select key as offender, 'generation ' || generation || ' asked by no person' as why
from ledger.actions where kind = 'refund' and generation > 1 and requested_staff is null
