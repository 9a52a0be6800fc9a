-- A partition that another session has just made takes rows at once: a person's first mood of a month could be answered with an error.
--! requires: postgres

-- As in 8. A commit is visible a moment before other sessions hear that the table has one partition more; a row that came in this moment
-- found no partition (23514). The maker holds the lock of its partition until all have been told, so whoever finds the name waits for it.
create or replace function ensure_partitions(relation_name text, from_time timestamptz, to_time timestamptz) returns void
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
    else
      execute format('lock table %I in access share mode', partition_name);
    end if;
    low := low + rule.step;
  end loop;
end
$$;

-- Tells all sessions once more which partitions a table has. A session that reads them at the moment of a commit may take the news of this
-- commit for read, and refuses rows of the partition (23514) until the table changes again. This changes nothing, and is told.
create function announce_partitions(relation_name text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform from partition_rule where relation = relation_name;
  if found then
    execute format('alter table only %I alter column time set statistics -1', relation_name);
  end if;
end
$$;
