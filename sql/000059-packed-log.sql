-- Batches of the packet log are packed. An instance of a release before cannot read them, and would set them aside as damaged: it does not
-- get the log any more once an instance that packs has had it. Until then it goes on, and its batches are read as they are.

alter table packet_log_checkpoint
  add column form integer not null default 0; -- the newest form of packet_log.data there may be: 0 packets one by one, 1 packed in frames

-- As claim_log before; the caller says which form it reads and writes.
create function claim_log(new_owner uuid, new_owner_name text, seen_epoch bigint, new_form integer)
returns table (epoch bigint, checkpoint bigint, newest bigint) language plpgsql as $$
declare
  top bigint;
begin
  -- First what may fail: a session lock that was taken before would outlive the failure.
  perform pg_advisory_xact_lock(803145, 0);
  -- A statement of its own: it sees the claim that the lock was waited for.
  if exists (select from packet_log_checkpoint c where c.form > new_form) then
    raise exception 'the packet log has batches that this release cannot read: start the release that wrote them, or a newer one'
      using errcode = '55000';
  end if;
  if not pg_try_advisory_lock(8031447120945) then
    return;
  end if;
  top := (select max(batch_id) from packet_log);
  return query
    update packet_log_checkpoint c
    set epoch = greatest(c.epoch, top >> 32, c.batch_id >> 32) + 1, owner = new_owner, owner_name = new_owner_name,
      renewed_at = clock_timestamp(), form = new_form
    where c.epoch = seen_epoch
    returning c.epoch, c.batch_id, greatest(c.batch_id, top);
  if not found then
    perform pg_advisory_unlock(8031447120945);
  end if;
end
$$;

-- Releases before this one claim without a form.
create or replace function claim_log(new_owner uuid, new_owner_name text, seen_epoch bigint)
returns table (epoch bigint, checkpoint bigint, newest bigint) language sql as $$
  select * from claim_log(new_owner, new_owner_name, seen_epoch, 0)
$$;
