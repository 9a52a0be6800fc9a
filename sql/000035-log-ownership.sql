-- Who writes the packet log. An instance that takes it gets an epoch, one above every epoch before. Writes of the data path name the epoch
-- of their instance and are refused once another one has come after it, so that one that was cut off or stopped for a while changes nothing.
-- The numbers of batches begin with the epoch (epoch << 32 | n): no two instances ever give the same one.

alter table packet_log_checkpoint
  add column epoch bigint not null default 0, -- of the instance that owns the log, or owned it last; 0: of none yet
  add column owner uuid, -- that instance, new at every start; null: it has ended in good order
  add column owner_name text not null default '', -- host and port, for people
  add column renewed_at timestamptz not null default now(); -- by this server's clock: the owner lives

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

do $$
declare
  relation text;
begin
  foreach relation in array array['packet_log', 'sample_block', 'beat', 'feature', 'measurement', 'device_event'] loop
    execute format(
      'create trigger %I before insert or update or delete on %I for each statement execute function fence_writer()',
      relation || '_fence', relation);
  end loop;
end
$$;

-- Takes the log, for the session: its lock is free for others as soon as the session has ended, however it ended. No row when another session
-- has the lock, or the owner is not the one that was seen. Waits for transactions of that owner that are under way; their rows are counted.
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

do $$
begin
  if (select count(*) = 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    grant select on packet_log_checkpoint to biosignal_worker;
  end if;
end
$$;
