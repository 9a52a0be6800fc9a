-- Nodes that share the partitions of this database. A node alone, which owns the whole log, has no row.
create table cluster_node (
  id uuid not null, -- new at every start
  lock_key integer not null, -- of the session lock that the node holds while it lives, beside 803146
  name text not null, -- for people
  address text not null default '', -- where devices and viewers reach it directly; empty: they do not
  version text not null default '',
  started_at timestamptz not null default clock_timestamp(),
  renewed_at timestamptz not null default clock_timestamp(),
  draining boolean not null default false, -- it gives its partitions to the others
  constraint cluster_node_pkey primary key (id),
  constraint cluster_node_lock_key_key unique (lock_key)
);

-- As in 63. The lock of the session is asked for in a statement of its own: nothing says in which order the operands of `or` are taken, and
-- a lock that was taken beside a condition that fails would stay.
create or replace function claim_log(new_owner uuid, new_owner_name text, seen bigint[], new_form integer)
returns table (partition smallint, epoch bigint, checkpoint bigint, newest bigint) language plpgsql as $$
declare
  wanted constant smallint[] := array(select generate_series(0, cardinality(seen) - 1)::smallint);
begin
  -- First all that may be waited for in vain, or fail: a session lock that was taken before would outlive the failure.
  perform pg_advisory_xact_lock(803145, w.partition) from unnest(wanted) as w (partition);
  perform from cluster_setting for update;
  perform refuse_log_form(new_form);
  if (select s.partitions from cluster_setting s) <> cardinality(seen) then
    return;
  end if;
  if not pg_try_advisory_lock(8031447120945) then -- nodes of a cluster share it
    return;
  end if;
  return query select * from claim_partitions(new_owner, new_owner_name, wanted, seen, new_form);
  if not found then
    perform pg_advisory_unlock(8031447120945);
  end if;
end
$$;

do $$
begin
  if exists (select from pg_roles where rolname = 'biosignal_ingest') then
    grant select, insert, update, delete on cluster_node to biosignal_ingest;
    grant select on cluster_node to biosignal_worker;
  end if;
end
$$;
