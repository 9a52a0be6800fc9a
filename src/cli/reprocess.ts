/** `biosignal reprocess`: recomputes beats and values from stored samples, with the methods of this release. */
import { availableParallelism } from 'node:os';
import { audit } from '../tenancy/audit.ts';
import { FeaturePool } from '../dsp/pool/pool.ts';
import type { FeatureOutput } from '../dsp/rows/feature-rows.ts';
import { beatMethods, featureMethods, featureUnits, methodSteps } from '../dsp/rows/methods.ts';
import type { ChannelConfig, Spo2Calibration, StreamId } from '../signal.ts';
import { DerivedWriter } from '../storage/derived-writer.ts';
import type { Database, Db } from '../storage/database/database.ts';
import { mergeRuns } from '../storage/merge-runs.ts';
import { clipToSeconds, readStoredRuns } from '../storage/sample-rows.ts';
import type { DamagedRow } from '../storage/sample-rows.ts';
import { StreamRegistry } from '../storage/stream-registry.ts';
import { commandLine } from './acts.ts';
import { printOfSamples, untilStored } from './changed-samples.ts';
import type { Command, Console, Options } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { startProgress } from './progress.ts';

const SEC = 1_000_000_000n;
/** Range computed at once. Each piece also reads about 10 minutes of samples before it. */
const PIECE_NS = 3600n * SEC;
/** Rows lie at most this far behind the last sample. */
const TAIL_NS = 16n * SEC;
/** A stream with a packet within this time may continue; then the service computes its end, whose values are not final. */
const FLOWING_MS = 60_000;
const FLOWING_TAIL_NS = 64n * SEC;
/** Most times a piece is computed while its samples keep arriving. */
const ROUNDS_MAX = 5;
/** Pieces re-checked concurrently. */
const CHECKS_AT_ONCE = 4;
/** Most failed ranges reported one by one. */
const FAULTS_SHOWN = 20;

type Work = Readonly<{
  id: StreamId;
  device: string;
  epochNs: bigint;
  channels: readonly ChannelConfig[];
  spo2: Spo2Calibration | null;
  fromNs: bigint;
  toNs: bigint;
}>;
type Tally = { beats: number; values: number; pieces: number; faults: string[] };

export const reprocess: Command = {
  name: 'reprocess',
  summary: 'Recompute beats and values from stored samples.',
  description: `Reads the samples of the given streams and computes their beats and values with the methods of this release, in pieces of one hour,
several streams at a time. Every piece replaces what these methods stored in its range, in one transaction; values of other versions are
kept. If nothing was missing and no method has changed, the same numbers are written again, bit for bit. Can run next to the service: the
last minute of a stream that is still arriving is left to the service, and a piece that receives samples meanwhile is computed again.`,
  options: {
    stream: { type: 'string', value: 'ID', multiple: true, doc: 'A stream, by uuid or number. May be given several times.' },
    device: { type: 'string', value: 'ID', multiple: true, doc: 'All streams of a device.' },
    subject: { type: 'string', value: 'ID', doc: 'All streams of a user, by uuid or external id.' },
    project: { type: 'string', value: 'ID', doc: 'All streams of a project, by id, name or project key.' },
    all: { type: 'boolean', doc: 'All streams.' },
    since: { type: 'string', value: 'TIME', doc: 'Values from here on (ISO 8601). Default: from the first sample.' },
    until: { type: 'string', value: 'TIME', doc: 'Values before this. Default: to the end.' },
    method: { type: 'string', value: 'CODE', multiple: true, doc: 'Only this method, e.g. derived:hr_ppg_v13. Default: all.' },
    ended: { type: 'boolean', doc: 'Treat streams with recent packets as ended, and compute their last minute too.' },
    workers: { type: 'string', value: 'N', fallback: String(availableParallelism()), doc: 'Worker threads.' },
  },
  examples: [
    'biosignal reprocess --stream 6f1c2a9e-5f0e-4a35-9c3c-0d5a4c1f7e11 --since 2026-01-31T08:00:00Z',
    'biosignal reprocess --project Pilot --method derived:hr_ppg_v13',
  ],
  run: async ({ console, options, json }) => {
    const methods = wantedMethods(options.list('method'));
    const workerCount = options.integer('workers', 1, 256);
    const where = selection(options);
    const [sinceNs, untilNs] = [options.time('since'), options.time('until')];
    if (sinceNs !== null && untilNs !== null && untilNs <= sinceNs) throw new UsageError('--until must lie after --since');
    return await withDatabase(console, async (database) => {
      const work = await findWork(database, where, sinceNs, untilNs, options.flag('ended'));
      await note(database.pool, console, work, options.list('method'));
      const startedMs = performance.now();
      const tally = await computeAll(database, work, methods, workerCount, console);
      const seconds = (performance.now() - startedMs) / 1000;
      const signalSec = work.reduce((sum, { fromNs, toNs }) => sum + Number(toNs - fromNs) / 1e9, 0);
      const result = {
        streams: work.length,
        signal_hours: Number((signalSec / 3600).toFixed(3)),
        beats: tally.beats,
        values: tally.values,
        seconds: Number(seconds.toFixed(1)),
        times_real_time: Math.round(signalSec / seconds),
        failed: tally.faults.length,
      };
      if (json) console.out(JSON.stringify({ ok: tally.faults.length === 0, ...result, faults: tally.faults }, null, 2));
      else {
        for (const [name, value] of Object.entries(result)) console.out(`${name.replaceAll('_', ' ').padEnd(16)} ${value}`);
        for (const fault of tally.faults.slice(0, FAULTS_SHOWN)) console.err(`FAULT ${fault}`);
      }
      return tally.faults.length === 0 ? EXIT_OK : EXIT_FAILED;
    });
  },
};

