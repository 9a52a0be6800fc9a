/** One stream in the worker: ordered runs of digital samples in, final rows out.
 *
 *  run    samples of one channel, [k0, k0 + n)
 *   route    to each chain that uses the channel: physical units, written into a lead; through a GridBridge where the rates differ
 *   feed     LeadFeed: waits until every lead of the group has been seen, hands on aligned rows; what is missing is NaN, or a gap
 *   runner   SegmentRunner: cuts the rows into segments of 64 s, each for a kernel that starts afresh 16 s before it
 *   kernel   SegmentKernel: a detector, judge or value of blocks, all in one shape; what it finds are
 *   items    beats, seconds, rates, judgements: a device time and five numbers; each leaves the runner once, at the seams, too
 *   chain    BeatChain (beats to intervals, values, quality) or ValueChain (blocks to values): holds a row until nothing changes it;
 *            in a BeatChain, BeatValues makes rates and variability, BeatModulation breathing, from the samples at each beat
 *            values of the whole stream pass through PrimaryGroups where several chains give them
 *  rows   RowBuffer, through this engine as the RowSink of its chains: values in whole steps; those before fromUs are left out
 *
 *  settle() carries what was taken through the chains that it touched; `finalUs` is the time before which all of them are done. */
import type { ChannelConfig, QualityFlag, Samples, Spo2Calibration } from '../../signal.ts';
import { STEP_COUNT_MAX, fromSteps, toSteps } from '../../signal.ts';
import type { RowBuffer } from '../rows/row-buffer.ts';
import { packVerdict, rowCode } from '../rows/row-buffer.ts';
import type { FoundValues } from '../kernels/block-values.ts';
import { Eda, PLAUSIBLE_US, SLOPE_MAX_US_PER_SEC, emptyResponses } from '../slow/eda.ts';
import { EcgKernel } from '../ecg/kernel.ts';
import { SQI_STEP, featureMethods, methodIndex } from '../rows/methods.ts';
import { Activity, Steps } from '../slow/motion.ts';
import { PulseKernel } from '../ppg/pulse.ts';
import { BreathDetector } from '../slow/respiration.ts';
import { GridBridge } from './bridge.ts';
import { HeartSeen } from './heart-seen.ts';
import type { BeatGroup, Chain, RowSink } from './beat-chain.ts';
import { BeatChain } from './beat-chain.ts';
import type { Lead } from './leads.ts';
import type { BeatPlan, ChannelGroup, GroupLead } from './groups.ts';
import { beatPlans, channelGroups } from './groups.ts';
import type { BlockKernel, SegmentKernel } from './kernel.ts';
import { blockKernel, breathKernel, ecgSegmentKernel, pulseKernel, responseKernel } from './kernel.ts';
import type { KernelKind, KernelStock } from './runner.ts';
import type { OxygenLeads } from './oxygen.ts';
import type { ValueFeature } from './value-chain.ts';
import { PrimaryGroups } from './primary-groups.ts';
import { scaleOf } from './units.ts';
import { ValueChain } from './value-chain.ts';
import { Spo2 } from '../ppg/spo2.ts';
import { Temperature } from '../slow/temperature.ts';

/** `bridge`: the channel has another grid than its chain. `next`: another chain that takes the same channel. */
type Route = Readonly<{ chain: Chain; lead: Lead; gain: number; baseline: number; bridge: GridBridge | null; next: Route | null }>;

/** Device-reported quality at which a sample counts as missing. */
const badSample = 2;

/** Rows before `fromUs` are computed (they carry state) and not given out. */
export class StreamEngine implements RowSink {
  readonly #fromUs: number;
  readonly #rows: RowBuffer;
  readonly #chains: Chain[] = [];
  /** Rates of breathing pass through it where the stream has a heart. */
  readonly #heartSeen: HeartSeen | null;
  /** Heart rates and what else is of the whole stream pass through them where its first lead is in several groups. */
  readonly #primaries: PrimaryGroups[] = [];
  /** By channelNo: what takes its samples. */
  readonly #routes: (Route | null)[];
  /** Chains with something new, each once: the first so many. */
  readonly #touched: Chain[] = [];
  #touchedCount = 0;
  readonly #stock: KernelStock;
  readonly #spo2: Spo2Calibration | null;
  /** What was final before a flush, which may have to be taken back; below 0 in the first seconds of a boot. Null: not flushed. */
  #flushedUs: number | null = null;

