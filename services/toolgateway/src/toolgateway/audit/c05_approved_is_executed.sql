-- C5: what needed approval ran as the digest that was shown, decided before it ran
-- needs: ledger
-- over: select count(*) from ledger.actions where verdict = 'approval' and status in ('pending', 'succeeded')
select a.key as offender, case
    when a.approved_by is null or a.decided_at is null then 'ran undecided'
    when a.approved_digest is distinct from shown.digest then 'another digest was shown'
    else 'ran before it was decided' end as why
from ledger.actions a
left join lateral (select h.digest from ledger.actions_history h
    where h.key = a.key and h.status = 'awaiting_approval' order by h.version desc limit 1) shown on true
where a.verdict = 'approval' and a.status in ('pending', 'succeeded')
  and (a.approved_by is null or a.decided_at is null or a.approved_digest is distinct from shown.digest
       or a.decided_at > (select min(h.at) from ledger.actions_history h where h.key = a.key and h.status = 'succeeded'))
