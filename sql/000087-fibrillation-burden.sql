-- The burden of fibrillation enters the catalog. No LOINC code was found that fits it exactly.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (130, 'AF-BURDEN', 'Burden of atrial fibrillation, 5 min', '%', '', '', 'scalar', 'calculation', 'derived', 'af_burden_300s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
