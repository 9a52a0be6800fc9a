/** The weights of src/dsp/ecg/quality.ts fitted anew, for each recording (or database) on the others: is there more in the measures than in
 *  the weights in use, and how much did those learn by heart? The kernel is called directly: the engine does not give the measures out. */
import { ecgQualityFeatures, ecgRateGood } from '../src/dsp/ecg/quality.ts';
import { noShapedBeats } from '../src/dsp/kernels/found-beats.ts';
import { EcgKernel, noJudgements } from '../src/dsp/ecg/kernel.ts';
import type { EcgSet } from './ecg-quality-sets.ts';
import { firstSec, noiseFromSec, noisy, snrs, wrongF1 } from './ecg-quality-sets.ts';
import { areaUnderCurve, between, fitLogistic, leftOutScores, meanRate, probability } from './engine-windows.ts';
import { matchBeats } from './match-beats.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { LeaveOut, Section } from './section.ts';

/** Clean seconds count three times, once for each noise level. */
const cleanWeight = 3;
const ridge = 0.01;

type Judged = Readonly<{
  database: string;
  name: string;
  isClean: boolean;
  endSec: number;
  wrong: boolean;
  /** Of the rate of 8 s; NaN where there is none. */
  errorBpm: number;
  features: readonly number[];
  sqi: number;
  rate: number;
}>;

export function refitSection(sets: readonly EcgSet[], noise: Float64Array, leaveOut: Exclude<LeaveOut, null>): Section {
  const fitted = leaveOut === 'recording' ? sets.filter(({ chosenOn }) => chosenOn === 'yes') : sets;
  const all = fitted.flatMap(({ database, recordings }) =>
    recordings.flatMap((recording, index) => [
      ...judge(database, recording, recording.leads[0]!, true),
      ...snrs.flatMap((snrDb) => judge(database, recording, noisy(recording, noise, index, snrDb), false)),
    ]),
  );
  const groupOf = ({ database, name }: Judged): string => (leaveOut === 'recording' ? name : database);
  const refit = (isRight: (j: Judged) => boolean, keep: (j: Judged) => boolean): number[] =>
    leftOutScores(all, groupOf, (others) => {
      const kept = others.filter(keep);
      const weights = fitLogistic(
        kept.map((j) => ({ features: j.features, isRight: isRight(j), weight: j.isClean ? cleanWeight : 1 })),
        ridge,
      );
      return (j) => probability(weights, j.features);
    });
  const isRated = (j: Judged): boolean => !Number.isNaN(j.errorBpm);
  const sqi = refit((j) => !j.wrong, () => true); // prettier-ignore
  const rate = refit((j) => j.errorBpm <= 5, isRated);
  const rows = [
    ['recordings', 'seconds', 'AUC refit', 'AUC in use', 'rate flag 0 %, refit', 'of these within 5 bpm %', 'off by more, flagged %'],
  ];
  const json: Record<string, unknown> = {};
  const items = all.map((j, i) => ({ ...j, refitSqi: sqi[i]!, refitRate: rate[i]! }));
  for (const { database } of fitted)
    for (const condition of ['clean', 'noise']) {
      const own = items.filter(
        (j) => j.database === database && j.isClean === (condition === 'clean') && (j.isClean || j.endSec >= noiseFromSec),
      );
      if (own.every(({ refitSqi }) => Number.isNaN(refitSqi))) continue;
      const isRight = (j: (typeof own)[number]): boolean => !j.wrong;
      const rated = own.filter(isRated);
      const good = rated.filter(({ refitRate }) => refitRate >= ecgRateGood);
      const off = rated.filter(({ errorBpm }) => errorBpm > 5);
      const figures = {
        seconds: own.length,
        aucRefit: areaUnderCurve(own, isRight, (j) => j.refitSqi),
        aucInUse: areaUnderCurve(own, isRight, (j) => j.sqi),
        rateGood: (100 * good.length) / rated.length,
        rateGoodWithin: (100 * good.filter(({ errorBpm }) => errorBpm <= 5).length) / good.length,
        rateOffFlagged: (100 * off.filter(({ refitRate }) => refitRate < ecgRateGood).length) / off.length,
      };
      json[`${database}, ${condition}`] = figures;
      rows.push([
        `${database}, ${condition}`,
        String(figures.seconds),
        ...[figures.aucRefit, figures.aucInUse].map((x) => x.toFixed(4)),
        ...[figures.rateGood, figures.rateGoodWithin, figures.rateOffFlagged].map((x) => x.toFixed(2)),
      ]);
    }
  const inAll = fitLogistic(
    all.map((j) => ({ features: j.features, isRight: !j.wrong, weight: j.isClean ? cleanWeight : 1 })),
    ridge,
  );
  const rateInAll = fitLogistic(
    all.filter(isRated).map((j) => ({ features: j.features, isRight: j.errorBpm <= 5, weight: j.isClean ? cleanWeight : 1 })),
    ridge,
  );
  const text = (weights: readonly number[]): string => weights.map((w) => w.toFixed(3)).join(', ');
  return {
    title: `ECG: quality, refit, each ${leaveOut} by weights of the other ${leaveOut}s (kernel called directly; not the weights in use)`,
    rows,
    json: { ...json, fit: { sqi: inAll, rate: rateInAll, of: ['constant', ...ecgQualityFeatures] } },
    notes: [
      `Protocol: logistic regression with ridge ${ridge} on ${fitted.map(({ database }) => database).join(', ')}, clean (weight ${cleanWeight}) and with electrode motion at 12, 6 and 0 dB; the ${leaveOut} that is judged is left out of the fit, the noise is not. The thresholds of the flags are those in use.`,
      `Fitted on all of them, sqi: ${text(inAll)}; rate: ${text(rateInAll)}`,
    ],
  };
}

function judge(database: string, { name, fs, beats, flutter }: EcgRecording, x: Float64Array, isClean: boolean): Judged[] {
  const kernel = new EcgKernel(fs, 1);
  const found = noShapedBeats(4096);
  const out = noJudgements();
  const features: number[][] = [];
  // One second at a time, so that the features of each can be read.
  for (let at = 0; at < x.length; at += fs) {
    kernel.push([x], at, Math.min(x.length, at + fs), found, out);
    while (features.length < out.count) features.push([...kernel.judges[0]!.features]);
  }
  const detected = found.position.slice(0, found.count).map((p) => p / fs);
  const reference = Float64Array.from(beats, (k) => k / fs);
  return features.flatMap((own, i) => {
    const endSec = out.endSec[i]!;
    const from = endSec - 10;
    if (endSec < firstSec || flutter.some(([a, b]) => a / fs < endSec && b / fs > from)) return [];
    const near = (list: Float64Array): Float64Array => between(list, from - 1, endSec + 1);
    const match = matchBeats(near(reference), near(detected), 1, [], (p) => p >= from && p < endSec);
    const f1 = (200 * match.tp) / (2 * match.tp + match.fp.length + match.fn.length);
    const errorBpm = Math.abs(meanRate(reference, endSec) - meanRate(detected, endSec));
    return [{ database, name, isClean, endSec, wrong: !(f1 >= wrongF1), errorBpm, features: own, sqi: out.sqi[i]!, rate: out.rate[i]! }];
  });
}
