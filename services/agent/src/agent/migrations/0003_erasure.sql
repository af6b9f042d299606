-- Erasure and export of one customer's data (docs/decisions/0010).

${erasure_tables}

-- A message of an erased conversation that comes late, from a topic or a replayed dead letter, opens nothing again.
create function keep_erased() returns trigger language plpgsql as $$
begin
    if exists (select 1 from support.erased_conversations where conversation_id = new.id) then
        return null;
    end if;
    return new;
end $$;
create trigger conversations_keep_erased before insert on conversations for each row execute function keep_erased();

grant select, insert, delete on erased_conversations to ${support};
grant select, insert on erasures to ${support};
