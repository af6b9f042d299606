-- The kill switch is thrown and lifted by an operator's own login. The service that obeys it can read it and nothing else,
-- so that no bug or break-in there lifts what a person has set (SPEC §15).
grant usage on schema ledger to ${operator};
grant select, update on controls to ${operator};
revoke update on controls from ${ledger};

-- Whoever changes the controls, by whatever program, leaves an entry.
create function audit_controls() returns trigger
language plpgsql security definer set search_path = ledger, pg_temp as $$
begin
    new.changed_at := clock_timestamp();
    insert into audit (what, who, reason, details)
    values ('switch', new.changed_by, case when new.ceilings <> old.ceilings then 'ceilings' else new.mode end,
            jsonb_build_object('login', session_user, 'mode', new.mode, 'before', old.mode, 'ceilings', new.ceilings));
    return new;
end $$;
create trigger controls_audited before update on controls for each row execute function audit_controls();
create trigger controls_keep before delete or truncate on controls for each statement execute function refuse();

-- A task is closed once, by somebody, for a reason; both stay.
alter table tasks
    add column closed_why text,
    -- Not for what somebody closed by hand before there was a place for why.
    add constraint a_closed_task_says_why
        check ((closed_at is null) = (closed_why is null) and closed_why is distinct from '') not valid;
create index tasks_open on tasks (opened_at) where closed_at is null;
create function close_task() returns trigger
language plpgsql security definer set search_path = ledger, pg_temp as $$
begin
    if old.closed_at is not null then
        raise exception 'task % is closed already', old.id using errcode = 'check_violation';
    end if;
    insert into audit (what, who, reason, details)
    values ('task', new.closed_by, new.closed_why,
            jsonb_build_object('task', new.id, 'about', new.about, 'opened_for', new.reason, 'login', session_user));
    return new;
end $$;
create trigger tasks_close before update on tasks for each row execute function close_task();
grant update (closed_why) on tasks to ${ledger};
grant select on tasks to ${operator};
grant update (closed_at, closed_by, closed_why) on tasks to ${operator};

-- When the books were last compared, so that several who ask for it have it done once a day.
create table comparisons (
    id         bigint generated always as identity primary key,
    started_at timestamptz not null default clock_timestamp(),
    ended_at   timestamptz,
    strays     integer check (strays >= 0),
    check ((ended_at is null) = (strays is null))
);
create index comparisons_by_start on comparisons (started_at desc);
grant select, insert on comparisons to ${ledger};
grant update (ended_at, strays) on comparisons to ${ledger};
grant select on comparisons to ${operator};
