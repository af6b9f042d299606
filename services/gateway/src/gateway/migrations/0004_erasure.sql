-- Erasure and export of one customer's data (docs/decisions/0010).

${erasure_tables}

-- What outside sources handed in and was erased: a hook or a topic that hands it in again gets the same answer, and
-- nothing is stored. The hash of hook and source id, since an id may be somebody's address.
create table erased_sources (
    source_hash bytea       primary key check (length(source_hash) = 32),
    at          timestamptz not null default now()
);
-- A notice may belong to no conversation; whose address it carries has to be known all the same.
alter table deliveries add column customer_id text;
create index deliveries_of_customer on deliveries (customer_id) where customer_id is not null;
-- An erasure looks here by the conversation; written once a mail.
create index sources_of_conversation on sources (conversation_id);

grant select, insert, delete on erased_conversations, erased_sources to ${gateway};
grant select, insert on erasures to ${gateway};
