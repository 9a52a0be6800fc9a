-- What the light of a pulse sensor tells enters the catalog. No LOINC code was found for a worn sensor.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (185, 'PI', 'Perfusion index from PPG', '%', '61006-3', '', 'scalar', 'calculation', 'derived', 'perfusion_index'),
  (186, 'WORN-PPG', 'PPG sensor worn', '1', '', '', 'scalar', 'calculation', 'derived', 'worn_ppg')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
