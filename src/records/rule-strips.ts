/** Which ten seconds of a recording show what opened an episode. A value has the time of the end of its window, so what it speaks of lies
 *  before it: the strip of a pause has the beats on both sides, that of a run all of its beats. */
import type { Db } from '../storage/database/database.ts';
import { STRIP_SEC } from './episodes.ts';

const STRIP_MS = STRIP_SEC * 1000;
/** Window of the values that speak of one moment of it, as their names say, ms. */
const WINDOW_MS = 10_000;
/** Before what is too long for a strip there is so much of it, ms. */
const LEAD_IN_MS = 1000;
/** The longest interval and the longest run before a window that are looked for, ms (longest_rr_10s: 20 s). */
const REACH_MS = 20_000;

type Beat = Readonly<{ t: number; reason: string }>;
type Span = Readonly<{ fromMs: number; toMs: number; beats: number }>;

/** What a value of these features may speak of, among the beats of its window and of the 20 s before it, ascending in time. */
const spans: Readonly<Record<string, (beats: readonly Beat[], windowFromMs: number) => readonly Span[]>> = {
  longest_rr_10s: (beats, windowFromMs) =>
    beats.flatMap(({ t }, i) => (i === 0 || t <= windowFromMs ? [] : [{ fromMs: beats[i - 1]!.t, toMs: t, beats: 1 }])),
  ventricular_run_10s: (beats, windowFromMs) => {
    const runs: { fromMs: number; toMs: number; beats: number }[] = [];
    for (const [i, { t, reason }] of beats.entries()) {
      if (reason !== 'ventricular') continue;
      const last = beats[i - 1]?.reason === 'ventricular' ? runs.at(-1) : undefined;
      if (last === undefined) runs.push({ fromMs: t, toMs: t, beats: 1 });
      else {
        last.toMs = t;
        last.beats++;
      }
    }
    return runs.filter(({ toMs }) => toMs > windowFromMs);
  },
};

/** How far an interval is from the value, ms: across lost samples one may be longer than the pause that the value speaks of. */
const offBy: Readonly<Record<string, (span: Span, value: number) => number>> = {
  longest_rr_10s: ({ fromMs, toMs }, value) => Math.abs(toMs - fromMs - value),
  ventricular_run_10s: ({ beats }, value) => Math.abs(beats - value),
};

/** @param valueMs time of the value that opened the episode, Unix ms  @param value itself, or the furthest since
 *  @returns start of the strip, Unix ms */
export async function stripStartMs(db: Db, streamId: number, feature: string, valueMs: number, value: number): Promise<number> {
  const windowFromMs = valueMs - WINDOW_MS;
  const spansOf = spans[feature];
  const tracks = spansOf === undefined ? [] : await beatsOf(db, streamId, windowFromMs - REACH_MS, valueMs);
  const found = tracks.flatMap(({ t, reason }) =>
    spansOf!(
      t.map((ms, i) => ({ t: ms, reason: reason[i]! })),
      windowFromMs,
    ),
  );
  const [span] = found.toSorted((a, b) => offBy[feature]!(a, value) - offBy[feature]!(b, value));
  // Of any other window its end: there the bound was passed.
  if (span === undefined) return valueMs - STRIP_MS;
  const aroundMs = Math.max(LEAD_IN_MS, (STRIP_MS - (span.toMs - span.fromMs)) / 2);
  return Math.floor(span.fromMs - aroundMs);
}

type Track = Readonly<{ t: readonly number[]; reason: readonly string[] }>;

/** Beats that were found, of each lead that has some, by each version of the method. */
async function beatsOf(db: Db, streamId: number, fromMs: number, toMs: number): Promise<readonly Track[]> {
  // SQL: beats are unpacked by a function of the schema.
  const { rows } = await db.query<Track>(
    `select array_agg((extract(epoch from b.time) * 1000)::float8 order by b.time) as t, array_agg(b.reason order by b.time) as reason
     from beat_values(to_timestamp($2::float8 / 1000), to_timestamp($3::float8 / 1000)) b
     where b.stream_id = $1 and b.kind <> 3 and b.method_id in (select m.id from method m where m.kind = 'beat' and m.name = 'r_peaks')
     group by b.channel_no, b.method_id`,
    [streamId, fromMs, toMs],
  );
  return rows;
}
