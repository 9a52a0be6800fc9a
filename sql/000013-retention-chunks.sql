-- Retention on hypertables.
--! requires: timescaledb

-- Drops what has expired; returns how many chunks.
create function apply_retention() returns integer language plpgsql as $$
declare
  rule record;
  dropped integer := 0;
begin
  for rule in select relation, retention_cutoff(relation) as cutoff from retention where keep is not null loop
    dropped := dropped + (select count(*) from drop_chunks(rule.relation::regclass, older_than => rule.cutoff));
  end loop;
  return dropped;
end
$$;
