/** The weights of src/dsp/ecg/shape-evidence.ts and src/dsp/hrv/beat-origin.ts, fitted on labelled beats as the kernel finds them. */
import { BeatShapes, shapeMeasures } from '../src/dsp/ecg/beat-shapes.ts';
import { RPeakDetector } from '../src/dsp/ecg/r-peaks.ts';
import { shapeTermNames, shapeTerms, widerThanUsual } from '../src/dsp/ecg/shape-evidence.ts';
import {
  confidenceOf,
  firstOfRun,
  isFibrillation,
  movementAround,
  perhapsVentricularMin,
  supraventricularMin,
  timingTermNames,
  timingTerms,
  ventricularMin,
} from '../src/dsp/hrv/beat-origin.ts';
import { noBeats } from '../src/dsp/kernels/found-beats.ts';
import { contextSec, segmentSec } from '../src/dsp/kernels/segment-grid.ts';
import type { Example, Weights } from './engine-windows.ts';
import { fitLogistic } from './engine-windows.ts';
import { addNoise, matchRecording } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { CalledBeat } from './score-kinds.ts';

/** AAMI EC57: normal, supraventricular, ventricular, fusion, unknown (paced, too); `-`: no beat. */
export type Origin = 'N' | 'S' | 'V' | 'F' | 'Q' | '-';

const byCode: Readonly<Record<string, Origin>> = {
  A: 'S',
  a: 'S',
  J: 'S',
  S: 'S',
  V: 'V',
  E: 'V',
  r: 'V',
  F: 'F',
  '/': 'Q',
  f: 'Q',
  Q: 'Q',
  '?': 'Q',
};

/** Recordings of MIT-BIH that EC57 leaves out: most beats are paced. */
export const paced: ReadonlySet<string> = new Set(['102', '104', '107', '217']);

export const originOf = (code: string): Origin => byCode[code] ?? 'N';

export type ShapedBeat = Readonly<{
  sec: number;
  origin: Origin;
  terms: readonly number[];
  widerInSecond: number;
  isFibrillation: boolean;
  firstOfRun: number;
  /** `movementAround` it. */
  movement: number;
}>;

const names = [...timingTermNames, ...shapeTermNames];
/** Timing first. A term that a function does not use has no weight. */
const used: Readonly<Record<'V' | 'S' | 'F', readonly string[]>> = {
  F: names,
  V: ['early', 'pause', 'drop', 'alike', 'unlike', 'unlike_whole', 'rest', 'wider', 'steeper', 'larger', 'wide'],
  S: ['early', 'pause', 'quite_early', 'very_early', 'next', 'before', 'drop', 'unlike', 'wider', 'steeper', 'no_p', 'p_rest'],
};
/** Not fitted on: their ventricular (207) and supraventricular beats (207, 201) look as the usual ones of the recording do. */
const left = { V: new Set(['207']), S: new Set(['207', '201']), F: new Set<string>() };
const isLeft = (kind: 'V' | 'S' | 'F', name: string): boolean => left[kind].has(name.split(' ')[0]!);
/** Signal-to-noise ratios of the copies with noise of moving electrodes, dB. */
const noisyDb = [12, 6] as const;
/** Of the beats of such a copy, for confidences: so that moving electrodes are about a sixth of all. */
const noisyWeight = 0.3;
const isNoisyCopy = (name: string): boolean => name.includes(' ');
/** So many beats of a kind of a recording count in full; of more, each counts less. */
const most = { V: { yes: 300, no: 500 }, S: { yes: 200, no: 500 }, F: { yes: 300, no: 500 } };
const ridge = 1;

