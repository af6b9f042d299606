-- History leaves by whole months after seven years. Only the tables' owner can do it: the migrator's login, which no
-- service has. The age is checked here, so that a wrong date on a command line can't reach younger months.

create function drop_old_history(before date) returns setof text
language plpgsql set search_path = ledger, pg_temp as $$
declare
    part record;
begin
    if before > (current_date - interval '7 years')::date then
        raise exception 'history is kept for seven years' using errcode = 'check_violation';
    end if;
    for part in
        select c.relname as name, to_date(substring(c.relname from '_([0-9]{6})$'), 'YYYYMM') as month
        from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'ledger.actions_history'::regclass and c.relname ~ '^actions_history_[0-9]{6}$'
        order by c.relname
    loop
        if (part.month + interval '1 month')::date <= before then
            execute format('drop table ledger.%I', part.name);
            insert into ledger.audit (what, who, reason, details)
            values ('retention', session_user, 'seven_years', jsonb_build_object('dropped', part.name));
            return next part.name;
        end if;
    end loop;
end $$;
revoke execute on function drop_old_history(date) from public;
