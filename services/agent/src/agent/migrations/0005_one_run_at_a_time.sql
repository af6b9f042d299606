-- One worker at a time in a conversation, whatever order its messages reach the deployments in. Where two were at work
-- the later message goes back to the queue; its worker finds its claim gone. The lock keeps claims out between the
-- repair and the index, which fails on a pair that began meanwhile; reading goes on.
lock table runs in share row exclusive mode;
update runs late set status = 'queued', claimed_by = null, claim_expires_at = null, version = version + 1
where late.status = 'running' and exists (
    select 1 from runs early
    where early.conversation_id = late.conversation_id and early.status = 'running'
      and (early.seq, early.message_id) < (late.seq, late.message_id));
create unique index runs_one_at_work on runs (conversation_id) where status = 'running';
