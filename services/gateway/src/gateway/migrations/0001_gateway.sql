-- Conversations, messages and their event streams: the gateway's own truth (SPEC §1, §3).

create table conversations (
    id               text        primary key check (id ~ '^[A-Za-z0-9_.:-]{1,100}$'),
    -- Who may read it: a customer id, or "visitor:<id>"; one column so that a look-up can't forget the check.
    owner            text        not null check (owner <> ''),
    customer_id      text,
    channel          text        not null check (channel in ('chat', 'email', 'whatsapp', 'voice')),
    locale           text,
    status           text        not null default 'active'
                                 check (status in ('active', 'waiting_approval', 'with_person', 'closed')),
    owner_version    bigint      not null default 0 check (owner_version >= 0),
    open_agent_turn  boolean     not null default false,
    last_seq         integer     not null default 0 check (last_seq >= 0),
    last_position    bigint      not null default 0 check (last_position >= 0),
    -- Until when the session behind it may be renewed, and until when a one-time code counts as step-up.
    session_until    timestamptz,
    step_up_until    timestamptz,
    opened_at        timestamptz not null default now(),
    last_message_at  timestamptz not null default now(),
    check (customer_id is null or owner = customer_id)
);
create index conversations_active on conversations (customer_id, last_message_at desc)
    where customer_id is not null and status <> 'closed';

create table messages (
    id                text        primary key,
    conversation_id   text        not null references conversations (id) on delete cascade,
    channel           text        not null check (channel in ('chat', 'email', 'whatsapp', 'voice')),
    source_message_id text,
    direction         text        not null check (direction in ('inbound', 'outbound')),
    author            text        not null check (author in ('customer', 'agent', 'staff', 'system')),
    text              text        not null,
    seq               integer     check (seq > 0),
    reply_to          text,
    thread_ref        text,
    -- A message held back until its sender confirms a one-time code has no seq yet.
    held              boolean     not null default false,
    ordinal           bigint      generated always as identity unique,
    created_at        timestamptz not null default now(),
    check ((direction = 'inbound') = (author = 'customer')),
    check (not held or direction = 'inbound'),
    unique (conversation_id, seq)
);
create index messages_of_conversation on messages (conversation_id, ordinal);
create index messages_held on messages (conversation_id, ordinal) where held;

create table idempotency (
    owner           text        not null,
    conversation_id text        not null references conversations (id) on delete cascade,
    key             text        not null check (length(key) between 1 and 255),
    body_hash       bytea       not null check (length(body_hash) = 32),
    message_id      text        not null references messages (id) on delete cascade,
    created_at      timestamptz not null default now(),
    primary key (owner, conversation_id, key)
);

create table events (
    message_id      text        not null,
    seq             bigint      not null check (seq > 0),
    conversation_id text        not null references conversations (id) on delete cascade,
    position        bigint      not null check (position > 0),
    event           text        not null check (event in ('status', 'action', 'token', 'done')),
    data            json        not null,
    writer          text        not null check (writer in ('agent', 'toolgateway', 'approvals', 'gateway')),
    owner_version   bigint      not null,
    created_at      timestamptz not null default now(),
    primary key (message_id, seq),
    unique (conversation_id, position)
);
create unique index events_one_done on events (message_id) where event = 'done';

-- A thread is one sender on one channel; what it proved by a one-time code stays proved for a while.
create table threads (
    channel         text        not null check (channel in ('email', 'whatsapp', 'voice')),
    thread_ref      text        not null,
    identity        text        not null,
    conversation_id text        not null references conversations (id) on delete cascade,
    customer_id     text,
    verified_by     text        check (verified_by in ('otp', 'login', 'whatsapp_hook')),
    verified_until  timestamptz,
    subject         text,
    created_at      timestamptz not null default now(),
    primary key (channel, thread_ref, identity),
    check ((verified_by is null) = (verified_until is null))
);
create index threads_of_conversation on threads (conversation_id, channel);
create index threads_of_identity on threads (channel, identity, created_at desc);

-- What an outside source already handed in; kept as long as the message it became.
create table sources (
    hook            text        not null,
    source_id       text        not null,
    message_id      text        not null references messages (id) on delete cascade,
    conversation_id text        not null,
    created_at      timestamptz not null default now(),
    primary key (hook, source_id)
);
create index sources_of_message on sources (message_id);

-- A code's digits exist only in the mail that carried them: the row is asked for first and hashed when it is sent.
create table codes (
    id              text        primary key,
    customer_id     text        not null,
    bucket          text        not null,
    conversation_id text        not null references conversations (id) on delete cascade,
    purpose         text        not null,
    code_hash       bytea,
    requested_at    timestamptz not null default now(),
    sent_at         timestamptz,
    expires_at      timestamptz not null,
    consumed_at     timestamptz,
    attempts        integer     not null default 0 check (attempts >= 0),
    next_attempt_at timestamptz not null default now(),
    failed          boolean     not null default false,
    check ((sent_at is null) or (code_hash is not null))
);
create index codes_of_conversation on codes (conversation_id, requested_at desc);
create index codes_of_bucket on codes (bucket, requested_at desc);
create index codes_to_send on codes (next_attempt_at) where sent_at is null and not failed;

create table code_tries (
    id       bigint      generated always as identity primary key,
    bucket   text        not null,
    tried_at timestamptz not null default now()
);
create index code_tries_of_bucket on code_tries (bucket, tried_at);

-- Mail leaves at most once: a row is marked before the call, and an unknown outcome is never sent again.
create table deliveries (
    id              text        primary key,
    conversation_id text        not null references conversations (id) on delete cascade,
    channel         text        not null check (channel in ('email', 'whatsapp', 'voice')),
    address         text        not null,
    subject         text        not null default '',
    text            text        not null,
    state           text        not null default 'waiting' check (state in ('waiting', 'sending', 'sent', 'unknown', 'failed')),
    attempts        integer     not null default 0 check (attempts >= 0),
    next_attempt_at timestamptz not null default now(),
    sending_at      timestamptz,
    sent_at         timestamptz,
    created_at      timestamptz not null default now(),
    check ((state = 'sent') = (sent_at is not null))
);
create index deliveries_waiting on deliveries (next_attempt_at) where state = 'waiting';
create index deliveries_sending on deliveries (sending_at) where state = 'sending';

${outbox_tables}

grant select, insert, update, delete on all tables in schema gateway to ${gateway};
grant usage on all sequences in schema gateway to ${gateway};
revoke all on schema_migrations from ${gateway};
-- The reconciler only looks for what lies unpublished too long.
grant select on outbox to ${reconciler};