/** Beats of the first lead, or of both, with their terms, segment by segment as the engine does it. */
export function shapedBeats(recording: EcgRecording, leadCount: 1 | 2): ShapedBeat[] {
  const { fs } = recording;
  const leads = recording.leads.slice(0, leadCount);
  const { length } = leads[0]!;
  const detector = new RPeakDetector(fs, leads.length);
  const shapes = leads.map(() => new BeatShapes(detector.featureRate));
  detector.listener = {
    leadPushed: (lead, signal, k, count) => shapes[lead]!.push(signal.inputs, k, count),
    beatFound: () => undefined,
  };
  const seconds: number[] = [];
  const shapeRows: Float64Array[][] = [];
  for (let segment = 0; segment * segmentSec * fs < length; segment++) {
    const [startSec, endSec] = [segment * segmentSec, (segment + 1) * segmentSec];
    const from = Math.max(0, Math.round((startSec - contextSec) * fs));
    const to = Math.min(length, Math.round((endSec + detector.latencySec) * fs));
    const beats = noBeats(256);
    detector.reset();
    for (const each of shapes) each.reset();
    let done = 0;
    for (let at = from; at < to; at += 90) {
      detector.push(leads, at, Math.min(to, at + 90), beats);
      if (at + 90 >= to && to === length) detector.flush(beats);
      for (; done < beats.count; done++) {
        const position = beats.position[done]!;
        for (const each of shapes) each.measure(Math.round((position - (detector.decimation - 1) / 2) / detector.decimation));
        const sec = (from + position) / fs;
        if (sec < startSec - 0.04 || sec >= endSec || sec - (seconds.at(-1) ?? -1) < 0.1) continue;
        seconds.push(sec);
        shapeRows.push(shapes.map(({ measures }) => Float64Array.from(measures)));
      }
    }
  }
  return seconds.flatMap((sec, i) => withTerms(recording, seconds, shapeRows, sec, i) ?? []);
}

/** Beats of copies of a recording with noise, by names that begin with its own. */
export function noisyBeats(recording: EcgRecording, noise: Float64Array): (readonly [string, readonly ShapedBeat[]])[] {
  return noisyDb.map((snrDb) => {
    const leads = [addNoise(recording, 0, noise, snrDb)];
    return [`${recording.name} ${snrDb} dB`, shapedBeats({ ...recording, leads }, 1)] as const;
  });
}

let columns: {
  of: readonly number[];
  tUs: Float64Array;
  starts: Uint8Array;
  pLikeness: Float32Array;
  beforeRest: Float32Array;
  origins: Origin[];
} | null = null;

function withTerms(
  recording: EcgRecording,
  seconds: readonly number[],
  measures: readonly (readonly Float64Array[])[],
  sec: number,
  i: number,
): ShapedBeat {
  if (columns?.of !== seconds) {
    const tUs = Float64Array.from(seconds, (s) => Math.round(s * 1e6));
    const starts = Uint8Array.from(seconds, (s, j) => (j === 0 || s - seconds[j - 1]! > 3 ? 1 : 0));
    const { referenceOf } = matchRecording(recording, seconds.map((s) => s * recording.fs)); // prettier-ignore
    const measure = (name: (typeof shapeMeasures)[number]): Float32Array =>
      Float32Array.from(measures, ([m]) => m![shapeMeasures.indexOf(name)]!);
    columns = {
      of: seconds,
      tUs,
      starts,
      pLikeness: measure('p_likeness'),
      beforeRest: measure('before_rest'),
      origins: Array.from(referenceOf, (r) => (r < 0 ? '-' : originOf(recording.codes[r]!))),
    };
  }
  const timing = new Float64Array(timingTermNames.length);
  const shape = new Float64Array(shapeTermNames.length);
  const { tUs, starts } = columns;
  const beats = { count: tUs.length, tUs, starts, pLikeness: columns.pLikeness, beforeRest: columns.beforeRest };
  const usual = timingTerms(beats, 0, i, timing);
  shapeTerms(measures[i]![0]!, shape);
  const isKnown = !Number.isNaN(usual + measures[i]![0]![0]!);
  return {
    sec,
    origin: columns.origins[i]!,
    terms: isKnown ? [...timing, ...shape] : [],
    widerInSecond: measures[i]!.length > 1 ? widerThanUsual(measures[i]![1]!) : Number.NaN,
    isFibrillation: isFibrillation(beats, 0, i, usual),
    firstOfRun: firstOfRun(beats, 0, i),
    movement: movementAround(beats, 0, i),
  };
}

type Confidences = Readonly<Record<'N' | 'V' | 'S', Weights>>;
/** `second`: for a ventricular beat, what a second lead adds. */
export type OriginWeights = Readonly<{ V: Weights; S: Weights; second: Weights; confidence: Confidences }>;

type BeatsByRecording = ReadonlyMap<string, readonly ShapedBeat[]>;

