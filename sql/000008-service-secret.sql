-- Secrets that all nodes of one service share and no client ever sees, e.g. what page cursors are signed with.
create table service_secret (
  name text not null,
  value bytea not null,
  created_at timestamptz not null default now(),
  constraint service_secret_pkey primary key (name),
  constraint service_secret_value_check check (octet_length(value) >= 32)
);
