-- Units and ranges of what is measured: 98.6 is no body temperature in Cel, 250 no oxygen saturation in %. What cannot be is refused, what is
-- unlikely is flagged; of devices, whose packets are never refused for a value, both are flagged.
alter table biosignal
  add column possible_min double precision, -- outside of these no body has been
  add column possible_max double precision,
  add column plausible_min double precision, -- outside of these a mistake is likelier than the value
  add column plausible_max double precision,
  add column range_source text not null default '';

insert into biosignal (id, abbreviation, name, unit, loinc_code, signal_type, role, source_type, code) values
  (67, 'WEIGHT', 'Body weight', 'kg', '29463-7', 'scalar', 'measurement', 'device', 'weight'),
  (68, 'BP-SYS', 'Systolic blood pressure', 'mm[Hg]', '8480-6', 'scalar', 'measurement', 'device', 'bp_systolic'),
  (69, 'BP-DIA', 'Diastolic blood pressure', 'mm[Hg]', '8462-4', 'scalar', 'measurement', 'device', 'bp_diastolic'),
  (70, 'GLUCOSE', 'Blood glucose', 'mg/dL', '2339-0', 'scalar', 'measurement', 'device', 'glucose');

update biosignal b set possible_min = r.low, possible_max = r.high, plausible_min = r.plausible_low, plausible_max = r.plausible_high, range_source = r.source
from (values
  ('steps', 0, 200000, 0, 100000, 'A count; a run of 24 h has about 200,000 steps.'),
  ('spo2', 0, 100, 50, 100, 'A share. Oximeters state their accuracy for 70 to 100 % (ISO 80601-2-61).'),
  ('body_temperature', 10, 50, 30, 43, 'Survived: 13.7 Cel (Gilbert 2000, Lancet 355:375) and 46.5 Cel (Slovis 1982, Ann Emerg Med 11:269).'),
  ('sleep_duration', 0, 72, 0, 18, 'A duration; more than 18 h a night is rarely sleep.'),
  ('heart_rate', 0, 600, 25, 250, 'Up to 600 /min is described (Chhabra 2012, Indian Pacing Electrophysiol J 12:32).'),
  ('battery', 0, 100, 0, 100, 'A share.'),
  ('weight', 0.2, 700, 2, 300, 'From the smallest newborns who lived, about 0.2 kg, to the heaviest people, about 635 kg.'),
  ('bp_systolic', 0, 500, 60, 260, 'Up to 480/350 mm[Hg] was measured in weight lifters (MacDougall 1985, J Appl Physiol 58:785).'),
  ('bp_diastolic', 0, 400, 30, 160, 'Up to 480/350 mm[Hg] was measured in weight lifters (MacDougall 1985, J Appl Physiol 58:785).'),
  ('glucose', 0, 3000, 20, 600, 'Meters read 20 to 600 mg/dL; above 2,600 mg/dL was survived.'),
  ('mood', 1, 5, 1, 5, 'The scale.'),
  ('phq9', 0, 27, 0, 27, 'The scale.'),
  ('gad7', 0, 21, 0, 21, 'The scale.'),
  ('who5', 0, 100, 0, 100, 'The scale.')
) as r (code, low, high, plausible_low, plausible_high, source)
where b.code = r.code and b.project_id is null;

-- value = given * factor + shift, in the unit of the biosignal.
create table unit_conversion (
  given text not null,
  unit text not null, -- UCUM, as the catalog has it
  code text not null default '', -- of the biosignal that it is right for; empty: any
  factor double precision not null,
  shift double precision not null default 0,
  constraint unit_conversion_pkey primary key (given, unit, code)
);
insert into unit_conversion (given, unit, code, factor, shift) values
  ('°C', 'Cel', '', 1, 0),
  ('[degF]', 'Cel', '', 5.0 / 9, -160.0 / 9),
  ('°F', 'Cel', '', 5.0 / 9, -160.0 / 9),
  ('K', 'Cel', '', 1, -273.15),
  ('g', 'kg', '', 0.001, 0),
  ('[lb_av]', 'kg', '', 0.45359237, 0),
  ('lb', 'kg', '', 0.45359237, 0),
  ('mmHg', 'mm[Hg]', '', 1, 0),
  ('kPa', 'mm[Hg]', '', 1 / 0.133322387415, 0),
  ('mmol/L', 'mg/dL', 'glucose', 18.0156, 0), -- C6H12O6: 180.156 g/mol
  ('1/min', '/min', '', 1, 0),
  ('{beats}/min', '/min', '', 1, 0),
  ('bpm', '/min', 'heart_rate', 1, 0),
  ('1', '%', '', 100, 0),
  ('min', 'h', '', 1.0 / 60, 0),
  ('s', 'h', '', 1.0 / 3600, 0);

alter table measurement
  add column given_value double precision, -- as it was sent, where the unit was another one
  add column given_unit text;
create or replace view api.measurement with (security_barrier, check_option = cascaded) as
  select * from public.measurement where organization_id = current_organization();

do $$
begin
  if (select count(*) = 4 from pg_roles where rolname in ('biosignal_api', 'biosignal_ingest', 'biosignal_worker', 'biosignal_audit')) then
    grant select on unit_conversion to biosignal_api, biosignal_ingest, biosignal_worker;
  end if;
end
$$;
