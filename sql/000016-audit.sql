-- Who did what: a hash chain per organization. Append only: no role but the owner may update or delete, and triggers refuse it to the
-- owner, too.

-- One act, or one look at somebody's data.
create table audit_log (
  id bigint not null generated always as identity,
  time timestamptz not null default now(),
  organization_id uuid,
  -- Whose data it is about, and in which project: "who read this person's data, and when" is a question to the log itself. Ids without
  -- foreign keys: an entry outlives the person whom it names. After an erasure the uuid is all that is left of them there.
  subject_id uuid,
  project_id uuid,
  actor_kind text not null, -- key, user, operator, system
  actor_id text not null default '',
  action text not null, -- e.g. api_key.created
  target_kind text not null default '',
  target_id text not null default '',
  detail jsonb not null default '{}',
  ip inet,
  request_id text not null default '',
  chain_seq bigint, -- number in the chain of its organization
  prev_hash bytea,
  hash bytea,
  constraint audit_log_pkey primary key (id)
);
create index audit_log_organization_id_time_idx on audit_log (organization_id, time);
create index audit_log_subject_idx on audit_log (organization_id, subject_id, id) where subject_id is not null;
create index audit_log_actor_idx on audit_log (organization_id, actor_id, id);
-- Reads are most of the log; this finds the rest.
create index audit_log_acts_idx on audit_log (organization_id, id)
  where action not in ('personal_data.read', 'personal_data.listed', 'live.started', 'live.ended');
create index audit_log_organization_id_id_idx on audit_log (organization_id, id);
create unique index audit_log_chain_key on audit_log (organization_id, chain_seq) nulls not distinct where chain_seq is not null;

-- What an entry's hash covers; jsonb writes members in one order, so the text is the same wherever it is computed.
-- What is empty is left out, so that entries from before keep the hash that they were written with.
create function audit_log_text(entry audit_log) returns bytea language sql stable set timezone = 'UTC' as $$
  select convert_to((
    to_jsonb(entry) - 'id' - 'hash' - 'prev_hash'
      - case when entry.subject_id is null then 'subject_id' else '' end
      - case when entry.project_id is null then 'project_id' else '' end
  )::text, 'UTF8')
$$;

-- chain_seq, not id, is the order: ids are drawn before the lock is held.
create function audit_log_chain() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('biosignal audit ' || coalesce(new.organization_id::text, ''), 0));
  select chain_seq + 1, hash into new.chain_seq, new.prev_hash
  from audit_log
  where organization_id is not distinct from new.organization_id and chain_seq is not null
  order by chain_seq desc limit 1;
  new.chain_seq := coalesce(new.chain_seq, 1);
  new.hash := sha256(coalesce(new.prev_hash, ''::bytea) || audit_log_text(new));
  return new;
end
$$;
create trigger audit_log_chain before insert on audit_log for each row execute function audit_log_chain();

create function audit_log_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'audit_log is append-only' using errcode = 'insufficient_privilege';
end
$$;
create trigger audit_log_append_only before update or delete on audit_log for each row execute function audit_log_append_only();
create trigger audit_log_no_truncate before truncate on audit_log for each statement execute function audit_log_append_only();

-- First entry whose hash, predecessor or number is not what it must be; null: the chain is whole.
create function audit_log_broken_at(organization uuid) returns bigint language sql stable as $$
  select min(chain_seq) from (
    select a.chain_seq,
      a.chain_seq = 1 + coalesce(lag(a.chain_seq) over w, 0)
        and a.prev_hash is not distinct from lag(a.hash) over w
        and a.hash = sha256(coalesce(a.prev_hash, ''::bytea) || audit_log_text(a)) as whole
    from audit_log a
    where a.organization_id is not distinct from organization and a.chain_seq is not null
    window w as (order by a.chain_seq)
  ) entries where not coalesce(whole, false)
$$;
