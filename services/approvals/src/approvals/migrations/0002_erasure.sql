-- Erasure and export of one customer's data (docs/decisions/0010).

${erasure_tables}

-- Whose request it is, to find it by; those from before are looked up where the ledger stands beside us.
alter table requests add column customer_id text;
create index requests_of_customer on requests (customer_id) where customer_id is not null;
create index handoffs_of_customer on handoffs (customer_id) where customer_id is not null;
do $$
begin
    if to_regclass('ledger.actions') is not null then
        update requests r set customer_id = a.customer_id from ledger.actions a where a.key = r.key;
    end if;
end $$;

-- A handoff of an erased conversation that comes late is not queued.
create function keep_erased() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if exists (select 1 from approvals.erased_conversations where conversation_id = new.conversation_id) then
        return null;
    end if;
    return new;
end $$;
create trigger handoffs_keep_erased before insert on handoffs for each row execute function keep_erased();

grant select, insert, delete on erased_conversations to ${approvals};
grant select, insert on erasures to ${approvals};
grant delete on handoffs, staff_messages to ${approvals};
