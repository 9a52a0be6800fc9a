/** P, QRS and T of single beats, measured in stored samples: what the medians of a minute (pr_60s, qrs_60s, qt_60s, qtc_*) are made of. */
import { noBoundaries } from '../dsp/ecg/delineation.ts';
import type { Boundaries } from '../dsp/ecg/delineation.ts';
import { beatPlans, channelGroups } from '../dsp/engine/groups.ts';
import { corrected, measureOf } from '../dsp/engine/intervals.ts';
import { LEAD_AFTER_SEC, LEAD_BEFORE_SEC, StoredLead } from '../dsp/engine/stored-lead.ts';
import { BAD, GOOD, gridTimeNs, SUSPECT } from '../signal.ts';
import type { ChannelConfig, QualityFlag } from '../signal.ts';
import { INTERVAL_MAX_NS } from './corrected-beats.ts';
import type { Range } from './corrected-beats.ts';
import type { SampleSegment } from './samples.ts';
import { beatKinds } from './series-pages.ts';
import type { BeatColumns } from './series-pages.ts';
import { breathe } from './slices.ts';

/** Beats measured per turn of the event loop: 1.5 ms of it. */
const SLICE_BEATS = 20;
/** Samples are needed from so long before the first beat to so long after the last one, ns. */
const BEFORE_NS = BigInt(Math.ceil(1e9 * LEAD_BEFORE_SEC));
const AFTER_NS = BigInt(Math.ceil(1e9 * LEAD_AFTER_SEC));
/** Times and intervals are whole microseconds. */
const SAME_MS = 0.01;

const normal = beatKinds.indexOf('normal');
const interpolated = beatKinds.indexOf('interpolated');

/** What medians do with a beat: they use it, or why not. */
export const waveUses = ['used', 'suspect', 'bad', 'gap', 'kind', 'unmeasured', 'unseen'] as const;
export type WaveUse = (typeof waveUses)[number];

export const formulas = ['bazett', 'fridericia', 'framingham', 'hodges'] as const satisfies (keyof typeof corrected)[];
export const boundaryNames = [
  'pOnset',
  'pPeak',
  'pEnd',
  'qrsOnset',
  'qrsEnd',
  'tOnset',
  'tPeak',
  'tEnd',
] as const satisfies (keyof Boundaries)[];

export type MeasuredBeat = Readonly<{
  tsNs: bigint;
  /** To the beat before, ms; NaN after a gap. */
  intervalMs: number;
  /** Of beatKinds. */
  kind: number;
  use: WaveUse;
  /** Good where medians use it; bad where its signal is, or nothing could be measured. */
  qmask: QualityFlag;
  /** Unix ns; null: not found. */
  at: Readonly<Record<(typeof boundaryNames)[number], bigint | null>>;
  /** ms; NaN: a boundary was not found. */
  pr: number;
  qrs: number;
  qt: number;
  /** The interval before the beat, by which its QT may be corrected, s; NaN: not an interval between good normal beats. */
  rrSec: number;
}>;

/** A lead to measure, and whose beats they are: leads of one rate share them. */
export type LeadToMeasure = Readonly<{ code: string; beatsOf: string; ratesNanoHz: readonly number[] }>;

/** @param code of a lead; null: the one that stored medians are of, first. A device that changed its rate may have several.
 *  @returns none: the stream has no such lead */
export function leadsToMeasure(channels: readonly ChannelConfig[], code: string | null): readonly LeadToMeasure[] {
  const groups = channelGroups(channels);
  const rates = new Map<string, { code: string; beatsOf: string; ratesNanoHz: number[] }>();
  for (const { group, source, primary } of beatPlans(groups)) {
    if (source !== 'ecg' || (code === null && !primary)) continue;
    const { rateNanoHz } = group;
    const beatsOf = group.leads[0]!.code;
    const all = groups.find((one) => one.kind === 'ecg' && one.rateNanoHz === rateNanoHz)!;
    const lead = code ?? beatsOf;
    if (!all.leads.some((one) => one.code === lead)) continue;
    const known = rates.get(beatsOf);
    if (known === undefined) rates.set(beatsOf, { code: lead, beatsOf, ratesNanoHz: [rateNanoHz] });
    else known.ratesNanoHz.push(rateNanoHz);
  }
  return [...rates.values()];
}

/** The range of the samples that beats of a range are measured in. */
export const samplesFor = ({ fromNs, toNs }: Range): Range => ({ fromNs: fromNs - BEFORE_NS, toNs: toNs + AFTER_NS });
/** The range of the beats: the one before the first is needed. */
export const beatsFor = ({ fromNs, toNs }: Range): Range => ({ fromNs: fromNs - INTERVAL_MAX_NS - 1000n, toNs });

