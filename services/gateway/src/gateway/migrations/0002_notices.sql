-- A notice to an old address (SPEC §3): a mail that need not belong to a conversation, and that must not get lost. Its
-- address and text are emptied once it has left.
alter table deliveries
    alter column conversation_id drop not null,
    add column kind text not null default 'answer' check (kind in ('answer', 'notice'));
