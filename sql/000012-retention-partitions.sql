-- Retention on native partitions.
--! requires: postgres

drop function drop_expired_partitions();
alter table partition_rule drop column retain;

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
