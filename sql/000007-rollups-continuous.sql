-- feature_1m, feature_1h, feature_1d as real-time continuous aggregates, each from the one before.
-- Sums are numeric: exact, so that a bucket has the same digits in whatever order its rows were added.
--! requires: timescale

create materialized view feature_1m with (timescaledb.continuous, timescaledb.materialized_only = false) as
select
  time_bucket('1 minute', time) as bucket,
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
  first(value, time) filter (where value is not null) as first,
  first(value, time) filter (where value is not null and qmask = 0) as good_first,
  last(value, time) filter (where value is not null) as last,
  last(value, time) filter (where value is not null and qmask = 0) as good_last
from feature
group by 1, 2, 3, 4
with no data;

create materialized view feature_1h with (timescaledb.continuous, timescaledb.materialized_only = false) as
select
  time_bucket('1 hour', bucket) as bucket,
  stream_id, method_id, channel_no,
  sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
  sum(sum) as sum, sum(good_sum) as good_sum, sum(suspect_sum) as suspect_sum,
  min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
  max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
  first(first, bucket) filter (where first is not null) as first,
  first(good_first, bucket) filter (where good_first is not null) as good_first,
  last(last, bucket) filter (where last is not null) as last,
  last(good_last, bucket) filter (where good_last is not null) as good_last
from feature_1m
group by 1, 2, 3, 4
with no data;

create materialized view feature_1d with (timescaledb.continuous, timescaledb.materialized_only = false) as
select
  time_bucket('1 day', bucket) as bucket,
  stream_id, method_id, channel_no,
  sum(n)::bigint as n, sum(value_n)::bigint as value_n, sum(good_n)::bigint as good_n, sum(suspect_n)::bigint as suspect_n,
  sum(sum) as sum, sum(good_sum) as good_sum, sum(suspect_sum) as suspect_sum,
  min(min) as min, min(good_min) as good_min, min(suspect_min) as suspect_min,
  max(max) as max, max(good_max) as good_max, max(suspect_max) as suspect_max,
  first(first, bucket) filter (where first is not null) as first,
  first(good_first, bucket) filter (where good_first is not null) as good_first,
  last(last, bucket) filter (where last is not null) as last,
  last(good_last, bucket) filter (where good_last is not null) as good_last
from feature_1h
group by 1, 2, 3, 4
with no data;

-- Refreshed up to shortly before now: the rest is answered from the raw rows, and late rows are invalidated and refreshed again.
select add_continuous_aggregate_policy('feature_1m', start_offset => interval '7 days', end_offset => interval '2 minutes', schedule_interval => interval '1 minute');
select add_continuous_aggregate_policy('feature_1h', start_offset => interval '14 days', end_offset => interval '1 hour', schedule_interval => interval '10 minutes');
select add_continuous_aggregate_policy('feature_1d', start_offset => interval '60 days', end_offset => interval '1 day', schedule_interval => interval '1 hour');
