-- The last file of the baseline: who may see and do what. (It has the number that the schema had reached before its files were put in
-- order by subject: see README.md.)
--
-- The second line of defence: roles that can do only what their part of the service does, and only for the organization that the
-- transaction has named: select set_config('bio.organization_id', '<uuid>', true).
--
-- Row-level security guards the relational tables. Hypertables do not combine with it (COPY, columnstore and continuous aggregates refuse
-- it, and chunks go round it): they are read through the security_barrier views of schema api, and no role but ingest and worker has a
-- right on the tables themselves. Roles belong to the whole server; a service without the right to create them runs as the owner.

create function current_organization() returns uuid language sql stable parallel safe as $$
  select nullif(current_setting('bio.organization_id', true), '')::uuid
$$;

-- Schema api: growing tables and rollups, seen through the organization that owns the stream (of measurements: that is in the row).
create schema api;
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
-- What people report goes in through this one, which refuses rows of another organization.
create view api.measurement with (security_barrier, check_option = cascaded) as
  select * from public.measurement where organization_id = current_organization();

-- Minutes as columns, of the streams of the organization that the transaction has named, as the views show them. The function reads as the
-- owner; whose streams they are is asked here, once.
create function api.feature_minutes(stream_ids integer[], method smallint, from_time timestamptz, to_time timestamptz, what text, worst integer)
returns table (minutes json, ns json, value_ns json, good_ns json, suspect_ns json, goods json, suspects json, everies json)
language plpgsql stable security definer set search_path = public, pg_temp as $$
begin
  return query select f.* from public.feature_minutes(
    array(select s.id from public.stream s where s.id = any (stream_ids) and s.organization_id = public.current_organization()),
    method, from_time, to_time, what, worst) f;
end
$$;
revoke execute on function feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer) from public;
revoke execute on function api.feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer) from public;

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

