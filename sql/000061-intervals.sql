-- PR, QRS and QT of the first ECG lead enter the catalog.

insert into biosignal (id, abbreviation, name, unit, loinc_code, mdc_code, signal_type, role, source_type, feature)
values
  (44, 'PR', 'PR interval, 60 s', 'ms', '8625-6', '', 'scalar', 'calculation', 'derived', 'pr_60s'),
  (45, 'QRS', 'QRS duration, 60 s', 'ms', '8633-0', '', 'scalar', 'calculation', 'derived', 'qrs_60s'),
  (46, 'QT', 'QT interval, 60 s', 'ms', '8634-8', '', 'scalar', 'calculation', 'derived', 'qt_60s'),
  (47, 'QTC-B', 'QT corrected (Bazett), 60 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'qtc_bazett_60s'),
  (48, 'QTC-F', 'QT corrected (Fridericia), 60 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'qtc_fridericia_60s'),
  (49, 'QTC-FR', 'QT corrected (Framingham), 60 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'qtc_framingham_60s'),
  (50, 'QTC-H', 'QT corrected (Hodges), 60 s', 'ms', '', '', 'scalar', 'calculation', 'derived', 'qtc_hodges_60s')
on conflict (id) do update set abbreviation = excluded.abbreviation, name = excluded.name, unit = excluded.unit, loinc_code = excluded.loinc_code,
  mdc_code = excluded.mdc_code, signal_type = excluded.signal_type, role = excluded.role, source_type = excluded.source_type, feature = excluded.feature;
