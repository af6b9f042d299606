-- Conversations, the runs that answer their messages, and the people they are handed to.

create table conversations (
    id            text primary key,
    customer_id   text,
    status        text        not null default 'active'
                  check (status in ('active', 'waiting_approval', 'with_person', 'closed')),
    channel       text        not null check (channel in ('chat', 'email', 'whatsapp', 'voice')),
    language      text        not null check (language in ('en', 'es', 'fr', 'de')),
    locale        text,
    thread_ref    text,
    -- 'agent', 'people' while a handoff waits for somebody, else the staff name.
    owner         text        not null default 'agent' check (owner <> ''),
    owner_version integer     not null default 1 check (owner_version >= 1),
    run_state     jsonb       not null default '{}',
    version       bigint      not null default 1 check (version >= 1),
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    -- The agent may speak exactly while it owns the conversation (RELIABILITY R14).
    constraint owner_matches_status check ((status = 'with_person') = (owner <> 'agent'))
);
create index conversations_by_customer on conversations (customer_id, updated_at desc);

create table messages (
    id              bigint generated always as identity primary key,
    conversation_id text        not null references conversations (id) on delete cascade,
    message_id      text        not null,
    sender          text        not null check (sender in ('customer', 'agent', 'staff', 'system')),
    text            text        not null,
    at              timestamptz not null default now(),
    unique (message_id, sender)
);
create index messages_by_conversation on messages (conversation_id, id);

create table runs (
    message_id       text primary key,
    conversation_id  text        not null references conversations (id) on delete cascade,
    seq              integer     not null check (seq >= 1),
    route            text        not null check (route in ('fixed', 'rag', 'agent', 'human')),
    -- 0 is a live channel, 1 email, which waits when there is too much (SPEC §13).
    urgency          smallint    not null default 0,
    status           text        not null check (status in ('queued', 'running', 'done')),
    work             jsonb,
    claimed_by       text,
    claim_expires_at timestamptz,
    -- The fencing number: it rises with every claim, and every write of a run names the one it holds (R7).
    version          bigint      not null default 0,
    attempts         integer     not null default 0,
    outcome          text,
    prompt_version   text,
    created_at       timestamptz not null default now(),
    finished_at      timestamptz,
    constraint running_is_claimed check ((status = 'running') = (claimed_by is not null)),
    constraint unfinished_has_work check (status = 'done' or work is not null)
);
create index runs_unfinished on runs (route, urgency, created_at) where status <> 'done';
create index runs_by_conversation on runs (conversation_id, seq);

create table handoffs (
    id              text primary key,
    conversation_id text        not null references conversations (id) on delete cascade,
    reason          text        not null check (reason in ('asked', 'sensitive', 'budget', 'policy', 'stuck', 'upset', 'long')),
    priority        text        not null check (priority in ('standard', 'high', 'critical')),
    queue           text        not null
                    check (queue in ('general', 'billing', 'legal', 'security', 'safety', 'leads', 'vip')),
    packet          jsonb       not null,
    owner_version   integer     not null,
    summary         text        not null default 'wanted' check (summary in ('wanted', 'written', 'given_up')),
    summary_tries   integer     not null default 0,
    summary_at      timestamptz not null default now(),
    opened_at       timestamptz not null default now()
);
create index handoffs_by_conversation on handoffs (conversation_id, opened_at);
create index handoffs_without_summary on handoffs (summary_at) where summary = 'wanted';

${outbox_tables}
grant select, insert, update, delete on all tables in schema support to ${support};
grant usage on all sequences in schema support to ${support};
grant select on outbox to ${reconciler};
