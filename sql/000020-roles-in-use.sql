-- The service now acts as these roles (src/storage/roles.ts): what its parts need beside 000016-roles.sql.

alter table webhook enable row level security;
alter table webhook_delivery enable row level security;

do $$
declare
  role_name text;
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;

  -- A login that may create roles but is no superuser must be a member to act as one.
  if not (select rolsuper from pg_roles where rolname = current_user) then
    foreach role_name in array array['biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit'] loop
      begin
        execute format('grant %I to current_user', role_name);
      exception when insufficient_privilege then
        raise notice 'this login may not act as %: the service works as the owner alone', role_name;
      end;
    end loop;
  end if;

  create policy webhook_own on webhook to biosignal_api using (organization_id = current_organization());
  create policy webhook_delivery_own on webhook_delivery to biosignal_api
    using (webhook_id in (select id from webhook where organization_id = current_organization()));
  grant select, insert, update, delete on webhook, webhook_delivery to biosignal_api;

  grant select on database_kind to biosignal_api, biosignal_ingest, biosignal_worker, biosignal_audit;

  -- what people report goes in through the view, which refuses rows of another organization
  alter view api.measurement set (check_option = cascaded);
  grant insert, delete on api.measurement to biosignal_api; -- deleted when an answer is amended
  if to_regclass('partition_rule') is not null then
    grant select on partition_rule to biosignal_api;
  end if;

  -- the worker writes what devices report beside samples
  grant insert on measurement, device_event, biosignal to biosignal_worker;
  grant select on measurement, device_event, xuser, retention to biosignal_worker;
end
$$;
