/** A rule tried on history: the stretches that it would have opened episodes for, in the stored values of a range. Nothing is written.
 *
 *  Recording by recording, day by day: SQL finds the minutes with a value beyond the bound and unpacks those alone (rule-values.ts), and
 *  the same finder as in the rounds (stretches.ts) goes over them. */
import type { Db } from '../storage/database/database.ts';
import { newestFirst } from '../storage/newest-method.ts';
import { NEWS_SEC, REACHED_SQL, silenceSec } from './episode-rule.ts';
import type { EpisodeRule } from './episode-rule.ts';
import { valuesBeyond } from './rule-values.ts';
import { StretchFinder } from './stretches.ts';
import type { Stretch } from './stretches.ts';

export type TriedEpisode = Readonly<{
  subject_id: string;
  external_id: string;
  stream_id: string;
  started_at: string;
  ended_at: string | null;
  extreme: number;
  duration_sec: number;
}>;
export type Trial = Readonly<{
  episodes: readonly TriedEpisode[];
  episode_count: number;
  person_count: number;
  covered_sec: number;
  recording_count: number;
  recording_total: number;
  with_value_count: number;
  complete: boolean;
}>;
export type TrialRange = Readonly<{
  projectId: string;
  /** null: everybody who shares their data with the project. */
  subjectId: string | null;
  /** null: not only the people of a group. */
  groupId: string | null;
  sinceMs: number;
  untilMs: number;
}>;

/** Episodes in one answer; all are counted. */
const EPISODES_MAX = 1000;
/** Recordings of one trial, the newest: a study of many short ones has thousands. */
const RECORDINGS_MAX = 10_000;
/** Recordings of which one statement says whether there is anything to unpack. */
const LOOK_RECORDINGS = 200;
/** Time after which a trial begins no other day of a recording, ms. */
const WORK_MS_MAX = 10_000;
/** Range that one statement unpacks at most, ms. */
const WINDOW_MS = 86_400_000;

type Recording = Readonly<{
  id: number;
  uuid: string;
  xuser_id: string;
  external_id: string;
  from_ms: number;
  to_ms: number;
  is_over: boolean;
  /** It may have no samples at all. */
  is_new: boolean;
  /** How many there are in the range. */
  total: number;
}>;

/** @param methodId null: no value of the feature in the range  @param isBeyond a minute may have a value beyond the looser bound */
type Look = Readonly<{ methodId: number | null; isBeyond: boolean }>;

/** Tries a rule on a range.  @param rule of a project: without a trusted feature, beginning at its first value */
export async function tryRule(db: Db, rule: EpisodeRule, range: TrialRange): Promise<Trial> {
  const stopMs = performance.now() + WORK_MS_MAX;
  const recordings = await recordingsOf(db, rule, range);
  const total = recordings[0]?.total ?? 0;
  const episodes: TriedEpisode[] = [];
  let complete = total === recordings.length;
  let examined = 0;
  let withValue = 0;
  let looks: ReadonlyMap<number, Look> = new Map();
  for (const [i, recording] of recordings.entries()) {
    if (i % LOOK_RECORDINGS === 0 && performance.now() > stopMs) {
      complete = false;
      break;
    }
    if (i % LOOK_RECORDINGS === 0) looks = await lookAt(db, rule, recordings.slice(i, i + LOOK_RECORDINGS));
    const { methodId, isBeyond } = looks.get(recording.id)!;
    const stretches = methodId === null || !isBeyond ? [] : await stretchesOf(db, rule, methodId, recording, stopMs);
    if (stretches === null) {
      complete = false;
      break;
    }
    examined += Number(methodId !== null || !recording.is_new);
    withValue += Number(methodId !== null);
    for (const stretch of stretches) episodes.push(episodeOf(recording, stretch));
  }
  episodes.sort((a, b) => (a.started_at < b.started_at ? -1 : 1));
  return {
    episodes: episodes.slice(0, EPISODES_MAX),
    episode_count: episodes.length,
    person_count: new Set(episodes.map(({ subject_id: id }) => id)).size,
    covered_sec: episodes.reduce((sum, { duration_sec: lasted }) => sum + lasted, 0),
    recording_count: examined,
    recording_total: total,
    with_value_count: withValue,
    complete,
  };
}

/** Recordings with samples in the range, the newest first, as many as a trial takes. */
async function recordingsOf(
  db: Db,
  rule: EpisodeRule,
  { projectId, subjectId, groupId, sinceMs, untilMs }: TrialRange,
): Promise<readonly Recording[]> {
  // SQL: missing_consents, and arithmetic. A row says some seconds late from when to when there are samples.
  const settled = `coalesce(s.last_packet_at < now() - interval '1 minute' and s.last_sample_at is not null, false)`;
  const { rows } = await db.query<Recording>(
    `select s.id, s.uuid, s.xuser_id, x.external_id,
       s.recorded_from is null as is_new, greatest($3::float8, (extract(epoch from s.recorded_from) * 1000)::float8 - 60000) as from_ms,
       case when ${settled} then least($4::float8, (extract(epoch from s.last_sample_at) * 1000)::float8 + 60000) else $4::float8 end as to_ms,
       coalesce((s.last_packet_at < now() - make_interval(secs => $6::integer) or s.last_sample_at < now() - interval '${NEWS_SEC} s') and s.last_sample_at < to_timestamp($4::float8 / 1000), false) as is_over,
       count(*) over ()::float8 as total
     from stream s join xuser x on x.id = s.xuser_id
     where s.project_id = $1 and ($2::uuid is null or s.xuser_id = $2) and not 'sharing' = any (missing_consents(x.id))
       and ($5::uuid is null or s.xuser_id in (select g.xuser_id from person_group_member g where g.group_id = $5))
       and (s.recorded_from is null or s.recorded_from < to_timestamp($4::float8 / 1000))
       and (not ${settled} or s.last_sample_at >= to_timestamp($3::float8 / 1000))
     order by s.started_at desc, s.id desc limit ${RECORDINGS_MAX}`,
    [projectId, subjectId, sinceMs, untilMs, groupId, silenceSec(rule)],
  );
  return rows;
}

