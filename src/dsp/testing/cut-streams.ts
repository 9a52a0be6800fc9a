/** Made-up streams with faults, for tests of StreamEngine: what is sent of them, cut and ordered in many ways, and the rows of each way. */
import * as fc from 'fast-check';
import type { ChannelConfig, SampleRun } from '../../signal.ts';
import { StreamEngine } from '../engine/engine.ts';
import type { KernelStock } from '../engine/runner.ts';
import { reachAheadSec, samplesNeededFor } from '../kernels/segment-grid.ts';
import { RowBuffer, rowWidth } from '../rows/row-buffer.ts';
import type { Heart } from './fixture.ts';
import { differences, madeUpStream, seeded } from './fixture.ts';

/** `lost`: not sent. `bad`: sent as bad by the device. `nan`, `rail`, `noise`: sent as no number, as one number, as any number. */
const faultKinds = ['lost', 'bad', 'nan', 'rail', 'noise'] as const;
const gapSec = [0, 0.03, 0.06, 0.3, 3, 20] as const;

export type Fault = Readonly<{
  kind: (typeof faultKinds)[number];
  /** Of which channel, modulo their count; -1: of all. */
  channel: number;
  /** Where in the stream, 0 to 1. */
  at: number;
  /** 0: a single sample. */
  sec: number;
}>;

/** Seconds from a beat to the next one. */
const hearts = {
  usual: undefined,
  fibrillating: (_, random) => 0.4 + 0.7 * random(),
  fast: (_, random) => 0.33 + 0.01 * random(),
  pausing: (_, random) => (random() < 0.1 ? 3.6 : 1.4) + 0.05 * random(),
  // every other beat comes early
  coupled: (t, random) => (Math.floor(t / 1.6) % 2 === 0 ? 0.5 : 1.1) + 0.02 * random(),
} as const satisfies Record<string, Heart | undefined>;

export type CutStream = Readonly<{
  seed: number;
  heart: keyof typeof hearts;
  startSec: number;
  lengthSec: number;
  ecgHz: number;
  ecgLeads: number;
  /** Of a lead of its own; 0: there is none. Likewise the light, and each kind of slow channel. */
  otherEcgHz: number;
  ppgHz: number;
  wavelengths: number;
  otherPpgHz: number;
  accHz: number;
  respHz: number;
  edaHz: number;
  tempHz: number;
  /** Does the first lead of ECG come back with another gain in the middle? */
  hasOtherGain: boolean;
  /** Rate that it has in the middle third, while the other leads keep theirs; 0: it keeps its own. */
  changedEcgHz: number;
  faults: readonly Fault[];
  /** Where nothing is sent for 20 s, 0 to 1; null: nowhere. */
  silentAt: number | null;
  /** Channels that begin later, and that end sooner, s: of which, modulo their count, and by how much. */
  late: readonly (readonly [channel: number, sec: number])[];
  early: readonly (readonly [channel: number, sec: number])[];
  /** Hum of mains in ECG, 50 Hz, mV. */
  humMv: number;
}>;

const fault = fc.record({
  kind: fc.constantFrom('lost' as const, 'lost' as const, ...faultKinds),
  channel: fc.integer({ min: -3, max: 11 }).map((no) => Math.max(-1, no)),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  sec: fc.constantFrom(...gapSec),
});

const edge = fc.tuple(fc.nat({ max: 11 }), fc.constantFrom(0.01, 0.3, 1.7, 9, 30));

/** @param lengthSec of the longest  @param leastSec of the shortest */
export const cutStreams = (lengthSec: number, leastSec = 20): fc.Arbitrary<CutStream> =>
  fc.record({
    seed: fc.nat({ max: 1000 }),
    heart: fc.constantFrom(...(Object.keys(hearts) as (keyof typeof hearts)[])),
    // 1216 s is a seam, 1200 s the end of five minutes
    startSec: fc.integer({ min: 11_400, max: 12_150 }).map((tenths) => tenths / 10),
    lengthSec: fc.integer({ min: leastSec, max: lengthSec }),
    ecgHz: fc.constantFrom(100, 125, 128, 200, 250, 256, 333.33, 360, 500, 1000),
    ecgLeads: fc.nat({ max: 3 }),
    otherEcgHz: fc.constantFrom(0, 0, 0, 250, 1000),
    ppgHz: fc.constantFrom(25, 50, 64, 100, 125, 128, 130.1, 333.33),
    wavelengths: fc.nat({ max: 2 }),
    otherPpgHz: fc.constantFrom(0, 0, 0, 64, 256),
    accHz: fc.constantFrom(0, 25, 32, 52, 100, 128),
    respHz: fc.constantFrom(0, 25, 62.5, 333.33),
    edaHz: fc.constantFrom(0, 4, 15.4, 128),
    tempHz: fc.constantFrom(0, 1, 4, 33.33),
    hasOtherGain: fc.boolean(),
    changedEcgHz: fc.constantFrom(0, 0, 180, 250, 512),
    faults: fc.array(fault, { maxLength: 8 }),
    silentAt: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    late: fc.array(edge, { maxLength: 2 }),
    early: fc.array(edge, { maxLength: 2 }),
    humMv: fc.constantFrom(0, 0.3),
  });

