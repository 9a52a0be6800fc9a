-- Public keys are replaced with an overlap, too: sdk keys end at a time, a project's key before the newest one works until then.

alter table sdk_key
  add column expires_at timestamptz, -- null: never. A rotated key gets the end of the overlap here
  add column rotated_from uuid, -- the key that this one replaces
  add constraint sdk_key_rotated_from_fkey foreign key (rotated_from) references sdk_key (id) on delete set null;

alter table project
  add column previous_project_key text, -- the key before project_key
  add column previous_key_expires_at timestamptz, -- it works until then
  add constraint project_previous_project_key_key unique (previous_project_key),
  add constraint project_previous_key_check check ((previous_project_key is null) = (previous_key_expires_at is null));
