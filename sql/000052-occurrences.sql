-- Occurrences follow from their schedule: each has a place on the person's clocks (slot), whatever their time zone becomes, and one that
-- nobody did is recorded as missed. A schedule may name a questionnaire, whose answers complete its occurrences.
alter table task_schedule
  add column questionnaire text, -- its code
  add column made_until date; -- occurrences up to this day of the person's clocks exist; null: none yet
-- What was before is not known: nobody recorded it.
update task_schedule set made_until = (now() at time zone 'UTC')::date - 2;

alter table task
  add column slot timestamp, -- of an occurrence: when, on the person's clocks; due is that moment in their time zone
  add column questionnaire text,
  add column response_id uuid, -- the answer that completed it
  add constraint task_response_id_fkey foreign key (response_id) references questionnaire_response (id) on delete set null,
  drop constraint task_status_check,
  add constraint task_status_check check (status in ('due', 'done', 'skipped', 'missed'));
-- A changed time zone had doubled some: of those at one time of one day the first has the slot.
update task t set slot = o.slot
from (
  select distinct on (t.schedule_id, local.slot) t.id, local.slot
  from task t join xuser x on x.id = t.xuser_id join project p on p.id = t.project_id
  cross join lateral (select t.due at time zone coalesce(x.time_zone, p.time_zone) as slot) local
  where t.schedule_id is not null
  order by t.schedule_id, local.slot, t.created_at, t.id
) o
where t.id = o.id;
drop index task_schedule_id_due_key;
create unique index task_schedule_id_slot_key on task (schedule_id, slot);
create index task_occurrence_due_idx on task (due) where status = 'due' and schedule_id is not null;
create index task_response_id_idx on task (response_id) where response_id is not null;
