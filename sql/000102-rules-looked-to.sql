-- Up to where rules have looked at a recording: one that comes faster than it was measured, as an import does, has all of its episodes,
-- and a rule that is made later tells of nothing old.
alter table stream add column rules_looked_to timestamptz;
comment on column stream.rules_looked_to is 'newest value that all rules have looked at, some minutes late; null: none yet';
-- What was there before has been looked at.
update stream set rules_looked_to = coalesce(last_sample_at, now());
