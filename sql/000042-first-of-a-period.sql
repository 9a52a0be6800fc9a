-- Several writers may need the same new partition at the same moment. Those that waited for the lock must look in the catalog itself: a name
-- that was once not found stays not found in the session's cache for the rest of the statement (to_regclass asks that cache).
--! requires: postgres

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
    end if;
    low := low + rule.step;
  end loop;
end
$$;
