-- Subjects belong to partitions, and each partition has an owner, an epoch and a checkpoint of its own, as the whole log had before: several
-- nodes can share the work. One partition is the default; then everything is as before, and an instance of a release before goes on.

-- One row: into how many partitions subjects are cut, and the newest epoch. Epochs are counted for the whole database, because the numbers
-- of batches begin with them: two partitions that gave the same epoch would give the same numbers. In a row, not a sequence: a row is
-- restored from a backup with the log that it belongs to, and no epoch is lost when a claim fails.
create table cluster_setting (
  one boolean not null default true,
  partitions smallint not null default 1,
  epoch bigint not null default 0, -- the newest that was given, to any partition
  constraint cluster_setting_pkey primary key (one),
  constraint cluster_setting_one_check check (one),
  constraint cluster_setting_partitions_check check (partitions between 1 and 1024)
);
insert into cluster_setting (epoch) select epoch from packet_log_checkpoint;

-- The row of the log becomes that of partition 0; its columns mean the same, for one partition.
alter table packet_log_checkpoint
  drop constraint packet_log_checkpoint_pkey,
  drop constraint packet_log_checkpoint_id_check,
  drop column id,
  add column partition smallint not null default 0,
  add constraint packet_log_checkpoint_pkey primary key (partition);

alter table packet_log add column partition smallint not null default 0; -- of the packets of this part

-- Holds partitions for a transaction: nobody takes one of them before the commit.
create function hold_partitions(held smallint[], epochs bigint[]) returns void language plpgsql as $$
begin
  -- In memory only: no WAL, no row lock. In order, so that claims and writers cannot wait for each other in a circle.
  perform pg_advisory_xact_lock_shared(803145, h.partition) from (select p.partition from unnest(held) as p (partition) order by 1) h;
  -- A statement of its own: it sees the claim that the lock was waited for.
  if exists (
    select from unnest(held, epochs) as h (partition, epoch)
    left join packet_log_checkpoint c on c.partition = h.partition and c.epoch = h.epoch where c.partition is null
  ) then
    raise exception 'another instance has taken the packet log over' using errcode = 'BS001';
  end if;
end
$$;

-- Of a release before this one.
create or replace function hold_log(held bigint) returns void language sql as $$
  select hold_partitions('{0}', array[held])
$$;

-- A session of an owner has what it holds in bio.partitions and bio.epochs; one of a release before, its epoch in bio.epoch.
create or replace function fence_writer() returns trigger language plpgsql as $$
declare
  held constant text := current_setting('bio.partitions', true);
  epoch_of_log constant text := current_setting('bio.epoch', true);
begin
  if held <> '' then
    perform hold_partitions(held::smallint[], current_setting('bio.epochs')::bigint[]);
  elsif epoch_of_log <> '' then
    perform hold_log(epoch_of_log::bigint);
  elsif current_user in ('biosignal_ingest', 'biosignal_worker') then
    if exists (select from packet_log_checkpoint where epoch > 0) then
      raise exception '% is written by the owner of the packet log only', tg_table_name using errcode = 'BS001';
    end if;
  end if;
  return null;
end
$$;

-- Batches of a newer form would be taken for damage.
create function refuse_log_form(known_form integer) returns void language plpgsql as $$
begin
  if exists (select from packet_log_checkpoint c where c.form > known_form) then
    raise exception 'the packet log has batches that this release cannot read: start the release that wrote them, or a newer one'
      using errcode = '55000';
  end if;
end
$$;

-- Takes partitions that had these epochs when they were looked at: all of them, or none and no row. Waits for transactions of their owners
-- that are under way; their rows are counted. They get one epoch, above every epoch and every number before it.
create function claim_partitions(new_owner uuid, new_owner_name text, wanted smallint[], seen bigint[], new_form integer)
returns table (partition smallint, epoch bigint, checkpoint bigint, newest bigint) language plpgsql as $$
declare
  given bigint;
  top bigint;
