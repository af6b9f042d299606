-- When a quiet conversation was asked whether it was solved, and the index that finds quiet ones.
alter table conversations add column asked_solved_at timestamptz;
create index conversations_active on conversations (updated_at) where status = 'active';