-- The one table of rights. own: which rows api sees and changes, those of the caller's organization; a table without it has no row-level
-- security. s select, i insert, u update, d delete. service: whose rows the others see: 'all' (ingest and worker), 'read' (ingest, to
-- read). Two tables are not on every kind of server. Without the roles row-level security is on, and nobody but the owner sees a row.
do $$
declare
  rule record;
  part record;
  roles_exist constant boolean :=
    (select count(*) = 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit'));
  by_row constant text := 'organization_id = current_organization()';
  by_project constant text := 'project_id in (select id from project where organization_id = current_organization())';
begin
  for rule in select * from (values
    --                                                                          api     ingest  worker
    -- tenancy
    ('organization',            'id = current_organization()',                  'siud', 's',    '',     'all'),
    ('project',                 by_row,                                         'siud', 's',    '',     'all'),
    ('api_key',                 by_row,                                         'siud', '',     '',     'all'),
    ('sdk_key',                 by_project,                                     'siud', '',     '',     'all'),
    ('public_key_use',          by_project,                                     's',    '',     '',     ''),
    ('allowed_origin',          by_project,                                     'siud', '',     '',     'all'),
    ('operator_account',        by_row,                                         'siud', '',     '',     'all'),
    ('operator_session',        'operator_id in (select id from operator_account where organization_id = current_organization())',
                                                                                'siud', '',     '',     'all'),
    ('idempotency',             by_row,                                         'siud', '',     '',     'all'),
    ('database_kind',           null,                                           's',    's',    's',    ''),
    -- people, devices, streams
    ('xuser',                   by_row,                                         'siud', 'siu',  's',    'all'),
    ('consent',                 by_row,                                         'si',   's',    '',     'all'),
    ('device_profile',          'organization_id is null or organization_id = current_organization()',
                                                                                'siud', 's',    '',     'all'),
    ('device',                  by_row,                                         'siud', 'siu',  '',     'all'),
    ('stream',                  by_row,                                         'siud', 'siu',  's',    'all'),
    -- looked at one by one: is this one's stream, or episode, of the organization? `in (select …)` would read all that it has
    ('stream_channel',          'exists (select from stream s where s.id = stream_channel.stream_id and s.organization_id = current_organization())',
                                                                                'siud', 'si',   's',    'all'),
    ('method',                  null,                                           's',    '',     'siu',  ''),
    -- catalog
    ('biosignal',               'project_id is null or ' || by_project,         'siud', 'si',   'si',   'all'),
    ('project_biosignal',       by_project,                                     'siud', '',     '',     'all'),
    ('unit_conversion',         null,                                           's',    's',    's',    ''),
    -- what grows: packets in, samples in; beats and features out; what devices report beside samples
    ('sample_block',            null,                                           '',     'sid',  's',    ''),
    ('packet_log',              null,                                           '',     'si',   '',     ''),
    ('packet_log_checkpoint',   null,                                           '',     'su',   's',    ''),
    ('packet_hash',             null,                                           '',     'si',   '',     ''),
    ('set_aside',               'below',                                        's',    'siud', 'siu',  ''), -- api: the export of a person
    ('beat',                    null,                                           '',     '',     'siud', ''),
    ('feature',                 null,                                           '',     '',     'siud', ''),
    ('measurement',             null,                                           '',     'si',   'si',   ''),
    ('device_event',            null,                                           '',     'si',   'si',   ''),
    ('partition_rule',          null,                                           's',    's',    's',    ''),
    ('rollup_dirty',            null,                                           '',     '',     'siud', ''),
    ('api.sample_block',        null,                                           's',    '',     '',     ''),
    ('api.beat',                null,                                           's',    '',     '',     ''),
    ('api.feature',             null,                                           's',    '',     '',     ''),
    ('api.feature_1m',          null,                                           's',    '',     '',     ''),
    ('api.feature_1h',          null,                                           's',    '',     '',     ''),
    ('api.feature_1d',          null,                                           's',    '',     '',     ''),
    ('api.device_event',        null,                                           's',    '',     '',     ''),
    ('api.measurement',         null,                                           'sid',  '',     '',     ''), -- deleted when an answer is amended
    -- retention; who sends what it deletes at once is told so
    ('retention',               null,                                           '',     's',    's',    ''),
    ('project_retention',       by_row,                                         'siud', 's',    '',     'read'),
    ('project_retention_swept', 'nobody',                                       '',     '',     '',     ''), -- the owner's alone: no policy
    -- what people enter; episodes, webhooks
    ('mood',                    by_row,                                         'siud', '',     '',     ''),
    ('journal_entry',           by_row,                                         'siud', '',     '',     ''),
    ('questionnaire',           by_row,                                         'siud', '',     '',     ''),
    ('questionnaire_draft',     by_row,                                         'siud', '',     '',     ''),
    ('questionnaire_response',  by_row,                                         'siud', '',     '',     ''),
    ('task_schedule',           by_row,                                         'siud', '',     '',     ''),
    ('task',                    by_row,                                         'siud', '',     '',     ''),
    ('goal',                    by_row,                                         'siud', '',     '',     ''),
    ('episode',                 by_row,                                         'siud', '',     '',     'all'),
    ('episode_acknowledgement', 'exists (select from episode e where e.id = episode_acknowledgement.episode_id and e.organization_id = current_organization())',
                                                                                'siud', '',     '',     ''),
    ('artifact',                'exists (select from episode e where e.id = artifact.episode_id and e.organization_id = current_organization())',
                                                                                'siud', '',     '',     'all'),
    ('webhook',                 by_row,                                         'siud', '',     '',     ''),
    ('webhook_delivery',        'webhook_id in (select id from webhook where organization_id = current_organization())',
                                                                                'siud', '',     '',     ''),
    ('audit_log',               by_row,                                         'si',   '',     '',     '')
  ) as r (relation, own, api, ingest, worker, service)
  loop
    continue when to_regclass(rule.relation) is null and rule.relation in ('partition_rule', 'rollup_dirty');
    if rule.own is not null then
      execute format('alter table %I enable row level security', rule.relation);
    end if;
    continue when not roles_exist;
    if rule.own not in ('below', 'nobody') then
      execute format('create policy %I on %I to biosignal_api using (%s)', rule.relation || '_own', rule.relation, rule.own);
    end if;
    if rule.service <> '' then
      execute format('create policy %I on %I for %s using (true)', rule.relation || '_service', rule.relation,
        case rule.service when 'all' then 'all to biosignal_ingest, biosignal_worker' else 'select to biosignal_ingest' end);
    end if;
    for part in select * from (values ('biosignal_api', rule.api), ('biosignal_ingest', rule.ingest), ('biosignal_worker', rule.worker)) as p (role_name, rights) loop
      if part.rights <> '' then
        execute format('grant %s on %s to %I',
          array_to_string(array(select case letter when 's' then 'select' when 'i' then 'insert' when 'u' then 'update' else 'delete' end
            from regexp_split_to_table(part.rights, '') letter), ', '), rule.relation, part.role_name);
      end if;
    end loop;
  end loop;
  if not roles_exist then
    return;
  end if;

  -- api reads what was set aside, and the others write it
  create policy set_aside_own on set_aside for select to biosignal_api using (organization_id = current_organization());
  create policy set_aside_service on set_aside to biosignal_ingest, biosignal_worker using (true) with check (true);

  -- audit: the log, nothing else
  create policy audit_log_read on audit_log for select to biosignal_audit using (organization_id = current_organization());
  grant select on audit_log, database_kind to biosignal_audit;

  revoke create on schema public from public;
  grant usage on schema public, api to biosignal_api, biosignal_ingest, biosignal_worker, biosignal_audit;
  grant execute on function current_organization() to biosignal_api, biosignal_audit;
  grant execute on function missing_consents(uuid) to biosignal_api, biosignal_ingest;
  grant execute on function open_event_episode(uuid, timestamptz, integer, text, text) to biosignal_worker;
  grant execute on function api.feature_minutes(integer[], smallint, timestamptz, timestamptz, text, integer) to biosignal_api;

  -- A login that may create roles but is no superuser must be a member to act as one.
  if not (select rolsuper from pg_roles where rolname = current_user) then
    for part in select unnest(array['biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit']) as role_name loop
      begin
        execute format('grant %I to current_user', part.role_name);
      exception when insufficient_privilege then
        raise notice 'this login may not act as %: the service works as the owner alone', part.role_name;
      end;
    end loop;
  end if;
end
$$;
