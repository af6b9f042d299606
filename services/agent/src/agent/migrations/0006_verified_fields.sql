-- What the newest session statement of a conversation lists as proved: a handoff packet says it, whatever opens the
-- handoff and whoever answered before. Null: nobody signed in here yet.
alter table conversations add column verified_fields text[];
