-- The burden of fibrillation enters the catalog; no LOINC code was found that fits it exactly. QT corrected by Bazett and by Fridericia have
-- codes of their own.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (130, 'AF-BURDEN', 'Burden of atrial fibrillation, 5 min', '%', '', '', 'scalar', 'calculation', 'derived', 'af_burden_300s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;

update biosignal set loinc_code = '76635-2' where id = 47;
update biosignal set loinc_code = '76634-5' where id = 48;