const channel = (code: string, kind: ChannelConfig['kind'], hz: number): ChannelConfig => ({
  code,
  kind,
  rateNanoHz: Math.round(hz * 1e9),
  gain: 200,
  // light has a level, of which the pulse is a hundredth; skin conducts
  baseline: kind === 'ppg' ? -20_000 : 10,
  unit: { ecg: 'mV', eda: 'uS', temp: 'Cel', acc: 'g' }[kind as string] ?? '1',
  lead: '',
});

const hasChangedRate = ({ ecgLeads, ecgHz, changedEcgHz }: CutStream): boolean =>
  ecgLeads > 0 && changedEcgHz > 0 && changedEcgHz !== ecgHz;

export function channelsOf(stream: CutStream): ChannelConfig[] {
  const { ecgHz, ecgLeads, otherEcgHz, ppgHz, wavelengths, otherPpgHz, accHz, respHz, edaHz, tempHz, hasOtherGain, changedEcgHz } = stream;
  return [
    ...['ecg.i', 'ecg.ii', 'ecg.v1'].slice(0, ecgLeads).map((code) => channel(code, 'ecg', ecgHz)),
    ...(otherEcgHz > 0 ? [channel('ecg.v5', 'ecg', otherEcgHz)] : []),
    ...['ppg.ir', 'ppg.red'].slice(0, wavelengths).map((code) => channel(code, 'ppg', ppgHz)),
    ...(otherPpgHz > 0 ? [channel('ppg.green', 'ppg', otherPpgHz)] : []),
    ...['acc.x', 'acc.y', 'acc.z'].filter(() => accHz > 0).map((code) => channel(code, 'acc', accHz)),
    ...(respHz > 0 ? [channel('resp', 'resp', respHz)] : []),
    ...(edaHz > 0 ? [channel('eda', 'eda', edaHz)] : []),
    ...(tempHz > 0 ? [channel('temp.skin', 'temp', tempHz)] : []),
    ...(hasOtherGain && ecgLeads > 0 ? [{ ...channel('ecg.i', 'ecg', ecgHz), gain: 50 }] : []),
    ...(hasChangedRate(stream) ? [channel('ecg.i', 'ecg', changedEcgHz)] : []),
  ];
}

/** What is sent of each channel: runs in order, none of them touching the next. */
export function sentOf(stream: CutStream, channels: readonly ChannelConfig[]): SampleRun[][] {
  const { seed, startSec, lengthSec, heart } = stream;
  const random = seeded(seed);
  return madeUpStream(seed, startSec, lengthSec, channels, hearts[heart]).map((run) => {
    const { rateNanoHz, code, kind: of, gain } = channels[run.channelNo]!;
    const fs = rateNanoHz / 1e9;
    const n = run.samples.length;
    const isOf = (no: number): boolean => no < 0 || no % channels.length === run.channelNo;
    const mine = stream.faults.filter((one) => isOf(one.channel));
    const samples = mine.some(({ kind }) => kind === 'nan') ? Float32Array.from(run.samples) : run.samples;
    if (of === 'ecg' && stream.humMv > 0)
      for (let i = 0; i < n; i++)
        samples[i] = Math.round(samples[i]! + 200 * stream.humMv * Math.sin((2 * Math.PI * 50 * (run.k0 + i)) / fs));
    if (gain !== 200) for (let i = 0; i < n; i++) samples[i] = Math.round(samples[i]! / 4);
    const qmask = mine.some(({ kind }) => kind === 'bad') ? new Uint8Array(n) : null;
    const isLost = new Uint8Array(n);
    for (const { kind, at, sec } of mine) {
      const from = Math.floor(at * n);
      const to = Math.min(n, from + Math.max(1, Math.round(sec * fs)));
      if (kind === 'lost') isLost.fill(1, from, to);
      else if (kind === 'bad') qmask!.fill(2, from, to);
      else if (kind === 'noise') for (let i = from; i < to; i++) samples[i] = Math.round(1000 * (random() - 0.5));
      else samples.fill(kind === 'nan' ? Number.NaN : 2000, from, to);
    }
    for (const [no, sec] of stream.late) if (isOf(no)) isLost.fill(1, 0, Math.ceil(sec * fs));
    for (const [no, sec] of stream.early) if (isOf(no)) isLost.fill(1, Math.max(0, n - Math.ceil(sec * fs)), n);
    if (stream.silentAt !== null) isLost.fill(1, Math.floor(stream.silentAt * n), Math.ceil((stream.silentAt * lengthSec + 20) * fs));
    const isChanged = code === 'ecg.i' && rateNanoHz !== Math.round(stream.ecgHz * 1e9);
    if (isChanged) isLost.fill(1, 0, Math.floor(n / 3)).fill(1, Math.floor((2 * n) / 3));
    else if (hasChangedRate(stream) && code === 'ecg.i') isLost.fill(1, Math.floor(n / 3), Math.floor((2 * n) / 3));
    if (stream.hasOtherGain && code === 'ecg.i' && !isChanged)
      isLost.fill(1, ...(gain === 200 ? ([n >> 1, n] as const) : ([0, n >> 1] as const)));
    const runs: SampleRun[] = [];
    for (let from = 0; from < n; from++) {
      if (isLost[from] === 1) continue;
      let to = from;
      while (to < n && isLost[to] === 0) to++;
      runs.push(part({ ...run, samples, qmask }, from, to));
      from = to;
    }
    return runs;
  });
}

