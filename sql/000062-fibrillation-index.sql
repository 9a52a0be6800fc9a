-- The index of atrial fibrillation enters the catalog.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values (42, 'AF-INDEX', 'Index of atrial fibrillation, 30 s', '1', '', '', 'scalar', 'calculation', 'derived', 'af_index')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
