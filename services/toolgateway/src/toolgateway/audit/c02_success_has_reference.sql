-- C2: whatever succeeded names its reference, and no provider refund stands under two rows
-- needs: ledger
-- over: select count(*) from ledger.actions where status = 'succeeded'
select key as offender, 'succeeded without a reference' as why
from ledger.actions where status = 'succeeded' and external_ref is null
union all
select min(key), count(*) || ' rows name ' || external_ref
from ledger.actions where kind = 'refund' and external_ref is not null
group by external_ref having count(*) > 1