  /** @param rows filled with final rows, in no particular order between channel groups
   *  @param spo2 the stream's calibration; null: the textbook line, suspect at best */
  constructor(
    channels: readonly ChannelConfig[],
    fromUs: number,
    stock: KernelStock,
    rows: RowBuffer,
    spo2: Spo2Calibration | null = null,
  ) {
    this.#fromUs = fromUs;
    this.#rows = rows;
    this.#stock = stock;
    this.#spo2 = spo2;
    this.#routes = channels.map(() => null);
    const groups = channelGroups(channels);
    const plans = beatPlans(groups).filter(({ group, source }) => isComputed(source, group.rateNanoHz));
    for (const source of ['ecg', 'ppg'] as const) {
      const own = plans.filter((plan) => plan.source === source);
      const primaries = own.filter(({ primary }) => primary).length > 1 ? new PrimaryGroups(this) : null;
      if (primaries !== null) this.#primaries.push(primaries);
      for (const plan of own) this.#addBeats(channels, plan, primaries);
    }
    const hearts = [...this.#chains];
    const breaths: Chain[] = [];
    for (const group of groups) {
      const before = this.#chains.length;
      this.#addValues(channels, group);
      if (group.kind === 'resp') breaths.push(...this.#chains.slice(before));
    }
    const isPassing = hearts.length > 0 && breaths.length > 0;
    this.#heartSeen = isPassing ? new HeartSeen(hearts, breaths, { value: (...row) => this.#give(...row) }) : null;
  }

  /** Time before which every row is out, µs; Infinity when nothing has begun. */
  get finalUs(): number {
    if (this.#flushedUs !== null) return this.#flushedUs;
    let us = this.#heartSeen?.finalUs ?? Number.POSITIVE_INFINITY;
    let hasBegun = false;
    for (const chain of this.#chains) {
      us = Math.min(us, chain.finalUs);
      hasBegun ||= chain.feed.k >= 0;
    }
    return hasBegun ? us : Number.POSITIVE_INFINITY;
  }

  /** Takes samples [k0, k0 + n); what lies before the channel's frontier is dropped. Processing waits for settle(). */
  run(channelNo: number, k0: number, samples: Samples, qmask: Uint8Array | null): void {
    for (let route = this.#routes[channelNo] ?? null; route !== null; route = route.next) this.#runTo(route, k0, samples, qmask);
  }

  #runTo({ chain, lead, gain, baseline, bridge }: Route, k0: number, samples: Samples, qmask: Uint8Array | null): void {
    const cut = Math.max(0, (bridge === null ? lead.frontier : bridge.frontier) - k0);
    const n = samples.length - cut;
    if (n <= 0) return;
    this.#flushedUs = null;
    if (bridge !== null && bridged.length < n) bridged = new Float64Array(2 * n);
    const at = bridge !== null ? -cut : lead.room(k0 + cut, n, qmask !== null || samples instanceof Float32Array) - cut;
    const physical = bridge !== null ? bridged : lead.samples;
    if (samples instanceof Int32Array) for (let i = cut; i < cut + n; i++) physical[at + i] = (samples[i]! - baseline) / gain;
    else for (let i = cut; i < cut + n; i++) physical[at + i] = (samples[i]! - baseline) / gain;
    if (qmask !== null) for (let i = cut; i < cut + n; i++) if (qmask[i]! >= badSample) physical[at + i] = Number.NaN;
    bridge?.run(k0 + cut, physical, n);
    if (lead.frontier >= lead.dueK) this.#touch(chain);
  }

  #touch(chain: Chain): void {
    for (let i = 0; i < this.#touchedCount; i++) if (this.#touched[i] === chain) return;
    this.#touched[this.#touchedCount++] = chain;
  }

  /** Nothing more of a channel before index k. */
  pass(channelNo: number, k: number): void {
    for (let route = this.#routes[channelNo] ?? null; route !== null; route = route.next) {
      const { chain, lead, bridge } = route;
      if (bridge === null) lead.pass(k);
      else bridge.pass(k);
      if (lead.frontier >= lead.dueK) this.#touch(chain);
    }
  }

  /** Processes what was taken; some of the last second may wait for more. How it was cut into calls changes no row. */
  settle(): void {
    for (let i = 0; i < this.#touchedCount; i++) this.#touched[i]!.advance();
    this.#touchedCount = 0;
    for (const primaries of this.#primaries) primaries.advance(false);
    this.#heartSeen?.advance(false);
  }

  /** The data end here, or continue more than a context (16 s) later. */
  flush(): void {
    this.settle();
    const finalUs = this.finalUs;
    for (const first of this.#routes)
      for (let route = first; route !== null; route = route.next) {
        if (route.bridge === null) continue;
        route.bridge.flush();
        this.#touch(route.chain);
      }
    this.settle();
    for (const chain of this.#chains) chain.flush();
    for (const primaries of this.#primaries) primaries.advance(true);
    this.#heartSeen?.advance(true);
    this.#flushedUs = finalUs;
  }

  close(): void {
    for (const chain of this.#chains) chain.close();
  }

  beat(
    channelNo: number,
    tUs: number,
    ibiMs: number,
    kind: number,
    reason: number,
    confidence: number,
    flag: QualityFlag,
    source: 'ecg' | 'ppg',
  ): void {
    if (tUs < this.#fromUs) return;
    const code = source === 'ecg' ? rowCode.ecgBeat : rowCode.ppgBeat;
    this.#rows.add(code, channelNo, tUs, ibiMs, packVerdict(kind, reason, confidence), flag);
  }

  value(method: number, channelNo: number, tUs: number, value: number, flag: QualityFlag): void {
    if (this.#heartSeen?.takes(method, channelNo, tUs, value, flag) !== true) this.#give(method, channelNo, tUs, value, flag);
  }

  /** Rounds a value to whole steps of its method: the only place that does, so kernels and flags use the value before rounding. Leaves out
   *  a value above STEP_COUNT_MAX, which no body has (an accelerometer with an absurd gain). */
  #give(method: number, channelNo: number, tUs: number, value: number, flag: QualityFlag): void {
    if (tUs < this.#fromUs) return;
    const { step } = featureMethods[method]!;
    const count = toSteps(value, step);
    if (Math.abs(count) <= STEP_COUNT_MAX) this.#rows.add(rowCode.feature + method, channelNo, tUs, fromSteps(count, step), flag, 0);
  }

  /** Rounds as #give() does, so that the index of a second equals its feature. */
  quality(channelNo: number, tUs: number, sqi: number, flag: QualityFlag): void {
    if (tUs >= this.#fromUs) this.#rows.add(rowCode.quality, channelNo, tUs, fromSteps(toSteps(sqi, SQI_STEP), SQI_STEP), flag, 0);
  }

  /** @param primaries of its source; null: no two groups are primary */
  #addBeats(channels: readonly ChannelConfig[], plan: BeatPlan, primaries: PrimaryGroups | null): void {
    const { group, source, primary, breathing, motion } = plan;
    const { rateNanoHz, leads } = group;
    const fs = rateNanoHz / 1e9;
    const axes = motion?.leads ?? [];
    const kind: KernelKind = {
      key: `${source} ${rateNanoHz} ${leads.length} ${axes.length}`,
      build: () =>
        source === 'ecg'
          ? ecgSegmentKernel(new EcgKernel(fs, leads.length), rateNanoHz)
          : pulseKernel(new PulseKernel(fs, leads.length, axes.length), rateNanoHz),
      rateNanoHz,
      leadCount: leads.length + axes.length,
      seamUs: 100_000,
      apartUs: 200_000,
      mayBeClose: true,
    };
    const channelNo = leads[0]!.channelNos[0]!;
    const beats: BeatGroup = {
      source,
      rateNanoHz,
      codes: leads.map((l) => l.code),
      channelNo,
      primary,
      axisCount: axes.length,
      breathing: breathing ? breathingMethods[source] : -1,
      oxygen: source === 'ppg' ? oxygenLeads(group, this.#spo2) : null,
    };
    const methods = { sqi: sqiMethods[source] };
    const chain =
      primary && primaries !== null
        ? primaries.add(rateNanoHz, this, (sink, seen) => new BeatChain(beats, kind, methods, this.#stock, sink, seen))
        : new BeatChain(beats, kind, methods, this.#stock, this);
    this.#add(channels, [...leads, ...axes], chain, rateNanoHz);
  }

  #addValues(channels: readonly ChannelConfig[], group: ChannelGroup): void {
    const { rateNanoHz } = group;
    const channelNo = (leads: readonly GroupLead[]): number => leads[0]!.channelNos[0]!;
    const plausible = group.kind === 'eda' ? { ...PLAUSIBLE_US, perSec: SLOPE_MAX_US_PER_SEC } : null;
    for (const { leads, features } of valueFeatures(group)) {
      const chain = new ValueChain(channelNo(leads), rateNanoHz, leads.length, features, this.#stock, this, plausible);
      this.#add(channels, leads, chain, rateNanoHz);
    }
  }

  /** @param rowRateNanoHz rate of the chain's rows */
  #add(channels: readonly ChannelConfig[], leads: readonly GroupLead[], chain: Chain, rowRateNanoHz: number): void {
    this.#chains.push(chain);
    leads.forEach(({ channelNos }, l) => {
      const lead = chain.feed.leads[l]!;
      let bridge: GridBridge | null = null; // one lead, one bridge: channels of a lead share their rate
      for (const no of channelNos) {
        const { gain, baseline, unit, kind, rateNanoHz } = channels[no]!;
        const scale = scaleOf(kind, unit)!; // of other channels there is no group
        bridge ??= rateNanoHz === rowRateNanoHz ? null : new GridBridge(lead, rateNanoHz, rowRateNanoHz);
        const next = this.#routes[no]!;
        this.#routes[no] = { chain, lead, gain: gain * scale.perUnit, baseline: baseline + scale.zero * gain, bridge, next };
      }
    });
  }
}

/** Slower channels of these kinds bear no beats. */
const lowestHz = { ecg: 50, ppg: 20 };
/** Faster channels are not computed, nor slow ones above `slowHighestHz`: kernels store seconds of samples of up to 64 channels. */
const highestHz = { ecg: 4000, ppg: 2000 };
const slowHighestHz = 4000;

function isComputed(source: BeatPlan['source'], rateNanoHz: number): boolean {
  const fs = rateNanoHz / 1e9;
  return fs >= lowestHz[source] && fs <= highestHz[source];
}

const sqiMethods = { ecg: methodIndex('sqi_ecg'), ppg: methodIndex('sqi_ppg') };

const breathingMethods = { ecg: methodIndex('resp_rate_ecg'), ppg: methodIndex('resp_rate_ppg') };

/** Physical values on their way to a bridge; nothing of it outlives a call. */
let bridged = new Float64Array(512);

type ValueGroup = Readonly<{ leads: readonly GroupLead[]; features: readonly ValueFeature[] }>;

/** What is computed from a slow group: per channel, or of the three axes. */
function valueFeatures({ kind, rateNanoHz, leads }: ChannelGroup): ValueGroup[] {
  const fs = rateNanoHz / 1e9;
  if (fs > slowHighestHz) return [];
  const feature = (name: string, leadCount: number, build: () => SegmentKernel, make: ValueFeature['make'] = 'values'): ValueFeature => ({
    method: methodIndex(name),
    kind: {
      key: `${name} ${rateNanoHz}`,
      build,
      rateNanoHz,
      leadCount,
      seamUs: make === 'values' ? 0 : 300_000,
      apartUs: { values: 0, count: 900_000, spacing: 500_000 }[make],
      mayBeClose: false,
    },
    make,
  });
  const blocks = (name: string, leadCount: number, build: () => BlockKernel): ValueFeature =>
    feature(name, leadCount, () => blockKernel(build));
  const one = (kernel: {
    latencySec: number;
    reset(k: number): void;
    push(x: Float64Array, from: number, to: number, out: FoundValues): void;
  }): BlockKernel => ({
    latencySec: kernel.latencySec,
    reset: (k) => kernel.reset(k),
    push: (x, from, to, out) => kernel.push(x[0]!, from, to, out),
  });
  if (kind === 'temp') return leads.map((lead) => ({ leads: [lead], features: [blocks('temp_mean', 1, () => one(new Temperature(fs)))] }));
  if (kind === 'resp' && fs >= 10)
    return leads.map((lead) => ({
      leads: [lead],
      features: [feature('resp_rate', 1, () => breathKernel(new BreathDetector(fs), rateNanoHz), 'spacing')],
    }));
  if (kind === 'eda' && fs >= 2)
    return leads.map((lead) => ({
      leads: [lead],
      features: [
        blocks('eda_tonic', 1, () => tonic(fs)),
        feature('scr_rate', 1, () => responseKernel(() => new Eda(fs), rateNanoHz), 'count'),
      ],
    }));
  if (kind === 'acc' && leads.length === 3 && fs >= 10)
    return [{ leads, features: [blocks('activity', 3, () => new Activity(fs)), blocks('steps', 3, () => new Steps(fs))] }];
  return [];
}

/** Red and infrared of one rate; null where the group has not both. */
function oxygenLeads({ rateNanoHz, leads }: ChannelGroup, calibration: Spo2Calibration | null): OxygenLeads | null {
  const red = leads.findIndex((lead) => lead.code === 'ppg.red');
  const infrared = leads.findIndex((lead) => lead.code === 'ppg.ir');
  if (red < 0 || infrared < 0) return null;
  const build = (): BlockKernel => {
    const kernel = new Spo2(rateNanoHz / 1e9, calibration);
    return {
      latencySec: kernel.latencySec,
      reset: (k) => kernel.reset(k),
      push: (x, from, to, out) => kernel.push(x[0]!, x[1]!, from, to, out),
    };
  };
  // kernels are taken from stock by their key: one of another line is another kernel
  const line = calibration === null ? '' : ` ${calibration.offset} ${calibration.slope}`;
  const kind: KernelKind = {
    key: `spo2 ${rateNanoHz}${line}`,
    build: () => blockKernel(build),
    rateNanoHz,
    leadCount: 2,
    seamUs: 0,
    apartUs: 0,
    mayBeClose: false,
  };
  return { red, infrared, channelNo: leads[red]!.channelNos[0]!, kind };
}

function tonic(fs: number): BlockKernel {
  const eda = new Eda(fs);
  const responses = emptyResponses();
  return {
    latencySec: eda.latencySec,
    reset: (k) => eda.reset(k),
    push(x, from, to, out) {
      eda.push(x[0]!, from, to, out, responses);
      responses.count = 0;
    },
  };
}