begin
  perform pg_advisory_xact_lock(803145, w.partition) from (select p.partition from unnest(wanted) as p (partition) order by 1) w;
  -- Statements of their own: they see what the locks were waited for.
  perform refuse_log_form(new_form);
  if exists (
    select from unnest(wanted, seen) as w (partition, epoch)
    left join packet_log_checkpoint c on c.partition = w.partition and c.epoch = w.epoch where c.partition is null
  ) then
    return;
  end if;
  -- Locked from here to the commit, a moment: claims of other partitions wait, and read what this one has left.
  perform from cluster_setting for update;
  top := (select max(l.batch_id) from packet_log l);
  -- A restore, or a release before that one, may have left higher numbers than this database counted.
  update cluster_setting s
    set epoch = greatest(s.epoch, top >> 32, (select max(greatest(c.epoch, c.batch_id >> 32)) from packet_log_checkpoint c)) + 1
    returning s.epoch into given;
  return query
    update packet_log_checkpoint c
    set epoch = given, owner = new_owner, owner_name = new_owner_name, renewed_at = clock_timestamp(), form = new_form
    where c.partition = any (wanted)
    returning c.partition, c.epoch, c.batch_id, greatest(c.batch_id, top);
end
$$;

-- Takes the whole log, for the session: its lock is free for others as soon as the session has ended, however it ended. No row when another
-- session has the lock, or a partition is not at the epoch that was seen. seen: by partition, from 0 on.
create function claim_log(new_owner uuid, new_owner_name text, seen bigint[], new_form integer)
returns table (partition smallint, epoch bigint, checkpoint bigint, newest bigint) language plpgsql as $$
declare
  wanted constant smallint[] := array(select generate_series(0, cardinality(seen) - 1)::smallint);
begin
  -- First all that may be waited for in vain, or fail: a session lock that was taken before would outlive the failure.
  perform pg_advisory_xact_lock(803145, w.partition) from unnest(wanted) as w (partition);
  perform from cluster_setting for update;
  perform refuse_log_form(new_form);
  if (select s.partitions from cluster_setting s) <> cardinality(seen) or not pg_try_advisory_lock(8031447120945) then
    return;
  end if;
  return query select * from claim_partitions(new_owner, new_owner_name, wanted, seen, new_form);
  if not found then
    perform pg_advisory_unlock(8031447120945);
  end if;
end
$$;

-- Of a release before, which knows of partition 0 alone.
create or replace function claim_log(new_owner uuid, new_owner_name text, seen_epoch bigint, new_form integer)
returns table (epoch bigint, checkpoint bigint, newest bigint) language plpgsql as $$
begin
  if (select s.partitions from cluster_setting s) > 1 then
    raise exception 'subjects are in several partitions, which this release does not know: start a newer one' using errcode = '55000';
  end if;
  return query select c.epoch, c.checkpoint, c.newest from claim_log(new_owner, new_owner_name, array[seen_epoch], new_form) c;
end
$$;

-- Cuts subjects into another number of partitions. The caller owns the whole log, and gives it back by this: what is in the log after a
-- checkpoint belongs to partitions by the number before. Every row gets a new epoch, so that nobody writes by the number before.
create function set_partitions(count smallint) returns void language plpgsql as $$
declare
  given bigint;
  top bigint;
begin
  perform pg_advisory_xact_lock(803145, c.partition) from (select partition from packet_log_checkpoint order by 1) c;
  if exists (select from packet_log l join packet_log_checkpoint c on c.partition = l.partition where l.batch_id > c.batch_id) then
    raise exception 'the packet log has packets that are not in the tables: start the service once, and stop it' using errcode = '55000';
  end if;
  update cluster_setting s set epoch = s.epoch + 1, partitions = count returning s.epoch into given;
  top := (select max(batch_id) from packet_log_checkpoint);
  delete from packet_log_checkpoint where partition >= count;
  insert into packet_log_checkpoint (partition, form)
    select p, (select max(form) from packet_log_checkpoint) from generate_series(0, count - 1) p on conflict (partition) do nothing;
  update packet_log_checkpoint set epoch = given, owner = null, batch_id = top;
end
$$;

-- As in 7, by partition.
create or replace function retention_cutoff(relation_name text) returns timestamptz language sql stable as $$
  select case when r.relation = 'packet_log'
    then least(now() - r.keep,
      (select min(p.time) from packet_log_checkpoint c, packet_log p where p.batch_id > c.batch_id and p.partition = c.partition))
    else now() - r.keep end
  from retention r where r.relation = relation_name
$$;

do $$
begin
  if exists (select from pg_roles where rolname = 'biosignal_ingest') then
    grant select, update on cluster_setting to biosignal_ingest;
    grant select on cluster_setting to biosignal_worker;
  end if;
end
$$;
