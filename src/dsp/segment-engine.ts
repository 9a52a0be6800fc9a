/** One stream in the worker: ordered runs of digital samples in, final rows out. */
import type { ChannelConfig, QualityFlag, Samples } from '../signal.ts';
import type { RowBuffer } from './feature-wire.ts';
import { rowCode } from './feature-wire.ts';
import { PpgBeatDetector } from './ppg-beats.ts';
import { RPeakDetector } from './r-peaks.ts';
import type { BeatGroup, RowSink } from './segment-chain.ts';
import { BeatChain } from './segment-chain.ts';
import type { DetectorKind, DetectorStock } from './segment-detector.ts';
import type { ChannelGroup } from './segment-groups.ts';
import { channelGroups } from './segment-groups.ts';

type Route = { chain: BeatChain; lead: number; gain: number; baseline: number };

const builds = {
  ecg: (fs: number, leads: number) => new RPeakDetector(fs, leads),
  ppg: (fs: number, leads: number) => new PpgBeatDetector(fs, leads),
};

/** Device-reported quality at which a sample counts as missing. */
const badSample = 2;

/** Rows before `fromUs` are computed (they carry state) and not given out. */
export class StreamEngine implements RowSink {
  readonly #fromUs: number;
  readonly #rows: RowBuffer;
  readonly #chains: BeatChain[] = [];
  /** By channelNo; null: nothing is computed from it. */
  readonly #routes: (Route | null)[] = [];
  readonly #touched = new Set<BeatChain>();
  /** What was final before a flush: the flush may have to be taken back. */
  #flushedUs = -1;

  /** @param rows filled with final rows, in no particular order between channel groups */
  constructor(channels: readonly ChannelConfig[], fromUs: number, stock: DetectorStock, rows: RowBuffer) {
    this.#fromUs = fromUs;
    this.#rows = rows;
    const groups = channelGroups(channels);
    this.#routes = channels.map(() => null);
    for (const source of ['ecg', 'ppg'] as const) {
      const own = groups.filter((g) => g.kind === source);
      own.forEach((group) =>
        this.#addBeats(
          channels,
          group,
          source,
          group.leads.some((l) => l.code === own[0]!.leads[0]!.code),
          stock,
        ),
      );
    }
  }

  /** Time before which every row is out, µs; Infinity when nothing has begun. */
  get finalUs(): number {
    if (this.#flushedUs >= 0) return this.#flushedUs;
    let us = Number.POSITIVE_INFINITY;
    for (const chain of this.#chains) us = Math.min(us, chain.finalUs);
    return us;
  }

  /** Takes samples [k0, k0 + n); what lies before the channel's frontier is dropped. Processing waits for settle(). */
  run(channelNo: number, k0: number, samples: Samples, qmask: Uint8Array | null): void {
    const route = this.#routes[channelNo];
    if (route === null || route === undefined) return;
    const { chain, lead, gain, baseline } = route;
    const cut = Math.max(0, chain.frontier(lead) - k0);
    const n = samples.length - cut;
    if (n <= 0) return;
    this.#flushedUs = -1;
    const target = chain.room(lead, k0 + cut, n, qmask !== null || samples instanceof Float32Array);
    const physical = target.samples;
    const at = target.at - cut;
    if (samples instanceof Int32Array) for (let i = cut; i < cut + n; i++) physical[at + i] = (samples[i]! - baseline) / gain;
    else for (let i = cut; i < cut + n; i++) physical[at + i] = (samples[i]! - baseline) / gain;
    if (qmask !== null) for (let i = cut; i < cut + n; i++) if (qmask[i]! >= badSample) physical[at + i] = Number.NaN;
    this.#touched.add(chain);
  }

  /** Nothing more of a channel before index k. */
  pass(channelNo: number, k: number): void {
    const route = this.#routes[channelNo];
    if (route === null || route === undefined) return;
    route.chain.pass(route.lead, k);
    this.#touched.add(route.chain);
  }

  /** Processes what was taken. How it was cut into calls changes nothing. */
  settle(): void {
    for (const chain of this.#touched) chain.advance();
    this.#touched.clear();
  }

  /** The data ends here, or goes on more than a context (16 s) later. */
  flush(): void {
    this.settle();
    const finalUs = this.finalUs;
    for (const chain of this.#chains) chain.flush();
    this.#flushedUs = finalUs;
  }

  close(): void {
    for (const chain of this.#chains) chain.close();
  }

  beat(channelNo: number, tUs: number, ibiMs: number, kind: number, reason: number, flag: QualityFlag, source: 'ecg' | 'ppg'): void {
    if (tUs >= this.#fromUs)
      this.#rows.add(source === 'ecg' ? rowCode.ecgBeat : rowCode.ppgBeat, channelNo, tUs, ibiMs, kind * 64 + reason, flag);
  }

  value(method: number, channelNo: number, tUs: number, value: number, flag: QualityFlag): void {
    if (tUs >= this.#fromUs) this.#rows.add(rowCode.feature + method, channelNo, tUs, value, flag, 0);
  }

  quality(channelNo: number, tUs: number, sqi: number, flag: QualityFlag): void {
    if (tUs >= this.#fromUs) this.#rows.add(rowCode.quality, channelNo, tUs, sqi, flag, 0);
  }

  #addBeats(channels: readonly ChannelConfig[], group: ChannelGroup, source: 'ecg' | 'ppg', primary: boolean, stock: DetectorStock): void {
    const { rateNanoHz, leads } = group;
    const fs = rateNanoHz / 1e9;
    if (!(fs >= lowestHz[source] && fs <= 4000)) return;
    const kind: DetectorKind = {
      key: `${source} ${rateNanoHz} ${leads.length}`,
      build: () => builds[source](fs, leads.length),
      rateNanoHz,
      leadCount: leads.length,
    };
    const beats: BeatGroup = { source, rateNanoHz, codes: leads.map((l) => l.code), channelNo: leads[0]!.channelNos[0]!, primary };
    const chain = new BeatChain(beats, kind, stock, this);
    this.#chains.push(chain);
    leads.forEach((lead, index) => {
      for (const no of lead.channelNos)
        this.#routes[no] = { chain, lead: index, gain: channels[no]!.gain, baseline: channels[no]!.baseline };
    });
  }
}

/** Slower channels of these kinds bear no beats. */
const lowestHz = { ecg: 50, ppg: 20 };
