-- The action ledger. One row per business fact; the database itself refuses an illegal move, a changed amount and a
-- rewritten past, so that no bug above it can do those either.

create table legal_moves (
    from_status text not null,
    to_status   text not null,
    primary key (from_status, to_status)
);
-- The same table as core/transitions.py; a test compares the two.
insert into legal_moves (from_status, to_status) values
    ('awaiting_approval', 'awaiting_approval'),
    ('awaiting_approval', 'pending'),
    ('awaiting_approval', 'rejected'),
    ('pending', 'pending'),
    ('pending', 'succeeded'),
    ('pending', 'failed'),
    ('succeeded', 'failed'),
    ('failed', 'succeeded');

create table actions (
    key               text primary key check (octet_length(key) between 1 and 255),
    fact              text not null,
    n                 integer not null default 1 check (n >= 1),
    generation        integer not null default 1 check (generation >= 1),
    kind              text not null
                      check (kind in ('refund', 'cancel', 'address_change', 'return_label', 'account_change')),
    customer_id       text not null check (customer_id <> ''),
    conversation_id   text,
    order_id          text,
    line_id           text,
    amount            numeric check (amount is null or (amount > 0 and amount <> 'NaN' and amount < 'Infinity')),
    currency          text check (currency ~ '^[A-Z]{3}$'),
    minor_units       bigint check (minor_units is null or minor_units > 0),
    args              jsonb not null,
    -- The request exactly as the provider gets it: a retry sends these bytes and no others.
    request           text not null,
    status            text not null
                      check (status in ('pending', 'awaiting_approval', 'succeeded', 'rejected', 'failed')),
    verdict           text not null check (verdict in ('auto', 'approval', 'staff')),
    policy_version    text not null,
    policy_reason     text not null,
    approved_by       text,
    external_ref      text,
    attempts          integer not null default 0 check (attempts >= 0),
    created_at        timestamptz not null default clock_timestamp(),
    updated_at        timestamptz not null default clock_timestamp(),
    -- Rises with every change and is the fencing number of whoever holds a claim.
    version           integer not null default 1 check (version >= 1),
    cause             text not null,
    requested_by      text not null,
    requested_staff   text,
    facts             jsonb not null,
    digest            text not null,
    context           jsonb not null default '{}',
    leads_only        boolean not null default false,
    expires_at        timestamptz,
    approved_digest   text,
    decided_by        text,
    decided_at        timestamptz,
    decided_note      text,
    claim_until       timestamptz,
    first_tried_at    timestamptz,
    last_error        text,
    same_errors       integer not null default 0,
    same_error_since  timestamptz,
    -- The hour whose budget of automatic money this row holds.
    reserved_hour     timestamptz,
    unique (fact, n, generation),
    check ((amount is null) = (minor_units is null)),
    check (amount is null or currency is not null),
    check (kind <> 'refund' or (amount is not null and order_id is not null and line_id is not null)),
    check (kind = 'account_change' or order_id is not null),
    check (status <> 'awaiting_approval' or expires_at is not null),
    constraint a_paid_refund_names_its_reference
        check (status <> 'succeeded' or kind <> 'refund' or external_ref is not null),
    check (verdict <> 'approval' or status not in ('pending', 'succeeded') or approved_by is not null),
    check (approved_by is null or requested_staff is null or verdict = 'staff' or approved_by <> requested_staff)
);
create unique index actions_one_row_per_provider_refund on actions (external_ref)
    where kind = 'refund' and external_ref is not null;
create index actions_by_order on actions (order_id);
create index actions_by_customer on actions (customer_id, created_at) where kind = 'refund';
create index actions_by_conversation on actions (conversation_id, created_at);
create index actions_open on actions (status, updated_at) where status in ('pending', 'awaiting_approval');

create table actions_history (
    seq             bigint generated always as identity,
    key             text not null,
    version         integer not null,
    status          text not null,
    previous_status text,
    cause           text not null,
    attempts        integer not null,
    verdict         text not null,
    policy_version  text not null,
    policy_reason   text not null,
    amount          numeric,
    currency        text,
    approved_by     text,
    external_ref    text,
    digest          text,
    last_error      text,
    at              timestamptz not null default clock_timestamp(),
    primary key (seq, at)
) partition by range (at);
create index actions_history_by_key on actions_history (key, version);
-- The net under a forgotten month; the checks of `prepare_history` keep it empty.
create table actions_history_rest partition of actions_history default;

