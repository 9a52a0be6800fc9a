-- What people enter themselves, for the api role: rows of the organization that the transaction has named (as in 000016-roles.sql).
do $$
declare
  relation text;
  roles_exist boolean := (select count(*) = 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit'));
begin
  foreach relation in array array['mood', 'journal_entry', 'questionnaire_response', 'task'] loop
    execute format('alter table %I enable row level security', relation);
    if roles_exist then
      execute format('create policy %I on %I to biosignal_api using (organization_id = current_organization())', relation || '_own', relation);
      execute format('grant select, insert, update, delete on %I to biosignal_api', relation);
    end if;
  end loop;
end
$$;
