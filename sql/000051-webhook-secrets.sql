-- A receiver changes its secret without losing a delivery: for a while both sign. And an address that was given up says why.
alter table webhook
  add column previous_secret bytea,
  add column previous_secret_expires_at timestamptz,
  add column gone_reason text,
  add constraint webhook_previous_secret_check check ((previous_secret is null) = (previous_secret_expires_at is null));
update webhook set gone_reason = 'the address answered 410 Gone' where gone_at is not null;
