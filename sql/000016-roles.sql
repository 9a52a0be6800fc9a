-- The second line of defence: roles that can do only what their part of the service does, and only for the organization that the
-- transaction has named: select set_config('bio.organization_id', '<uuid>', true).
--
-- Row-level security guards the relational tables. Hypertables do not combine with it (COPY, columnstore and continuous aggregates refuse
-- it, and chunks go round it): they are read through the security_barrier views of schema api, and no role but ingest and worker has a
-- right on the tables themselves. Roles belong to the whole server; a service without the right to create them runs as the owner.

create schema api;

create function current_organization() returns uuid language sql stable parallel safe as $$
  select nullif(current_setting('bio.organization_id', true), '')::uuid
$$;

do $$
declare
  role_name text;
begin
  foreach role_name in array array['biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit'] loop
    begin
      execute format('create role %I nologin', role_name);
    exception
      when duplicate_object or unique_violation then null; -- made by another database of this server
      when insufficient_privilege then
        raise notice 'role % could not be created: the service works as the owner alone', role_name;
    end;
  end loop;
end
$$;

-- Rows of the caller's organization.
do $$
declare
  relation text;
  roles_exist boolean := (select count(*) = 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit'));
  own constant text := 'organization_id = current_organization()';
  rules constant text[][] := array[
    array['organization', 'id = current_organization()'],
    array['project', own],
    array['api_key', own],
    array['sdk_key', 'project_id in (select id from project where organization_id = current_organization())'],
    array['allowed_origin', 'project_id in (select id from project where organization_id = current_organization())'],
    array['operator_account', own],
    array['operator_session', 'operator_id in (select id from operator_account where organization_id = current_organization())'],
    array['xuser', own],
    array['device_profile', 'organization_id is null or organization_id = current_organization()'],
    array['device', own],
    array['biosignal', 'project_id is null or project_id in (select id from project where organization_id = current_organization())'],
    array['project_biosignal', 'project_id in (select id from project where organization_id = current_organization())'],
    array['stream', own],
    array['stream_channel', 'stream_id in (select id from stream where organization_id = current_organization())'],
    array['episode', own],
    array['artifact', 'episode_id in (select id from episode where organization_id = current_organization())'],
    array['idempotency', own],
    array['audit_log', own]];
begin
  for i in 1..array_length(rules, 1) loop
    relation := rules[i][1];
    execute format('alter table %I enable row level security', relation);
    if not roles_exist then
      continue;
    end if;
    execute format('create policy %I on %I to biosignal_api using (%s)', relation || '_own', relation, rules[i][2]);
    if relation = 'audit_log' then
      execute 'grant select, insert on audit_log to biosignal_api';
      execute 'create policy audit_log_read on audit_log for select to biosignal_audit using (organization_id = current_organization())';
    else
      execute format('grant select, insert, update, delete on %I to biosignal_api', relation);
      execute format('create policy %I on %I to biosignal_ingest, biosignal_worker using (true)', relation || '_service', relation);
    end if;
  end loop;
end
$$;

-- Growing tables and rollups, seen through the organization that owns the stream (of measurements: that is in the row).
do $$
declare
  relation text;
begin
  foreach relation in array array['sample_block', 'beat', 'feature', 'device_event', 'feature_1m', 'feature_1h', 'feature_1d'] loop
    execute format(
      'create view api.%I with (security_barrier) as select r.* from public.%I r join public.stream s on s.id = r.stream_id where s.organization_id = current_organization()',
      relation, relation);
  end loop;
end
$$;
create view api.measurement with (security_barrier) as select * from public.measurement where organization_id = current_organization();

do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  revoke create on schema public from public;
  grant usage on schema public, api to biosignal_api, biosignal_ingest, biosignal_worker, biosignal_audit;
  grant execute on function current_organization() to biosignal_api, biosignal_audit;

  -- api: the views, its organization's records, the catalogs
  grant select on all tables in schema api to biosignal_api;
  grant select on method, signing_key to biosignal_api;

  -- ingest: streams and packets in, nothing out of the growing tables but what a merge needs
  grant select on organization, project, xuser, device_profile, biosignal, stream_channel, retention to biosignal_ingest;
  grant select, insert, update on device, stream, xuser to biosignal_ingest;
  grant insert on stream_channel, biosignal to biosignal_ingest;
  grant select, insert on packet_log to biosignal_ingest;
  grant select, update on packet_log_checkpoint to biosignal_ingest;
  grant select, insert, delete on sample_block to biosignal_ingest;
  grant select, insert on measurement, device_event to biosignal_ingest;

  -- worker: samples in, beats and features out
  grant select on stream, stream_channel, sample_block, biosignal to biosignal_worker;
  grant select, insert, update, delete on beat, feature to biosignal_worker;
  grant select, insert, update on method to biosignal_worker;
  if to_regclass('rollup_dirty') is not null then
    grant select, insert, update, delete on rollup_dirty to biosignal_worker;
  end if;
  if to_regclass('partition_rule') is not null then
    grant select on partition_rule to biosignal_ingest, biosignal_worker;
    alter function ensure_partitions(text, timestamptz, timestamptz) security definer set search_path = public, pg_temp;
  end if;

  -- audit: the log, nothing else
  grant select on audit_log to biosignal_audit;
end
$$;
