-- C5: whoever approved is on the staff list, may decide that much, and isn't who asked (a later demotion shows here too)
-- needs: ledger, approvals, limits
-- over: select count(*) from ledger.actions where verdict = 'approval' and approved_by is not null
select a.key as offender, coalesce(s.role, 'nobody') || ' ' || a.approved_by || ' may not decide this' as why
from ledger.actions a left join approvals.staff s on s.staff = a.approved_by
left join currency_limits c on c.currency = a.currency
where a.verdict = 'approval' and a.approved_by is not null
  and (s.staff is null or s.role = 'viewer' or a.approved_by = a.requested_staff
       or (s.role = 'approver' and (a.leads_only or (a.amount is not null and a.amount
           -- A ceiling is in the first currency's units and scales by the handoff limits (SPEC §6).
           > coalesce(s.ceiling * c.handoff / (select handoff from currency_limits where currency = 'USD'), c.handoff, 0)))))