/** Writes an audit entry per organization, which names the person if there is only one. */
async function note(db: Db, console: Console, work: readonly Work[], methods: readonly string[]): Promise<void> {
  const { rows } = await db.query<{ org: string; streams: number; people: string[] }>(
    `select organization_id as org, count(*)::int as streams, array_agg(distinct xuser_id) as people
     from stream where id = any($1) group by organization_id`,
    [work.map(({ id }) => id)],
  );
  for (const { org, streams, people } of rows) {
    const about = people.length === 1 ? { subjectId: people[0]! } : {};
    const entry = { action: 'values.recomputed', targetKind: 'stream', targetId: '', detail: { streams, methods }, ...about };
    await audit(db, commandLine(console, org), entry);
  }
}

const known = [...Object.values(beatMethods), ...featureMethods];

/** @throws UsageError for a method that this release cannot compute */
function wantedMethods(codes: readonly string[]): ReadonlySet<string> {
  if (codes.length === 0) return new Set(known.map(({ code }) => code));
  for (const code of codes) {
    if (known.some((method) => method.code === code)) continue;
    const now = known.find(({ feature }) => code.replace(/^derived:|_v\d+$/g, '') === feature);
    throw new UsageError(
      now === undefined ? `there is no method ${code}` : `this release computes ${now.code}; stored values of ${code} stay as they are`,
    );
  }
  return new Set(codes);
}

type Where = Readonly<{ sql: string; values: readonly unknown[] }>;

function selection(options: Options): Where {
  const [streams, devices, subject, project] = [
    options.list('stream'),
    options.list('device'),
    options.text('subject'),
    options.text('project'),
  ];
  const all = options.flag('all');
  if (!all && streams.length + devices.length === 0 && subject === '' && project === '')
    throw new UsageError('name --stream, --device, --subject, --project or --all');
  return {
    sql: `($1::text[] = '{}' or s.id::text = any ($1) or s.uuid::text = any ($1))
      and ($2::text[] = '{}' or d.external_id = any ($2))
      and ($3 = '' or x.id::text = $3 or x.external_id = $3)
      and ($4 = '' or p.id::text = $4 or p.name = $4 or p.project_key = $4)`,
    values: [streams, devices, subject, project],
  };
}