/** @param noisy the same with noise of moving electrodes, by other names: what they look like is fitted on both */
export function fitOrigins(clean: BeatsByRecording, noisy: BeatsByRecording = new Map()): OriginWeights {
  const both = new Map([...clean, ...noisy]);
  const V = withSameSteep(both, fitOne(clean, 'V', ['N', 'S', '-']));
  const weights = { V, S: fitOne(clean, 'S', ['N', '-']), second: fitSecond(clean, V) };
  return { ...weights, confidence: fitConfidence(both, weights) };
}

/** What a steep part that is that of the usual beat speaks against a ventricular one, of beats that are perhaps ventricular: scaled so that
 *  the threshold stays. */
function withSameSteep(of: BeatsByRecording, V: Weights): Weights {
  const at = names.indexOf('same_steep');
  const examples: Example[] = [];
  for (const [name, all] of of) {
    if (isLeft('V', name)) continue;
    const beats = all.filter(({ terms, origin }) => terms.length > 0 && 'VNS-'.includes(origin));
    const yes = beats.filter(({ origin }) => origin === 'V').length;
    for (const { terms, origin } of beats) {
      const before = logit(V, terms);
      if (before < perhapsVentricularMin) continue;
      const isRight = origin === 'V';
      const weight = Math.min(1, isRight ? most.V.yes / yes : most.V.no / (beats.length - yes));
      examples.push({ features: [before, terms[at]!], isRight, weight });
    }
  }
  if (examples.length === 0) return V;
  const [, scale = 1, same = 0] = fitLogistic(examples, ridge);
  return V.map((weight, j) => (j === at + 1 ? same / scale : weight));
}

/** How often a call is right, by its logits and the movement around it. Fusion beats, and those that nobody could name, say nothing. */
function fitConfidence(of: BeatsByRecording, weights: Omit<OriginWeights, 'confidence'>): Confidences {
  const examples: Record<'N' | 'V' | 'S', Example[]> = { N: [], V: [], S: [] };
  for (const [name, beats] of of)
    judgeAll(beats, weights).forEach(({ called, logits }, i) => {
      const { origin } = beats[i]!;
      if (logits === null || origin === 'F' || origin === 'Q') return;
      const features = logits.filter((_, j) => asked[called][j]);
      examples[called].push({ features, isRight: origin === called, weight: isNoisyCopy(name) ? noisyWeight : 1 });
    });
  const fitted = (called: 'N' | 'V' | 'S'): Weights => {
    const [constant = 0, ...rest] = examples[called].length === 0 ? [] : fitLogistic(examples[called], confidenceRidge);
    return [constant, ...asked[called].map((is) => (is ? (rest.shift() ?? 0) : 0))];
  };
  return { N: fitted('N'), V: fitted('V'), S: fitted('S') };
}

/** Which of ventricular logit, supraventricular logit and movement a confidence is made of. */
const asked = { N: [true, true, false], V: [true, false, true], S: [false, true, true] };
const confidenceRidge = 0.01;

const logit = (w: Weights, terms: readonly number[]): number => terms.reduce((sum, term, j) => sum + w[j + 1]! * term, w[0]!);

/** What the width in a second lead adds to the logit of the first: scaled so that the threshold of the first stays. */
function fitSecond(of: BeatsByRecording, V: Weights): Weights {
  const examples: Example[] = [];
  for (const [name, all] of of) {
    if (isLeft('V', name)) continue;
    const beats = all.filter(({ terms, widerInSecond }) => terms.length > 0 && !Number.isNaN(widerInSecond));
    const yes = beats.filter(({ origin }) => origin === 'V');
    const no = beats.filter(({ origin }) => ['N', 'S', '-'].includes(origin));
    for (const { terms, widerInSecond, origin } of [...yes, ...no]) {
      const isRight = origin === 'V';
      const weight = Math.min(1, isRight ? most.V.yes / yes.length : most.V.no / no.length);
      examples.push({ features: [logit(V, terms), widerInSecond], isRight, weight });
    }
  }
  if (examples.length === 0) return [0, 0];
  const [constant = 0, first = 1, wider = 0] = fitLogistic(examples, ridge);
  return [(constant - ventricularMin) / first + ventricularMin, wider / first];
}