const part = (run: SampleRun, from: number, to: number): SampleRun => ({
  ...run,
  k0: run.k0 + from,
  samples: run.samples.subarray(from, to),
  qmask: run.qmask?.subarray(from, to) ?? null,
});

/** How a stream is cut. */
export type Cut = Readonly<{
  name: string;
  /** Samples of a piece. */
  count: (fs: number, random: () => number) => number;
  /** How far each lead is behind the others at most, s. */
  lagSec: number;
  /** Share of pieces after which what was taken is processed. */
  settles: number;
  /** Share of pieces after which the engine is told that nothing comes before some time up to the next one. */
  passes: number;
  /** Is the stream flushed in silences, as one is that may have ended? */
  flushes: boolean;
}>;

const usualCut: Cut = { name: '', count: () => 25, lagSec: 0, settles: 1, passes: 0, flushes: false };

export const atOnce: Cut = { ...usualCut, name: 'at once', count: () => Number.POSITIVE_INFINITY, settles: 0 };
export const cuts: readonly Cut[] = [
  { ...usualCut, name: 'pieces of 25 samples' },
  { ...usualCut, name: 'seconds', count: (fs) => Math.ceil(fs), passes: 0.5, flushes: true },
  { ...usualCut, name: 'pieces of 7 s', count: (fs) => Math.ceil(7 * fs), lagSec: 2 },
  {
    ...usualCut,
    name: 'pieces of a sample to 5 s, up to 9 s late',
    count: (fs, random) => 1 + Math.floor(5 * fs * random() ** 3),
    lagSec: 9,
    settles: 0.7,
    passes: 0.3,
    flushes: true,
  },
];
export const bySample: Cut = { ...usualCut, name: 'single samples', count: () => 1, lagSec: 0.5, passes: 0.1 };

/** What the engine is given: samples, and word that nothing of their lead comes before an index (-1: none). */
type Step = Readonly<{ atSec: number; fromSec: number; endSec: number; run: SampleRun; passTo: number }>;

function stepsOf(channels: readonly ChannelConfig[], sent: readonly SampleRun[][], cut: Cut, random: () => number): Step[] {
  const leads = new Map<string, SampleRun[]>();
  channels.forEach(({ code, rateNanoHz }, no) => {
    const lead = `${code} ${rateNanoHz}`;
    leads.set(lead, [...(leads.get(lead) ?? []), ...sent[no]!]);
  });
  const steps: Step[] = [];
  for (const runs of leads.values()) {
    if (runs.length === 0) continue;
    const fs = channels[runs[0]!.channelNo]!.rateNanoHz / 1e9;
    const lagSec = cut.lagSec * random();
    const pieces = runs.flatMap((run) => {
      const found: SampleRun[] = [];
      for (let from = 0; from < run.samples.length;) {
        const to = Math.min(run.samples.length, from + cut.count(fs, random));
        found.push(part(run, from, to));
        from = to;
      }
      return found;
    });
    pieces.forEach((run, i) => {
      const end = run.k0 + run.samples.length;
      const next = pieces[i + 1]?.k0 ?? end + Math.floor(20 * random() * fs);
      const passTo = random() < cut.passes ? Math.min(next, end + Math.floor(1.3 * (next - end) * random())) : -1;
      steps.push({ atSec: end / fs + lagSec, fromSec: run.k0 / fs, endSec: Math.max(end, passTo) / fs, run, passTo });
    });
  }
  return steps.sort((a, b) => a.atSec - b.atSec);
}

