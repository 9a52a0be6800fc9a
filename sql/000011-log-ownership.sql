-- Who writes the packet log, and all that is made of it. An instance that takes the log gets an epoch, one above every epoch before.
-- Writes of the data path name the epoch of their instance and are refused once another one has come after it, so that one that was cut
-- off or stopped for a while changes nothing. The numbers of batches begin with the epoch (epoch << 32 | n): no two instances ever give
-- the same one.

-- Holds the log for a transaction: nobody takes it before the commit.
create function hold_log(held bigint) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(803145, 0); -- in memory only: no WAL, no row lock
  -- A statement of its own: it sees the claim that the lock was waited for.
  if not exists (select from packet_log_checkpoint where epoch = held) then
    raise exception 'another instance has taken the packet log over' using errcode = 'BS001';
  end if;
end
$$;

-- A session of the owner has its epoch in bio.epoch. One without is let through when it acts as the login itself (commands, erasure,
-- retention, restore) or as api (what people report); the roles of the data path must have one as soon as there has been an owner.
create function fence_writer() returns trigger language plpgsql as $$
declare
  held constant text := current_setting('bio.epoch', true);
begin
  if held <> '' then
    perform hold_log(held::bigint);
  elsif current_user in ('biosignal_ingest', 'biosignal_worker') then
    if exists (select from packet_log_checkpoint where epoch > 0) then
      raise exception '% is written by the owner of the packet log only', tg_table_name using errcode = 'BS001';
    end if;
  end if;
  return null;
end
$$;
create trigger packet_log_fence before insert or update or delete on packet_log for each statement execute function fence_writer();
create trigger packet_hash_fence before insert or update or delete on packet_hash for each statement execute function fence_writer();
create trigger set_aside_fence before insert or update or delete on set_aside for each statement execute function fence_writer();
create trigger stream_channel_fence before insert or update or delete on stream_channel for each statement execute function fence_writer();
create trigger sample_block_fence before insert or update or delete on sample_block for each statement execute function fence_writer();
create trigger beat_fence before insert or update or delete on beat for each statement execute function fence_writer();
create trigger feature_fence before insert or update or delete on feature for each statement execute function fence_writer();
create trigger measurement_fence before insert or update or delete on measurement for each statement execute function fence_writer();
create trigger device_event_fence before insert or update or delete on device_event for each statement execute function fence_writer();

-- Takes the log, for the session: its lock is free for others as soon as the session has ended, however it ended. No row when another
-- session has the lock, or the owner is not the one that was seen. Waits for transactions of that owner that are under way; their rows are
-- counted.
create function claim_log(new_owner uuid, new_owner_name text, seen_epoch bigint)
returns table (epoch bigint, checkpoint bigint, newest bigint) language plpgsql as $$
declare
  top bigint;
begin
  -- First the lock that may be waited for in vain: a session lock that was taken before would outlive the failure.
  perform pg_advisory_xact_lock(803145, 0);
  if not pg_try_advisory_lock(8031447120945) then
    return;
  end if;
  top := (select max(batch_id) from packet_log);
  return query
    update packet_log_checkpoint c
    set epoch = greatest(c.epoch, top >> 32, c.batch_id >> 32) + 1, owner = new_owner, owner_name = new_owner_name, renewed_at = clock_timestamp()
    where c.epoch = seen_epoch
    returning c.epoch, c.batch_id, greatest(c.batch_id, top);
  if not found then
    perform pg_advisory_unlock(8031447120945);
  end if;
end
$$;
