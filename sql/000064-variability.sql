-- The values of variability that come once in five minutes enter the catalog. No LOINC code was found that fits one exactly.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (100, 'PNN20', 'HRV pNN20, 5 min', '1', '', '', 'scalar', 'calculation', 'derived', 'hrv_pnn20_300s'),
  (101, 'SD1/SD2', 'HRV SD1/SD2 ratio, 5 min', '1', '', '', 'scalar', 'calculation', 'derived', 'hrv_sd1_sd2_300s'),
  (102, 'HRV-TI', 'HRV triangular index, 5 min', '1', '', '', 'scalar', 'calculation', 'derived', 'hrv_triangular_300s'),
  (103, 'TINN', 'HRV TINN, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'hrv_tinn_300s'),
  (104, 'SI', 'HRV stress index (Baevsky), 5 min', '%/s2', '', '', 'scalar', 'calculation', 'derived', 'hrv_stress_index_300s'),
  (105, 'DFA-A1', 'HRV DFA alpha 1, 5 min', '1', '', '', 'scalar', 'calculation', 'derived', 'hrv_dfa_alpha1_300s'),
  (106, 'SAMPEN', 'HRV sample entropy, 5 min', '1', '', '', 'scalar', 'calculation', 'derived', 'hrv_sample_entropy_300s'),
  (107, 'VLF', 'HRV very-low-frequency power, 5 min', 'ms2', '', '', 'scalar', 'calculation', 'derived', 'hrv_vlf_300s'),
  (108, 'TP', 'HRV total power, 5 min', 'ms2', '', '', 'scalar', 'calculation', 'derived', 'hrv_total_power_300s'),
  (109, 'LF-NU', 'HRV LF, normalised units, 5 min', '%', '', '', 'scalar', 'calculation', 'derived', 'hrv_lf_nu_300s'),
  (110, 'HF-NU', 'HRV HF, normalised units, 5 min', '%', '', '', 'scalar', 'calculation', 'derived', 'hrv_hf_nu_300s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
