-- How the time of a stream is known: stated by the recording itself, or by a clock that was believed or not.

alter table stream add column time_source text; -- null: of a stream that an earlier release opened
alter table stream add constraint stream_time_source_check check (time_source in ('stated', 'device', 'age', 'arrival'));
comment on column stream.time_source is 'stated: by the recording; device: its clock; age: of its packets, by a clock that was wrong; arrival: of its first packet';

-- Who sends what retention deletes at once is told so.
do $$
begin
  if (select count(*) < 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    return;
  end if;
  create policy project_retention_service on project_retention for select to biosignal_ingest using (true);
  grant select on project_retention to biosignal_ingest;
end
$$;
