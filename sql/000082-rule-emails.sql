-- E-mail of rules: whom a rule tells of its episodes, when not, and what is still to be sent.

alter table episode_rule
  add column email_to text[] not null default '{}', -- addresses
  add column quiet_from time, -- on the project's clocks: e-mail waits from then
  add column quiet_to time, -- until then
  add constraint episode_rule_email_to_check check (cardinality(email_to) <= 10),
  add constraint episode_rule_quiet_check check ((quiet_from is null) = (quiet_to is null) and quiet_from <> quiet_to);

-- One episode that one address is to be told of. Several of them make one e-mail.
create table episode_email (
  id uuid not null default gen_random_uuid(),
  organization_id uuid not null,
  project_id uuid not null,
  rule_id uuid not null,
  episode_id uuid not null,
  recipient text not null,
  status text not null default 'pending',
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  last_error text,
  created_at timestamptz not null default now(),
  sent_at timestamptz,
  constraint episode_email_pkey primary key (id),
  constraint episode_email_rule_id_fkey foreign key (rule_id) references episode_rule (id) on delete cascade,
  constraint episode_email_episode_id_fkey foreign key (episode_id) references episode (id) on delete cascade,
  constraint episode_email_status_check check (status in ('pending', 'sent', 'failed'))
);
create unique index episode_email_episode_id_recipient_key on episode_email (episode_id, recipient);
create index episode_email_due_idx on episode_email (project_id, recipient, next_attempt_at) where status = 'pending';
create index episode_email_sent_idx on episode_email (project_id, recipient, sent_at) where status = 'sent';
create index episode_email_rule_id_idx on episode_email (rule_id, created_at);

-- Is it between two times of day on the clocks of a time zone? They may lie around midnight.
create function is_quiet(quiet_from time, quiet_to time, time_zone text, at timestamptz) returns boolean language sql stable parallel safe as $$
  select coalesce(case when quiet_from < quiet_to then t >= quiet_from and t < quiet_to else t >= quiet_from or t < quiet_to end, false)
  from (select (at at time zone time_zone)::time as t) clock
$$;

alter table episode_email enable row level security;
do $$
begin
  if exists (select from pg_roles where rolname = 'biosignal_api') then
    create policy episode_email_own on episode_email to biosignal_api using (organization_id = current_organization());
    grant select on episode_email to biosignal_api;
  end if;
end
$$;
