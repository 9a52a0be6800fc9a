-- Tables that grow, on a server without TimescaleDB: native range partitions, made when the writer first needs them, dropped by retention.
--! requires: postgres

-- How much time one partition of a table has.
-- 100 devices x 4 channels x 86,400 s x 250 bytes = 8.6 GB a day of samples: days. Values are a hundredth of that: weeks.
create table partition_rule (
  relation text not null,
  step interval not null,
  toast_tuple_target integer,
  constraint partition_rule_pkey primary key (relation)
);
insert into partition_rule (relation, step, toast_tuple_target) values
  ('sample_block', '1 day', 8160),
  ('packet_log', '6 hours', 8160),
  ('packet_hash', '6 hours', null),
  ('beat', '7 days', null),
  ('feature', '7 days', null),
  ('measurement', '28 days', null),
  ('device_event', '28 days', null);

-- A table is made into one that has partitions by making it again, its key, indexes and comment as they were.
do $$
declare
  name text;
  comment text;
  keys_and_indexes text[];
  statement text;
begin
  for name in select relation from partition_rule loop
    keys_and_indexes := array(
      select coalesce('alter table ' || quote_ident(name) || ' add constraint ' || quote_ident(c.conname) || ' ' || pg_get_constraintdef(c.oid),
        pg_get_indexdef(i.indexrelid))
      from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype = 'p'
      where i.indrelid = name::regclass);
    comment := obj_description(name::regclass);
    execute format('alter table %I rename to shape', name);
    execute format('create table %I (like shape including all excluding indexes) partition by range (time)', name);
    drop table shape;
    foreach statement in array keys_and_indexes loop
      execute statement;
    end loop;
    execute format('comment on table %I is %L', name, comment);
  end loop;
end
$$;

-- Makes the partitions that cover [from_time, to_time]. Attaching blocks neither readers nor writers of the other partitions. Several
-- writers may need the same new partition at the same moment. Those that waited for the lock must look in the catalog itself: a name that
-- was once not found stays not found in the session's cache for the rest of the statement (to_regclass asks that cache).
create function ensure_partitions(relation_name text, from_time timestamptz, to_time timestamptz) returns void
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  rule partition_rule;
  low timestamptz;
  partition_name text;
begin
  select * into strict rule from partition_rule where relation = relation_name;
  low := date_bin(rule.step, from_time, timestamptz '2001-01-01 00:00:00+00');
  while low <= to_time loop
    partition_name := relation_name || '_p' || to_char(low, 'YYYYMMDD"_"HH24');
    if to_regclass(quote_ident(partition_name)) is null then
      perform pg_advisory_xact_lock(hashtextextended('biosignal partition ' || relation_name, 0));
      -- A statement of its own: it sees what was committed while the lock was waited for.
      if not exists (select from pg_class where relname = partition_name and relnamespace = 'public'::regnamespace) then
        execute format('create table %I (like %I including all)', partition_name, relation_name);
        if rule.toast_tuple_target is not null then
          execute format('alter table %I set (toast_tuple_target = %s)', partition_name, rule.toast_tuple_target);
        end if;
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', relation_name, partition_name, low, low + rule.step);
      end if;
    end if;
    low := low + rule.step;
  end loop;
end
$$;

-- Drops what has expired; returns how many partitions.
create function apply_retention() returns integer language plpgsql set timezone = 'UTC' as $$
declare
  rule record;
  child record;
  dropped integer := 0;
begin
  for rule in select r.relation, p.step, retention_cutoff(r.relation) as cutoff from retention r join partition_rule p using (relation) where r.keep is not null loop
    for child in
      select c.relname, to_timestamp(substring(c.relname from '_p(\d{8}_\d{2})$'), 'YYYYMMDD_HH24') as low
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = rule.relation::regclass
    loop
      if child.low + rule.step <= rule.cutoff then
        execute format('drop table %I', child.relname);
        dropped := dropped + 1;
      end if;
    end loop;
  end loop;
  return dropped;
end
$$;