function fitOne(of: BeatsByRecording, kind: 'V' | 'S' | 'F', against: readonly Origin[]): Weights {
  const at = used[kind].map((name) => (names as readonly string[]).indexOf(name));
  const examples: Example[] = [];
  for (const [name, all] of of) {
    if (isLeft(kind, name)) continue;
    const beats = all.filter(({ terms, isFibrillation: isOff }) => terms.length > 0 && !(kind === 'S' && isOff));
    const yes = beats.filter(({ origin }) => origin === kind);
    const no = beats.filter(({ origin }) => against.includes(origin));
    for (const { terms, origin } of [...yes, ...no]) {
      const isRight = origin === kind;
      const weight = isRight ? Math.min(1, most[kind].yes / yes.length) : Math.min(1, most[kind].no / no.length);
      examples.push({ features: at.map((j) => terms[j]!), isRight, weight });
    }
  }
  const [constant = 0, ...weights] = fitLogistic(examples, ridge);
  return [constant, ...names.map((name) => weights[used[kind].indexOf(name)] ?? 0)];
}

/** What these weights call each beat of a recording, and how sure that is: as `beatOrigin` of the sources. */
export function callOrigins(beats: readonly ShapedBeat[], weights: OriginWeights): CalledBeat[] {
  return judgeAll(beats, weights).map(({ called, logits }, i) => {
    const confidence = logits === null ? Number.NaN : confidenceOf(weights.confidence[called], ...logits);
    return { sec: beats[i]!.sec, called, confidence };
  });
}

/** `logits`: ventricular, supraventricular, and the movement around it; null: unknown. */
type JudgedBeat = Readonly<{ called: 'N' | 'V' | 'S'; logits: readonly [number, number, number] | null }>;

function judgeAll(beats: readonly ShapedBeat[], weights: Omit<OriginWeights, 'confidence'>): JudgedBeat[] {
  const own = beats.map((beat) => judgeAlone(beat, weights));
  return own.map((judged, i) => {
    const first = own[beats[i]!.firstOfRun];
    return judged.called === 'N' && first?.called === 'S' ? first : judged;
  });
}

function judgeAlone(
  { terms, widerInSecond, isFibrillation: isOff, movement }: ShapedBeat,
  { V, S, second }: Omit<OriginWeights, 'confidence'>,
): JudgedBeat {
  if (terms.length === 0) return { called: 'N', logits: null };
  const ventricular = logit(V, terms) + (Number.isNaN(widerInSecond) ? 0 : second[0]! + second[1]! * widerInSecond);
  const supraventricular = logit(S, terms);
  if (ventricular > ventricularMin) return { called: 'V', logits: [ventricular, supraventricular, movement] };
  if (supraventricular > supraventricularMin && !isOff) return { called: 'S', logits: [ventricular, supraventricular, movement] };
  return { called: 'N', logits: [ventricular, Math.min(supraventricular, supraventricularMin), movement] };
}

/** Would a third function of all terms tell fusion beats? @returns of a recording, by weights of the others, how many it would find */
export function foundFusion(own: readonly ShapedBeat[], others: BeatsByRecording): Readonly<{ found: number; all: number }> {
  const weights = fitOne(others, 'F', ['N', 'S', 'V', '-']);
  const fusion = own.filter(({ origin, terms }) => origin === 'F' && terms.length > 0);
  return { found: fusion.filter(({ terms }) => logit(weights, terms) > 0).length, all: fusion.length };
}

/** The tables of the sources. */
export function weightTables({ V, S, second, confidence }: OriginWeights): string[] {
  const split = 1 + timingTermNames.length;
  const list = (w: Weights): string => `[${w.map((x) => Number(x.toFixed(3))).join(', ')}]`;
  return [
    `ventricularTimingWeights ${list(V.slice(0, split))}; ventricularShapeWeights ${list(V.slice(split))}`,
    `supraventricularTimingWeights ${list(S.slice(0, split))}; supraventricularShapeWeights ${list(S.slice(split))}`,
    `confidenceWeights usual ${list(confidence.N)}; ventricular ${list(confidence.V)}; supraventricular ${list(confidence.S)}`,
    ...(second[1] === 0 ? [] : [`secondLeadWeights ${list(second)}`]),
  ];
}