async function findWork(database: Database, where: Where, sinceNs: bigint | null, untilNs: bigint | null, ended: boolean): Promise<Work[]> {
  const { rows } = await database.pool.query<{ id: number; device: string; first_ns: bigint; last_ns: bigint; age_ms: number }>(
    `select s.id, d.external_id as device, samples.first_ns, samples.last_ns,
       coalesce(extract(epoch from now() - s.last_packet_at) * 1000, 1e15)::float8 as age_ms
     from stream s join device d on d.id = s.device_id join xuser x on x.id = s.xuser_id join project p on p.id = s.project_id
     cross join lateral (
       select min(first.start_ns) as first_ns, max(last.end_ns) as last_ns from stream_channel c
       cross join lateral (
         select b.start_ns from sample_block b where b.stream_id = c.stream_id and b.channel_no = c.channel_no order by b.time limit 1) first
       cross join lateral (
         select b.start_ns + (b.n * 1e18 / c.rate_nhz)::bigint as end_ns from sample_block b
         where b.stream_id = c.stream_id and b.channel_no = c.channel_no order by b.time desc limit 1) last
       where c.stream_id = s.id) samples
     where samples.first_ns is not null and ${where.sql}
     order by s.id`,
    [...where.values],
  );
  if (rows.length === 0) throw new UsageError('no such stream has samples');
  const registry = new StreamRegistry(database);
  const work: Work[] = [];
  for (const row of rows) {
    const id = row.id as StreamId;
    const stream = await registry.findStream(id);
    if (stream === null) continue;
    const { epochNs, channels, spo2 } = stream;
    const flows = !ended && row.age_ms < FLOWING_MS;
    const endNs = flows ? row.last_ns - FLOWING_TAIL_NS : row.last_ns + TAIL_NS;
    const [fromNs, toNs] = [later(row.first_ns, sinceNs) - epochNs, earlier(endNs, untilNs) - epochNs];
    // from the start of the stream's first second: that is where its first values lie
    const startNs = fromNs > 0n ? (sinceNs !== null && sinceNs > row.first_ns ? fromNs : fromNs - (fromNs % SEC)) : 0n;
    if (toNs > startNs) work.push({ id, device: row.device, epochNs, channels, spo2, fromNs: startNs, toNs });
  }
  return work;
}

const later = (a: bigint, b: bigint | null): bigint => (b !== null && b > a ? b : a);
const earlier = (a: bigint, b: bigint | null): bigint => (b !== null && b < a ? b : a);