/** Of the beat that was measured last: read before the next turn of the event loop, in which another request may measure. */
const found = noBoundaries();
const nowhere = Object.fromEntries(boundaryNames.map((name) => [name, null])) as MeasuredBeat['at'];

/** Measures the beats of a range.
 *  @param columns beats of it, and what beatsFor adds  @param segments of the lead, in what samplesFor says */
export async function measureBeats(
  columns: BeatColumns,
  segments: readonly SampleSegment[],
  { ratesNanoHz }: LeadToMeasure,
  range: Range,
): Promise<MeasuredBeat[]> {
  const usable = segments.filter(({ kind, rateNanoHz }) => kind === 'ecg' && ratesNanoHz.includes(rateNanoHz));
  const [first] = usable;
  const epochNs = first === undefined ? 0n : first.t0Ns - gridTimeNs(first.k0, first.rateNanoHz);
  const needed = samplesFor(range);
  const usOf = (ns: bigint): number => Number(ns - epochNs) / 1000;
  const leads = [...Map.groupBy(usable, ({ rateNanoHz }) => rateNanoHz)].map(([rateNanoHz, own]) => {
    const lead = new StoredLead(rateNanoHz, usOf(needed.fromNs), usOf(needed.toNs));
    for (const { k0, samples, qmask, gain, baseline } of own) lead.put(k0, samples, qmask, { gain, baseline });
    return lead;
  });
  await breathe();
  const { tsNs, intervalMs, kinds, accepted, qmask } = columns;
  const beats: MeasuredBeat[] = [];
  /** The beat before that was seen. */
  let last = -1;
  for (let i = 0; i < tsNs.length; i++) {
    const ns = tsNs[i]!;
    const isSeen = kinds[i] !== interpolated;
    if (ns >= range.fromNs && ns < range.toNs) {
      if (beats.length % SLICE_BEATS === SLICE_BEATS - 1) await breathe();
      const lastUs = last < 0 ? Number.NEGATIVE_INFINITY : usOf(tsNs[last]!);
      const isMeasured = isSeen && leads.some((lead) => lead.measure(usOf(ns), lastUs, found));
      const flag = qmask[i]! as QualityFlag;
      const use = isSeen ? useOf(flag, intervalMs[i]!, kinds[i]!, isMeasured) : 'unseen';
      const isNext = Math.abs((usOf(ns) - lastUs) / 1000 - intervalMs[i]!) < SAME_MS;
      const isRr = accepted[i] === 1 && isNext && flag === GOOD && qmask[last] === GOOD;
      beats.push({
        tsNs: ns,
        intervalMs: intervalMs[i]!,
        kind: kinds[i]!,
        use,
        qmask: use === 'used' ? GOOD : flag === BAD || !isMeasured ? BAD : SUSPECT,
        at: isMeasured ? timesOf(ns) : nowhere,
        ...(isMeasured ? measured() : { pr: NaN, qrs: NaN, qt: NaN }),
        rrSec: isRr ? intervalMs[i]! / 1000 : NaN,
      });
    }
    if (isSeen) last = i;
  }
  return beats;
}

function useOf(flag: QualityFlag, intervalMs: number, kind: number, isMeasured: boolean): WaveUse {
  if (flag === BAD) return 'bad';
  if (flag === SUSPECT) return 'suspect';
  if (Number.isNaN(intervalMs)) return 'gap';
  if (kind !== normal) return 'kind';
  return isMeasured ? 'used' : 'unmeasured';
}

function timesOf(ns: bigint): MeasuredBeat['at'] {
  const at = (sec: number): bigint | null => (Number.isNaN(sec) ? null : ns + BigInt(Math.round(1e9 * sec)));
  return Object.fromEntries(boundaryNames.map((name) => [name, at(found[name])])) as MeasuredBeat['at'];
}

/** As precise as the medians have them. */
const measured = (): Pick<MeasuredBeat, 'pr' | 'qrs' | 'qt'> => ({
  pr: Math.fround(measureOf.pr(found)),
  qrs: Math.fround(measureOf.qrs(found)),
  qt: Math.fround(measureOf.qt(found)),
});

/** ms; NaN: it has no QT, or no interval to correct it by. */
export const correctedQt = ({ qt, rrSec }: MeasuredBeat, formula: (typeof formulas)[number]): number => corrected[formula](qt, rrSec);
