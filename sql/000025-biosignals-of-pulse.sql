-- What the pulse gives beside its rate at rest can be asked for as observations: heart rate in motion, breathing, oxygen saturation. The last has
-- no LOINC code: 59408-5 is a measured saturation, and this one is on a textbook line until the device is calibrated.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature, channel_kind, code) values
  (38, 'HR-PPG-M', 'Heart rate from PPG in motion', '/min', '8867-4', '', 'scalar', 'calculation', 'derived', 'hr_ppg_motion', null, null),
  (39, 'RESP-PPG', 'Respiratory rate from the pulse', '/min', '9279-1', '', 'scalar', 'calculation', 'derived', 'resp_rate_ppg', null, null),
  (40, 'RESP-ECG', 'Respiratory rate from ECG', '/min', '9279-1', '', 'scalar', 'calculation', 'derived', 'resp_rate_ecg', null, null),
  (41, 'SPO2-PPG', 'Oxygen saturation from red and infrared light, uncalibrated', '%', '', '', 'scalar', 'calculation', 'derived', 'spo2', null, null);