create function prepare_history(months integer) returns integer
language plpgsql security definer set search_path = ledger, pg_temp as $$
declare
    first date := date_trunc('month', now());
    made integer := 0;
begin
    perform pg_advisory_xact_lock(hashtext('ledger.prepare_history'));
    for i in 0..least(months, 24) loop
        if to_regclass('ledger.actions_history_' || to_char(first + make_interval(months => i), 'YYYYMM')) is null then
            execute format(
                'create table ledger.actions_history_%s partition of ledger.actions_history for values from (%L) to (%L)',
                to_char(first + make_interval(months => i), 'YYYYMM'),
                first + make_interval(months => i), first + make_interval(months => i + 1));
            made := made + 1;
        end if;
    end loop;
    return made;
end $$;
select prepare_history(12);

create function write_history() returns trigger
language plpgsql security definer set search_path = ledger, pg_temp as $$
begin
    insert into actions_history (key, version, status, previous_status, cause, attempts, verdict, policy_version,
        policy_reason, amount, currency, approved_by, external_ref, digest, last_error)
    values (new.key, new.version, new.status, case when tg_op = 'UPDATE' then old.status end, new.cause, new.attempts,
        new.verdict, new.policy_version, new.policy_reason, new.amount, new.currency, new.approved_by,
        new.external_ref, new.digest, new.last_error);
    return null;
end $$;
create trigger actions_write_history after insert or update on actions
    for each row execute function write_history();

create function guard_action() returns trigger language plpgsql as $$
begin
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
create trigger actions_guard before update on actions for each row execute function guard_action();

create function refuse() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end $$;
create trigger actions_keep before delete or truncate on actions execute function refuse();
create trigger history_keep before update or delete or truncate on actions_history
    for each statement execute function refuse();

-- What was decided without a row (deny, handoff, a blocked call) and what people and operators did.
create table audit (
    id              bigint generated always as identity primary key,
    at              timestamptz not null default clock_timestamp(),
    what            text not null,
    who             text not null,
    customer_id     text,
    conversation_id text,
    order_id        text,
    verdict         text,
    reason          text,
    policy_version  text,
    details         jsonb not null default '{}'
);
create index audit_by_conversation on audit (conversation_id, at);
create trigger audit_keep before update or delete or truncate on audit for each statement execute function refuse();

-- What only a person can finish: outcomes nobody can know, money that matches nothing, disputes.
create table tasks (
    id        bigint generated always as identity primary key,
    opened_at timestamptz not null default clock_timestamp(),
    about     text not null,
    reason    text not null,
    details   jsonb not null default '{}',
    closed_at timestamptz,
    closed_by text,
    check ((closed_at is null) = (closed_by is null))
);
create unique index tasks_one_open on tasks (about, reason) where closed_at is null;

-- Automatic money by currency and hour: the increment is the decision (R6), a failed row gives its share back.
create table automatic_money (
    currency text not null check (currency ~ '^[A-Z]{3}$'),
    hour     timestamptz not null,
    minor    bigint not null check (minor >= 0),
    primary key (currency, hour)
);

-- The operator's switch; read in every deciding transaction.
create table controls (
    only_row   boolean primary key default true check (only_row),
    mode       text not null default 'on' check (mode in ('on', 'approval', 'stop')),
    -- {"USD": {"hour": "…", "day": "…"}}: overrides of the policy file's ceilings.
    ceilings   jsonb not null default '{}',
    changed_by text not null default 'migration',
    changed_at timestamptz not null default now()
);
insert into controls default values;

${outbox_tables}

grant select on all tables in schema ledger to ${ledger};
grant insert, update on actions to ${ledger};
grant insert on audit to ${ledger};
grant insert on tasks to ${ledger};
grant update (closed_at, closed_by) on tasks to ${ledger};
grant insert, update on automatic_money to ${ledger};
grant update on controls to ${ledger};
grant insert, update, delete on outbox to ${ledger};
grant insert, delete on inbox to ${ledger};
grant usage on all sequences in schema ledger to ${ledger};
grant execute on function prepare_history(integer) to ${ledger};
revoke execute on function prepare_history(integer) from public;
grant select on actions, outbox to ${reconciler};
