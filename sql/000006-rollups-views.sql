-- feature_1m, feature_1h, feature_1d without continuous aggregates: the same columns and answers, computed when asked.
--! requires: portable

create view feature_1m as
select
  date_bin('1 minute', time, timestamptz '2001-01-01 00:00:00+00') as bucket,
  stream_id, method_id, channel_no,
  count(*) as n,
  count(value) as value_n,
  count(value) filter (where qmask = 0) as good_n,
  count(value) filter (where qmask = 1) as suspect_n,
  sum(value::numeric) as sum,
  sum(value::numeric) filter (where qmask = 0) as good_sum,
  sum(value::numeric) filter (where qmask = 1) as suspect_sum,
  min(value) as min,
  min(value) filter (where qmask = 0) as good_min,
  min(value) filter (where qmask = 1) as suspect_min,
  max(value) as max,
  max(value) filter (where qmask = 0) as good_max,
  max(value) filter (where qmask = 1) as suspect_max,
  (array_agg(value order by time) filter (where value is not null))[1] as first,
  (array_agg(value order by time) filter (where value is not null and qmask = 0))[1] as good_first,
  (array_agg(value order by time desc) filter (where value is not null))[1] as last,
  (array_agg(value order by time desc) filter (where value is not null and qmask = 0))[1] as good_last
from feature
group by 1, 2, 3, 4;

create view feature_1h as
select
  date_bin('1 hour', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket,
  stream_id, method_id, channel_no,
  sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
  sum(sum) as sum, sum(good_sum) as good_sum, sum(suspect_sum) as suspect_sum,
  min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
  max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
  (array_agg(first order by bucket) filter (where first is not null))[1] as first,
  (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
  (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
  (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
from feature_1m
group by 1, 2, 3, 4;

create view feature_1d as
select
  date_bin('1 day', bucket, timestamptz '2001-01-01 00:00:00+00') as bucket,
  stream_id, method_id, channel_no,
  sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
  sum(sum) as sum, sum(good_sum) as good_sum, sum(suspect_sum) as suspect_sum,
  min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
  max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
  (array_agg(first order by bucket) filter (where first is not null))[1] as first,
  (array_agg(good_first order by bucket) filter (where good_first is not null))[1] as good_first,
  (array_agg(last order by bucket desc) filter (where last is not null))[1] as last,
  (array_agg(good_last order by bucket desc) filter (where good_last is not null))[1] as good_last
from feature_1h
group by 1, 2, 3, 4;
