-- The index of atrial fibrillation and the longest RR interval enter the catalog.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (42, 'AF-INDEX', 'Index of atrial fibrillation, 30 s', '1', '', '', 'scalar', 'calculation', 'derived', 'af_index'),
  (43, 'RR-MAX', 'Longest RR interval, 10 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'longest_rr_10s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