/** @returns null when the time is over */
async function stretchesOf(
  db: Db,
  rule: EpisodeRule,
  methodId: number,
  recording: Recording,
  stopMs: number,
): Promise<readonly Stretch[] | null> {
  const finder = new StretchFinder(rule);
  const stretches: Stretch[] = [];
  for (let fromMs = recording.from_ms; fromMs < recording.to_ms; fromMs += WINDOW_MS) {
    if (performance.now() > stopMs) return null;
    const { t, v } = await valuesBeyond(db, rule, methodId, recording.id, fromMs, Math.min(fromMs + WINDOW_MS, recording.to_ms));
    for (let i = 0; i < t.length; i++) {
      const ended = finder.push(t[i]!, v[i]!);
      if (ended !== null) stretches.push(ended);
    }
  }
  const last = finder.finish(recording.is_over ? Infinity : await examinedMs(db, rule, methodId, recording));
  return last === null ? stretches : [...stretches, last];
}

/** Of each recording the newest version of the feature with values in the range, as in charts: before an upgrade it was another. */
async function lookAt(db: Db, rule: EpisodeRule, recordings: readonly Recording[]): Promise<ReadonlyMap<number, Look>> {
  const { feature, above, below, endBound } = rule;
  // SQL: a function of the schema looks for values.
  const { rows } = await db.query<{ id: number; method_id: number | null; beyond: boolean }>(
    `select r.id, m.id as method_id, m.id is not null and exists (
       select from feature_1m f
       where f.stream_id = r.id and f.method_id = m.id and f.bucket > r.low - interval '1 minute' and f.bucket < r.high
         and (f.max >= $5 or f.min <= $6)) as beyond
     from (select id, to_timestamp(from_ms / 1000) as low, to_timestamp(to_ms / 1000) as high
           from unnest($1::integer[], $2::float8[], $3::float8[]) as given (id, from_ms, to_ms)) r
     left join lateral (
       select m.id from method m
       -- A recording without any value is told at once, not by each version of the feature.
       where (exists (select from feature_block b where b.stream_id = r.id and b.time > r.low - interval '1 minute' and b.time < r.high)
           or exists (select from derived_open o where o.stream_id = r.id))
         and m.kind = 'feature' and m.name = $4 and has_feature(array[r.id], m.id, r.low, r.high)
       order by ${newestFirst('m')} limit 1) m on true`,
    [
      recordings.map(({ id }) => id),
      recordings.map(({ from_ms: fromMs }) => fromMs),
      recordings.map(({ to_ms: toMs }) => toMs),
      feature,
      above === undefined ? null : (endBound ?? above),
      below === undefined ? null : (endBound ?? below),
    ],
  );
  return new Map(rows.map(({ id, method_id: methodId, beyond: isBeyond }) => [id, { methodId, isBeyond }]));
}

/** Time of the newest value in the range, ms: what came after the last one beyond the bound says whether a stretch is over. Infinity: the
 *  recording has gone on without the feature, as in the rounds. */
async function examinedMs(db: Db, rule: EpisodeRule, methodId: number, { id, from_ms: fromMs, to_ms: toMs }: Recording): Promise<number> {
  // SQL: as above.
  const { rows } = await db.query<{ newest: number | null; reached: number | null }>(
    `with last as materialized (
       select max(f.bucket) as minute from feature_1m f
       where f.stream_id = $1 and f.method_id = $2
         and f.bucket > to_timestamp($3::float8 / 1000) - interval '1 minute' and f.bucket < to_timestamp($4::float8 / 1000))
     select (extract(epoch from max(f.time)) * 1000)::float8 as newest,
       (select (extract(epoch from least(${REACHED_SQL}, to_timestamp($4::float8 / 1000))) * 1000)::float8 from stream s where s.id = $1) as reached
     from last l cross join lateral feature_values(l.minute, to_timestamp($4::float8 / 1000)) f
     where f.stream_id = $1 and f.method_id = $2`,
    [id, methodId, fromMs, toMs],
  );
  const newest = rows[0]?.newest ?? fromMs;
  return (rows[0]?.reached ?? 0) - newest > silenceSec(rule) * 1000 ? Infinity : newest;
}

function episodeOf(recording: Recording, { startMs, endMs, over, extreme }: Stretch): TriedEpisode {
  return {
    subject_id: recording.xuser_id,
    external_id: recording.external_id,
    stream_id: recording.uuid,
    started_at: new Date(startMs).toISOString(),
    ended_at: over ? new Date(endMs).toISOString() : null,
    extreme,
    duration_sec: (Math.trunc(endMs) - Math.trunc(startMs)) / 1000,
  };
}
