-- The shape of the pulse wave enters the catalog. No LOINC code was found for any of it.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (187, 'CREST-T', 'Crest time of the pulse, 60 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'pulse_crest_time_60s'),
  (188, 'PULSE-W', 'Width of the pulse at half height, 60 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'pulse_width_60s'),
  (189, 'PULSE-IPA', 'Area ratio of the pulse, 60 s', '1', '', '', 'scalar', 'calculation', 'derived', 'pulse_area_ratio_60s'),
  (190, 'PULSE-RI', 'Reflection index of the pulse, 60 s', '%', '', '', 'scalar', 'calculation', 'derived', 'pulse_reflection_index_60s'),
  (191, 'PULSE-DT', 'Delay of the reflected pulse wave, 60 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'pulse_reflection_delay_60s'),
  (192, 'PULSE-BA', 'b/a of the second derivative of the pulse, 60 s', '1', '', '', 'scalar', 'calculation', 'derived', 'pulse_b_a_60s'),
  (193, 'PULSE-AGI', 'Aging index of the pulse, 60 s', '1', '', '', 'scalar', 'calculation', 'derived', 'pulse_aging_index_60s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
