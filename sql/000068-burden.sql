-- The burden of ectopic beats enters the catalog. No LOINC code was found that fits one exactly.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (111, 'V-BURDEN', 'Ventricular ectopic burden, 5 min', '%', '', '', 'scalar', 'calculation', 'derived', 'ventricular_burden_300s'),
  (112, 'SV-BURDEN', 'Supraventricular ectopic burden, 5 min', '%', '', '', 'scalar', 'calculation', 'derived', 'supraventricular_burden_300s'),
  (113, 'V-COUPLETS', 'Ventricular couplets, 5 min', '{couplets}', '', '', 'scalar', 'calculation', 'derived', 'ventricular_couplets_300s'),
  (114, 'V-RUNS', 'Ventricular runs, 5 min', '{runs}', '', '', 'scalar', 'calculation', 'derived', 'ventricular_runs_300s'),
  (115, 'V-RUN-MAX', 'Longest ventricular run, 10 s', '{beats}', '', '', 'scalar', 'calculation', 'derived', 'ventricular_run_10s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
