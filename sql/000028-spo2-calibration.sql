-- A device profile may bring the line of its oximeter, SpO2 = offset - slope * R. A stream keeps the one that held when it was opened, so that
-- its stored samples give the same values whenever they are computed again.

alter table device_profile
  add column spo2_offset double precision, -- percent
  add column spo2_slope double precision, -- percent per ratio of ratios
  add constraint device_profile_spo2_check check ((spo2_offset is null) = (spo2_slope is null));

alter table stream
  add column spo2_offset double precision,
  add column spo2_slope double precision,
  add constraint stream_spo2_check check ((spo2_offset is null) = (spo2_slope is null));

update biosignal set name = 'Oxygen saturation from red and infrared light' where id = 41;
