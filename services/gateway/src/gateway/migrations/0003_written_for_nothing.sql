-- What every message wrote and nothing reads. The order of a conversation's lines stands in `messages_of_conversation`,
-- and the identity hands out each number once; a key goes with its message, which goes with its conversation.
alter table messages drop constraint messages_ordinal_key;
alter table idempotency drop constraint idempotency_conversation_id_fkey;
