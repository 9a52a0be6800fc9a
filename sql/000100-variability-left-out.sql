-- The values of variability that had no row of their own enter the catalog: without one, a value is in no observation, no FHIR and no
-- tile. No LOINC code fits one exactly: 80404-7 is the standard deviation, 8637-1 an RR interval with ectopic beats.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (116, 'MEAN-NN', 'HRV mean NN interval, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'hrv_mean_nn_300s'),
  (117, 'RMSSD-5M', 'HRV RMSSD, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'hrv_rmssd_300s'),
  (118, 'SD1', 'HRV SD1, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'hrv_sd1_300s'),
  (119, 'SD2', 'HRV SD2, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'hrv_sd2_300s'),
  (120, 'PRV-MEAN-NN', 'PRV mean NN interval, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'prv_mean_nn_300s'),
  (121, 'PRV-RMSSD-5M', 'PRV RMSSD, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'prv_rmssd_300s'),
  (122, 'PRV-PNN50', 'PRV pNN50, 5 min', '1', '', '', 'scalar', 'calculation', 'derived', 'prv_pnn50_300s'),
  (123, 'PRV-SD1', 'PRV SD1, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'prv_sd1_300s'),
  (124, 'PRV-SD2', 'PRV SD2, 5 min', 'ms', '', '', 'scalar', 'calculation', 'derived', 'prv_sd2_300s'),
  (125, 'PRV-LF', 'PRV low-frequency power, 5 min', 'ms2', '', '', 'scalar', 'calculation', 'derived', 'prv_lf_300s'),
  (126, 'PRV-HF', 'PRV high-frequency power, 5 min', 'ms2', '', '', 'scalar', 'calculation', 'derived', 'prv_hf_300s'),
  (127, 'PRV-LF/HF', 'PRV LF/HF ratio, 5 min', '1', '', '', 'scalar', 'calculation', 'derived', 'prv_lf_hf_300s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;

-- As its method and the documents call it: pulses that reach the sensor are not every beat of the heart.
update biosignal set name = 'Pulse rate from PPG' where id = 21;