/** Rows as text, sorted; and what is wrong with them by themselves: a row that comes after its time was called final, or twice. */
export type Rows = Readonly<{ rows: readonly string[]; wrong: readonly string[] }>;

/** A stream that was flushed may go on so many seconds later. */
const silenceSec = 17;

/** @param stock kernels that were used for others may be in it  @param fromUs rows before it are left out */
export function rowsOf(
  channels: readonly ChannelConfig[],
  sent: readonly SampleRun[][],
  cut: Cut,
  seed: number,
  stock: KernelStock,
  fromUs = 0,
): Rows {
  const steps = stepsOf(channels, sent, cut, seeded(seed));
  const random = seeded(seed + 1);
  const buffer = new RowBuffer();
  const engine = new StreamEngine(channels, fromUs, stock, buffer);
  const rows: string[] = [];
  const keys = new Set<string>();
  const wrong: string[] = [];
  let finalUs = 0;
  const take = (): void => {
    for (let at = 0; at < buffer.count * rowWidth; at += rowWidth) {
      const row = buffer.rows.subarray(at, at + rowWidth).join(' ');
      const key = buffer.rows.subarray(at, at + 3).join(' ');
      if (keys.has(key)) wrong.push(`twice: ${row}`);
      keys.add(key);
      if (buffer.rows[at + 2]! < finalUs) wrong.push(`after ${finalUs}: ${row}`);
      rows.push(row);
    }
    buffer.count = 0;
    if (engine.finalUs < Number.POSITIVE_INFINITY) finalUs = Math.max(finalUs, engine.finalUs);
  };
  let newestSec = 0;
  steps.forEach(({ run, fromSec, endSec, passTo }, i) => {
    if (
      cut.flushes &&
      i > 0 &&
      fromSec > newestSec + silenceSec &&
      steps.every((step, j) => j < i || step.fromSec > newestSec + silenceSec)
    ) {
      engine.flush();
      take();
      channels.forEach(({ rateNanoHz }, no) => engine.pass(no, Math.floor((newestSec + silenceSec) * (rateNanoHz / 1e9))));
    }
    newestSec = Math.max(newestSec, endSec);
    engine.run(run.channelNo, run.k0, run.samples, run.qmask);
    if (passTo >= 0) engine.pass(run.channelNo, passTo);
    if (cut.settles < 1 && random() >= cut.settles) return;
    engine.settle();
    take();
  });
  engine.flush();
  take();
  engine.close();
  return { rows: rows.sort(), wrong };
}

/** What was sent of a stretch of time. */
function sentBetween(
  sent: readonly SampleRun[][],
  channels: readonly ChannelConfig[],
  { fromUs, toUs }: Readonly<{ fromUs: number; toUs: number }>,
): SampleRun[][] {
  return sent.map((runs, no) => {
    const fs = channels[no]!.rateNanoHz / 1e9;
    const [fromK, toK] = [Math.ceil((fromUs / 1e6) * fs), Math.ceil((toUs / 1e6) * fs)];
    return runs
      .map((run) => part(run, Math.max(0, fromK - run.k0), Math.max(0, Math.min(run.samples.length, toK - run.k0))))
      .filter(({ samples }) => samples.length > 0);
  });
}

/** What each way of sending a stream gives that sending it at once does not, and the other way round; empty: nothing. */
export function differencesOf(stream: CutStream, ways: readonly Cut[], stock: KernelStock): string[] {
  const channels = channelsOf(stream);
  const sent = sentOf(stream, channels);
  const whole = rowsOf(channels, sent, atOnce, 0, stock);
  return [
    ...whole.wrong,
    ...ways.flatMap((cut) => {
      const { rows, wrong } = rowsOf(channels, sent, cut, stream.seed, stock);
      return [...wrong, ...differences(rows, whole.rows)].map((line) => `${cut.name}: ${line}`);
    }),
  ];
}

/** What a recomputation of the end of a stream gives that the whole stream did not, and the other way round; empty: nothing.
 *  @param backSec how much of it, s: the stream is longer by what its rows reach back to */
export function differencesAtEnd(stream: CutStream, backSec: number, stock: KernelStock): string[] {
  const channels = channelsOf(stream);
  const sent = sentOf(stream, channels);
  const toUs = (stream.startSec + stream.lengthSec) * 1e6 - reachAheadSec * 1e6;
  const fromUs = toUs - backSec * 1e6;
  const isIn = (row: string): boolean => Number(row.split(' ')[2]) >= fromUs && Number(row.split(' ')[2]) < toUs;
  const needed = sentBetween(sent, channels, samplesNeededFor({ fromUs, toUs }));
  const again = rowsOf(channels, needed, atOnce, 0, stock, fromUs);
  return differences(again.rows.filter(isIn), rowsOf(channels, sent, cuts[1]!, stream.seed, stock).rows.filter(isIn));
}
