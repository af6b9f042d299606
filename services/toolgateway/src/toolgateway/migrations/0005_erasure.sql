-- Erasure and export of one customer's data (docs/decisions/0010). What a booking needs stays: key, kind, order, line,
-- amount, currency, status, reference, who decided, times, digests. What a person is known by goes. Only the tables'
-- owner can do it, in one function that the service may call and nothing else; every guard still binds the service.

${erasure_tables}

-- Names are resolved in the catalog first: a login's own temporary table must not answer in its place.
create function by_owner(relation oid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
    select pg_catalog.pg_get_userbyid(c.relowner) = current_user from pg_catalog.pg_class c where c.oid = relation
$$;

-- As before, and one thing more: an erasure changes no version, no status and nothing of the money.
create or replace function guard_action() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if new.version = old.version and ledger.by_owner(tg_relid) then
        if (new.key, new.fact, new.n, new.generation, new.kind, new.order_id, new.line_id, new.amount, new.currency,
            new.minor_units, new.status, new.verdict, new.policy_version, new.approved_by, new.external_ref,
            new.attempts, new.created_at, new.updated_at, new.digest, new.approved_digest, new.decided_by,
            new.decided_at, new.reserved_hour)
           is distinct from
           (old.key, old.fact, old.n, old.generation, old.kind, old.order_id, old.line_id, old.amount, old.currency,
            old.minor_units, old.status, old.verdict, old.policy_version, old.approved_by, old.external_ref,
            old.attempts, old.created_at, old.updated_at, old.digest, old.approved_digest, old.decided_by,
            old.decided_at, old.reserved_hour) then
            raise exception 'erasing may not change what row % books', old.key using errcode = 'check_violation';
        end if;
        return new;
    end if;
    if (new.key, new.fact, new.n, new.generation, new.kind, new.customer_id, new.order_id, new.line_id, new.amount,
        new.currency, new.minor_units, new.args, new.request, new.created_at, new.requested_staff)
       is distinct from
       (old.key, old.fact, old.n, old.generation, old.kind, old.customer_id, old.order_id, old.line_id, old.amount,
        old.currency, old.minor_units, old.args, old.request, old.created_at, old.requested_staff) then
        raise exception 'ledger row % may not change what it asks for', old.key using errcode = 'check_violation';
    end if;
    if new.version <> old.version + 1 then
        raise exception 'ledger row % must rise by one version', old.key using errcode = 'check_violation';
    end if;
    if not exists (select 1 from ledger.legal_moves where from_status = old.status and to_status = new.status) then
        raise exception 'ledger row % may not go from % to %', old.key, old.status, new.status
            using errcode = 'check_violation';
    end if;
    new.updated_at := clock_timestamp();
    return new;
end $$;

-- An erasure is no change of what the row says: the history has nothing to tell of it.
create or replace function write_history() returns trigger
language plpgsql security definer set search_path = ledger, pg_temp as $$
begin
    if tg_op = 'UPDATE' and new.version = old.version then
        return null;
    end if;
    insert into actions_history (key, version, status, previous_status, cause, attempts, verdict, policy_version,
        policy_reason, amount, currency, approved_by, external_ref, digest, last_error)
    values (new.key, new.version, new.status, case when tg_op = 'UPDATE' then old.status end, new.cause, new.attempts,
        new.verdict, new.policy_version, new.policy_reason, new.amount, new.currency, new.approved_by,
        new.external_ref, new.digest, new.last_error);
    return null;
end $$;

-- History and audit stay append-only for every login; an update by their owner is an erasure's.
create function refuse_but_erasing() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if tg_op = 'UPDATE' and ledger.by_owner(tg_relid) then
        return null;
    end if;
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
drop trigger audit_keep on audit;
create trigger audit_keep before update or delete or truncate on audit
    for each statement execute function refuse_but_erasing();
drop trigger history_keep on actions_history;
create trigger history_keep before update or delete or truncate on actions_history
    for each statement execute function refuse_but_erasing();

-- A closed task stays as it is for every login; closing one is as before.
create function keep_closed_task() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if ledger.by_owner(tg_relid) then
        return new;
    end if;
    raise exception 'task % is closed already', old.id using errcode = 'check_violation';
end $$;
drop trigger tasks_close on tasks;
create trigger tasks_close before update on tasks for each row when (old.closed_at is null)
    execute function close_task();
create trigger tasks_keep_closed before update on tasks for each row when (old.closed_at is not null)
    execute function keep_closed_task();

-- A tool call that was under way when its conversation was erased writes nothing of it any more.
create function keep_erased() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if new.conversation_id is null
       or not exists (select 1 from ledger.erased_conversations where conversation_id = new.conversation_id) then
        return new;
    end if;
    if tg_table_name = 'audit' then
        return null;
    end if;
    raise exception 'the conversation was erased' using errcode = 'no_data_found';
end $$;
create trigger actions_keep_erased before insert on actions for each row execute function keep_erased();
create trigger audit_keep_erased before insert on audit for each row execute function keep_erased();

-- What is a code stays, what may be somebody's words goes.
create function code_only(said text) returns text language sql immutable as $$
    select case when said is null or said ~ '^[a-z0-9_]{1,60}$' then said else 'erased' end
$$;

-- Erase what the ledger holds of a customer, in the caller's transaction, under the locks that writes take. Their id
-- stays where a rule counts by it: in rows of the last `window_days`, and where it is part of a numbered key. Refused
-- while a row is open. `conversations` and `subjects` (keys, references, orders) are names found for them before; what
-- is another customer's is left out, whoever calls. Records itself in `erasures`: no call goes without a trace.
create function erase_customer(
    customer text, conversations text[], subjects text[], pseudonym text, window_days integer
) returns jsonb language plpgsql security definer set search_path = ledger, pg_temp as $$
declare
    erased_actions integer; erased_history integer; erased_audit integer; erased_tasks integer; dropped integer;
    counts jsonb;
    -- No caller makes the time shorter that a limit counts over.
    kept_days constant integer := greatest(coalesce(window_days, 30), 30);
begin
    if pseudonym is null or pseudonym !~ '^erased-[0-9a-f]{16}$' then
        raise exception 'a pseudonym is erased- and 16 hexadecimal digits' using errcode = 'invalid_parameter_value';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('customer:' || customer, 0));
    if exists (select 1 from actions where customer_id = customer and status in ('pending', 'awaiting_approval')) then
        raise exception 'a row is open' using errcode = 'object_in_use';
    end if;
    conversations := array(
        select known.id from unnest(conversations) as known(id)
         where not exists (select 1 from actions where conversation_id = known.id and customer_id <> customer)
           and not exists (select 1 from audit where conversation_id = known.id and customer_id <> customer));
    subjects := array(
        select unnest(subjects)
        intersect (
            select own.name from actions a, unnest(array[a.key, a.external_ref, a.order_id]) as own(name)
             where a.customer_id = customer
            union all
            -- They asked about an order and got no row: theirs unless somebody else has one.
            select u.order_id from audit u where u.customer_id = customer
               and not exists (select 1 from actions where order_id = u.order_id and customer_id <> customer)));
    delete from old_addresses o using actions a where a.key = o.key and a.customer_id = customer;
    get diagnostics dropped = row_count;
    update actions_history h set last_error = code_only(h.last_error) from actions a
     where a.key = h.key and a.customer_id = customer and h.last_error is distinct from code_only(h.last_error);
    get diagnostics erased_history = row_count;
    update audit u set customer_id = case when u.customer_id is null then null else pseudonym end,
           conversation_id = null, reason = case when u.what = 'task' then 'erased' else code_only(u.reason) end,
           details = (select coalesce(jsonb_object_agg(k, v), '{}') from jsonb_each(u.details) as d(k, v)
                       where k in ('key', 'version', 'decision', 'event', 'task', 'about', 'opened_for', 'login')
                         -- The key of an account change holds the id.
                         and not (k in ('key', 'about') and starts_with(v #>> '{}', 'account_change:')))
     where u.customer_id = customer
        or (u.customer_id is null and (u.conversation_id = any(conversations)
            or (u.what = 'task' and u.reason <> 'erased' and exists (
                select 1 from tasks t where t.id::text = u.details ->> 'task'
                   and (t.about = any(subjects) or t.details ->> 'order_id' = any(subjects))))));
    get diagnostics erased_audit = row_count;
    update tasks t set details = '{}', closed_why = 'erased'
     where (t.about = any(subjects) or t.details ->> 'order_id' = any(subjects))
       and t.closed_at is not null and (t.closed_why <> 'erased' or t.details <> '{}');
    get diagnostics erased_tasks = row_count;
    with kept as (
        select a.key, code_only(a.last_error) as last_error,
               case when a.kind = 'refund' then a.args else a.args - '{address,value,reason}'::text[] end as args,
               case when a.kind = 'refund' then a.request else '{}' end as request,
               (select coalesce(jsonb_object_agg(k, v), '{}') from jsonb_each(a.facts) as f(k, v)
                 where k in ('refunds_in_window', 'sum_in_window', 'order_rest', 'guard', 'intent_confidence',
                             'stepped_up', 'rebuilt_from')) as facts,
               case when a.kind = 'account_change'
                      or a.created_at > clock_timestamp() - make_interval(days => kept_days)
                    then a.customer_id else pseudonym end as customer_id
          from actions a where a.customer_id = customer
    )
    update actions a set args = k.args, request = k.request, facts = k.facts, context = '{}', conversation_id = null,
           decided_note = null, last_error = k.last_error, customer_id = k.customer_id
      from kept k
     where a.key = k.key
       and (a.args, a.request, a.facts, a.context, a.conversation_id, a.decided_note, a.last_error, a.customer_id)
           is distinct from (k.args, k.request, k.facts, '{}'::jsonb, null, null, k.last_error, k.customer_id);
    get diagnostics erased_actions = row_count;
    counts := jsonb_build_object('actions', erased_actions, 'actions_history', erased_history, 'audit', erased_audit,
                              'tasks', erased_tasks, 'old_addresses', dropped);
    insert into erasures (pseudonym, counts) values (pseudonym, counts);
    return counts;
end $$;
revoke execute on function erase_customer(text, text[], text[], text, integer) from public;
grant execute on function erase_customer(text, text[], text[], text, integer) to ${ledger};
grant select, insert, delete on erased_conversations to ${ledger};
grant select on erasures to ${ledger};

-- An erasure looks here by the customer, who is in no other index of it.
create index audit_by_customer on audit (customer_id) where customer_id is not null;
