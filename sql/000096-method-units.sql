-- Units of the features that no biosignal of the catalog shows: their methods were stored without one.

update method set unit = case
    when name like '%\_lf\_hf\_300s' or name like '%\_pnn50\_300s' then '1'
    when name like '%\_lf\_300s' or name like '%\_hf\_300s' then 'ms2'
    else 'ms'
  end
  where kind = 'feature' and unit = '' and name in ('hrv_mean_nn_300s', 'hrv_rmssd_300s', 'hrv_sd1_300s', 'hrv_sd2_300s', 'prv_mean_nn_300s',
    'prv_rmssd_300s', 'prv_pnn50_300s', 'prv_sd1_300s', 'prv_sd2_300s', 'prv_lf_300s', 'prv_hf_300s', 'prv_lf_hf_300s');
