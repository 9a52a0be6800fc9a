-- Whose data an audit entry is about, and in which project: "who read this person's data, and when" is a question to the log itself.
--
-- Ids without foreign keys: an entry outlives the person whom it names. After an erasure the uuid is all that is left of them there.

alter table audit_log add column subject_id uuid, add column project_id uuid;

-- What is empty is left out, so that entries from before keep the hash that they were written with.
create or replace function audit_log_text(entry audit_log) returns bytea language sql stable set timezone = 'UTC' as $$
  select convert_to((
    to_jsonb(entry) - 'id' - 'hash' - 'prev_hash'
      - case when entry.subject_id is null then 'subject_id' else '' end
      - case when entry.project_id is null then 'project_id' else '' end
  )::text, 'UTF8')
$$;

create index audit_log_subject_idx on audit_log (organization_id, subject_id, id) where subject_id is not null;
create index audit_log_actor_idx on audit_log (organization_id, actor_id, id);
-- Reads are most of the log; this finds the rest.
create index audit_log_acts_idx on audit_log (organization_id, id)
  where action not in ('personal_data.read', 'personal_data.listed', 'live.started', 'live.ended');
create index audit_log_organization_id_id_idx on audit_log (organization_id, id);

do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  -- Tokens are signed and verified by the owner's pool (src/auth): REST handlers have no use for the sealed keys.
  revoke select on signing_key from biosignal_api;
end
$$;
