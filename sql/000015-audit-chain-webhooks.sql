-- The audit log as a hash chain per organization, append-only; and webhooks with their deliveries.

alter table audit_log add column chain_seq bigint, add column prev_hash bytea, add column hash bytea;
create unique index audit_log_chain_key on audit_log (organization_id, chain_seq) nulls not distinct where chain_seq is not null;

-- What an entry's hash covers; jsonb writes members in one order, so the text is the same wherever it is computed.
create function audit_log_text(entry audit_log) returns bytea language sql stable set timezone = 'UTC' as $$
  select convert_to((to_jsonb(entry) - 'id' - 'hash' - 'prev_hash')::text, 'UTF8')
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

create table webhook (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid, -- null: every project
  url text not null,
  events text[] not null, -- resource.action, or * for all
  secret bytea not null, -- signs deliveries
  description text not null default '',
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  constraint webhook_pkey primary key (id),
  constraint webhook_organization_id_fkey foreign key (organization_id) references organization (id) on delete cascade,
  constraint webhook_project_id_fkey foreign key (organization_id, project_id) references project (organization_id, id) on delete cascade,
  constraint webhook_secret_check check (octet_length(secret) >= 32)
);
create index webhook_organization_id_idx on webhook (organization_id);

create table webhook_delivery (
  id uuid not null default gen_random_uuid(),
  webhook_id uuid not null,
  event text not null,
  payload jsonb not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_status integer, -- HTTP
  last_error text,
  created_at timestamptz not null default now(),
  delivered_at timestamptz,
  constraint webhook_delivery_pkey primary key (id),
  constraint webhook_delivery_webhook_id_fkey foreign key (webhook_id) references webhook (id) on delete cascade,
  constraint webhook_delivery_status_check check (status in ('pending', 'delivered', 'failed'))
);
create index webhook_delivery_due_idx on webhook_delivery (next_attempt_at) where status = 'pending';
create index webhook_delivery_webhook_id_idx on webhook_delivery (webhook_id, created_at);
