-- C10: automatic money that is reserved belongs to rows that weren't given back
-- needs: ledger
-- over: select count(*) from ledger.automatic_money
select m.currency || ' ' || m.hour as offender, m.minor || ' reserved' as why
from ledger.automatic_money m
where m.minor <> (select coalesce(sum(a.minor_units), 0) from ledger.actions a where a.currency = m.currency
    and a.reserved_hour = m.hour
    and not exists (select 1 from ledger.actions_history h where h.key = a.key and h.status = 'failed'))