async function computeAll(
  database: Database,
  work: readonly Work[],
  methods: ReadonlySet<string>,
  workerCount: number,
  console: Console,
): Promise<Tally> {
  const tally: Tally = { beats: 0, values: 0, pieces: 0, faults: [] };
  const byId = new Map(work.map((stream) => [stream.id, stream]));
  const writer = new DerivedWriter(database, {
    currentMethods: [...methods],
    cadences: Object.fromEntries(featureMethods.map(({ feature, cadenceSec }) => [feature, 1 / cadenceSec])),
    valueSteps: methodSteps,
    units: featureUnits,
    onFault: (message) => console.err(`biosignal reprocess: ${message}`),
  });
  const damaged = new Set<string>();
  const sayDamaged = (rows: readonly DamagedRow[]): void => {
    for (const { streamId, channelNo, timeUs, reason } of rows) {
      const name = `stream ${streamId}, channel ${channelNo}, ${new Date(timeUs / 1000).toISOString()}`;
      if (!damaged.has(name)) console.err(`biosignal reprocess: a stored row cannot be read and is a gap: ${name}: ${reason}`);
      damaged.add(name);
    }
  };
  const pool = new FeaturePool({
    workerCount,
    onOutput: (output) => {
      const rows = only(output, methods);
      tally.beats += rows.beats.length;
      tally.values += rows.features.length;
      void writer.add(rows, byId.get(output.streamId)!.epochNs);
    },
    loadRuns: async (streamId, channelNo, fromNs, toNs) => {
      const { epochNs, channels } = byId.get(streamId)!;
      const startUs = Number(epochNs / 1000n);
      // whole seconds of the device clock, as the running service reads them
      const [fromSec, toSec] = [Number(fromNs / SEC), Number((toNs + SEC - 1n) / SEC)];
      const runs = await readStoredRuns(database.pool, streamId, channelNo, startUs + fromSec * 1e6, startUs + toSec * 1e6, sayDamaged);
      return clipToSeconds(mergeRuns(runs), channels[channelNo]!.rateNanoHz, fromSec, toSec).map(({ k0, samples, qmask }) => ({
        channelNo,
        k0,
        samples,
        qmask,
      }));
    },
    onFault: (message, cause) => console.err(`biosignal reprocess: ${message}: ${String(cause)}`),
  });
  let pieces = work.flatMap((stream) => cut(stream));
  const totalSec = pieces.reduce((sum, { fromNs, toNs }) => sum + Number(toNs - fromNs) / 1e9, 0);
  const progress = startProgress(console, 'reprocess', totalSec);
  const startedMs = performance.now();
  let doneSec = 0;
  try {
    for (const { id, channels, spo2 } of work) pool.openStream(id, channels, undefined, spo2);
    for (let round = 1; pieces.length > 0; round++) {
      const prints = new Map<Work, string>();
      await inTurns(pieces, 2 * workerCount, async (piece) => {
        console.signal.throwIfAborted();
        if (writer.full) await writer.flush();
        try {
          const print = await printOfSamples(database.pool, piece);
          await pool.computeRows(piece.id, piece.fromNs, piece.toNs);
          prints.set(piece, print);
        } catch (error) {
          tally.faults.push(faultOf(piece, error instanceof Error ? error.message : String(error)));
        }
        tally.pieces += 1;
        doneSec = Math.min(totalSec, doneSec + Number(piece.toNs - piece.fromNs) / 1e9);
        const rate = (1000 * doneSec) / (performance.now() - startedMs);
        progress.update(doneSec, `${rate.toFixed(0)} times real time`);
      });
      await writer.flush();
      pieces = await changedSince(database, prints, console);
      if (round < ROUNDS_MAX) continue;
      tally.faults.push(...pieces.map((piece) => faultOf(piece, 'samples keep arriving; run it again once they stop')));
      break;
    }
  } finally {
    progress.end();
    await pool.close();
    await writer.close();
  }
  return tally;
}

const faultOf = ({ id, device }: Work, what: string): string => `stream ${id} of ${device}: ${what}`;

/** Pieces that received samples while they were computed: our rows may have replaced values that the service computed from these. */
async function changedSince({ pool }: Database, prints: ReadonlyMap<Work, string>, console: Console): Promise<Work[]> {
  if (!(await untilStored(pool, console.signal))) {
    console.err('biosignal reprocess: the service is not storing what it acknowledged; run this again once it does (see biosignal doctor)');
  }
  const changed: Work[] = [];
  await inTurns([...prints], CHECKS_AT_ONCE, async ([piece, print]) => {
    if ((await printOfSamples(pool, piece)) !== print) changed.push(piece);
  });
  return changed;
}

function cut(stream: Work): Work[] {
  const pieces: Work[] = [];
  for (let fromNs = stream.fromNs; fromNs < stream.toNs; fromNs += PIECE_NS)
    pieces.push({ ...stream, fromNs, toNs: earlier(fromNs + PIECE_NS, stream.toNs) });
  return pieces;
}

/** Rows of the requested methods. */
function only(output: FeatureOutput, methods: ReadonlySet<string>): FeatureOutput {
  const beats = output.beats.filter((beat) => methods.has(beat.method));
  return { ...output, beats, features: output.features.filter((row) => methods.has(row.methodCode)) };
}

/** Runs over all items, at most `atOnce` concurrently; after the first error it waits for those under way and throws. */
async function inTurns<T>(items: readonly T[], atOnce: number, run: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  let failed = false;
  const results = await Promise.allSettled(
    Array.from({ length: Math.min(atOnce, items.length) }, async () => {
      while (next < items.length && !failed) {
        try {
          await run(items[next++]!);
        } catch (error) {
          failed = true;
          throw error;
        }
      }
    }),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
