-- What staff see and do. The ledger's rows live with the toolgateway and conversations with the agent service;
-- here are the staff, the queue of handoffs, and what people answered.

${outbox_tables}

create table staff (
    staff      text primary key check (staff <> ''),
    role       text not null check (role in ('viewer', 'approver', 'lead')),
    ceiling    numeric check (ceiling is null or (ceiling >= 0 and ceiling <> 'NaN')),
    active     boolean not null default true,
    seen_at    timestamptz not null default now()
);

create table requests (
    key          text primary key,
    version      integer not null,
    digest       text not null,
    order_facts  jsonb not null,
    queue        text not null,
    requested_by text,
    requested_at timestamptz not null,
    expires_at   timestamptz not null
);

create table handoffs (
    id              text primary key,
    conversation_id text not null,
    customer_id     text,
    channel         text not null,
    thread_ref      text,
    language        text not null,
    owner_version   integer not null,
    reason          text not null,
    priority        text not null check (priority in ('standard', 'high', 'critical')),
    queue           text not null,
    status          text not null default 'waiting' check (status in ('waiting', 'claimed', 'returned', 'closed')),
    owner           text,
    lease_until     timestamptz,
    packet          jsonb not null,
    opened_at       timestamptz not null,
    updated_at      timestamptz not null default now(),
    check ((status = 'claimed') = (owner is not null) or status in ('returned', 'closed'))
);
create index handoffs_open on handoffs (status, opened_at);
create index handoffs_of_conversation on handoffs (conversation_id);

create table takeovers (
    conversation_id text primary key,
    staff           text not null,
    at              timestamptz not null default now()
);

create table staff_messages (
    message_id      text primary key,
    handoff_id      text not null references handoffs (id),
    conversation_id text not null,
    staff           text not null,
    text            text not null,
    sent_at         timestamptz not null default now()
);

grant select, insert, update, delete on outbox, inbox, takeovers to ${approvals};
grant select, insert, update on staff, requests, handoffs to ${approvals};
grant select, insert on staff_messages to ${approvals};
grant select on outbox to ${reconciler};
