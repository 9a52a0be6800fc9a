-- Native range partitions on a server without TimescaleDB: made when the writer first needs them, dropped by retention.
--! requires: postgres

create table partition_rule (
  relation text not null,
  step interval not null,
  retain interval, -- null: for ever
  toast_tuple_target integer,
  constraint partition_rule_pkey primary key (relation)
);

-- 100 devices x 4 channels x 86,400 s x 250 bytes = 8.6 GB a day of samples: days. Values are a hundredth of that: weeks.
insert into partition_rule (relation, step, retain, toast_tuple_target) values
  ('sample_block', '1 day', null, 8160),
  ('packet_log', '6 hours', '1 day', 8160),
  ('beat', '7 days', null, null),
  ('feature', '7 days', null, null),
  ('measurement', '28 days', null, null),
  ('device_event', '28 days', null, null);

do $$
declare
  rule record;
  constraint_name text;
begin
  for rule in select * from partition_rule loop
    execute format('alter table %I rename to %I', rule.relation, rule.relation || '_shape');
    for constraint_name in
      select conname from pg_constraint where conrelid = (rule.relation || '_shape')::regclass and contype in ('p', 'c')
    loop
      execute format('alter table %I rename constraint %I to %I', rule.relation || '_shape', constraint_name, constraint_name || '_shape');
    end loop;
    execute format('create table %I (like %I including all) partition by range (time)', rule.relation, rule.relation || '_shape');
    execute format('drop table %I', rule.relation || '_shape');
    for constraint_name in
      select conname from pg_constraint where conrelid = rule.relation::regclass and conname like '%\_shape'
    loop
      execute format('alter table %I rename constraint %I to %I', rule.relation, constraint_name, replace(constraint_name, '_shape', ''));
    end loop;
  end loop;
end
$$;

-- Makes the partitions that cover [from_time, to_time]. Attaching blocks neither readers nor writers of the other partitions.
create function ensure_partitions(relation_name text, from_time timestamptz, to_time timestamptz)
returns void language plpgsql set timezone = 'UTC' as $$
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
      if to_regclass(quote_ident(partition_name)) is null then
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

-- Drops the partitions that retention has passed. Returns how many.
create function drop_expired_partitions() returns integer language plpgsql set timezone = 'UTC' as $$
declare
  rule partition_rule;
  child record;
  dropped integer := 0;
begin
  for rule in select * from partition_rule where retain is not null loop
    for child in
      select c.relname, to_timestamp(substring(c.relname from '_p(\d{8}_\d{2})$'), 'YYYYMMDD_HH24') as low
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = rule.relation::regclass
    loop
      if child.low + rule.step < now() - rule.retain then
        execute format('drop table %I', child.relname);
        dropped := dropped + 1;
      end if;
    end loop;
  end loop;
  return dropped;
end
$$;
