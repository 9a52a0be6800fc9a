/** The weights of src/dsp/ppg/quality.ts fitted anew, for each recording (or database) on the others. Detector and quality are called
 *  directly: the engine does not give the measures out. */
import { PpgBeatDetector } from '../src/dsp/ppg/beats.ts';
import { PpgMotionHeartRate, emptyRates } from '../src/dsp/ppg/motion-hr.ts';
import { PpgQuality, emptyQuality, ppgQualityFeatures } from '../src/dsp/ppg/quality.ts';
import { areaUnderCurve, fitLogistic, leftOutScores, probability } from './engine-windows.ts';
import { wrongWindows } from './ppg-windows.ts';
import { findAll, ppgChosenOn, ppgSets } from './ppg-recordings.ts';
import type { PpgItem } from './ppg-recordings.ts';
import { scoreBeats } from './ppg-reference.ts';
import type { LeaveOut, Section } from './section.ts';

const ridge = 1;

type Judged = Readonly<{ item: PpgItem; wrong: boolean; sqi: number; features: readonly number[] }>;

export function refitSection(items: readonly PpgItem[], leaveOut: Exclude<LeaveOut, null>): Section {
  const fitted = items.filter(({ set }) => leaveOut === 'database' || ppgChosenOn[set] === 'yes');
  const rows: string[][] = [['recordings', 'seconds', 'AUC refit', 'AUC in use']];
  const json: Record<string, unknown> = {};
  const notes = [
    `Protocol: logistic regression with ridge ${ridge} on ${[...new Set(fitted.map(({ set }) => set))].join(', ')}; the ${leaveOut} that is judged is left out of the fit (both wavelengths of a run count as one recording).`,
  ];
  for (const withRates of [false, true]) {
    const judged = fitted.flatMap((item) => judgeOne(item, withRates));
    const used = ppgQualityFeatures.length - (withRates ? 0 : 2);
    const groupOf = ({ item }: Judged): string => (leaveOut === 'database' ? item.set : item.name.replace(/\.\d$/, ''));
    const fit = (list: readonly Judged[]): readonly number[] =>
      fitLogistic(
        list.map(({ features, wrong }) => ({ features: features.slice(0, used), isRight: !wrong, weight: 1 })),
        ridge,
      );
    const scores = leftOutScores(judged, groupOf, (others) => {
      const weights = fit(others);
      return ({ features }) => probability(weights, features);
    });
    const scored = judged.map((j, i) => ({ ...j, refit: scores[i]! }));
    const name = withRates ? 'with spectral rate' : 'PPG alone';
    for (const set of ['all', ...ppgSets]) {
      const own = scored.filter(({ item }) => set === 'all' || item.set === set);
      if (own.length === 0) continue;
      const isRight = ({ wrong }: Judged): boolean => !wrong;
      const figures = {
        seconds: own.length,
        aucRefit: areaUnderCurve(own, isRight, ({ refit }) => refit),
        aucInUse: areaUnderCurve(own, isRight, ({ sqi }) => sqi),
      };
      json[`${name}, ${set}`] = figures;
      rows.push([`${name}, ${set}`, String(own.length), figures.aucRefit.toFixed(4), figures.aucInUse.toFixed(4)]);
    }
    notes.push(
      `${name}, fitted on all of them: ${fit(judged)
        .map((w) => w.toFixed(3))
        .join(', ')}`,
    );
  }
  return {
    title: `PPG: quality, refit, each ${leaveOut} by weights of the other ${leaveOut}s (functions called directly; not the weights in use)`,
    rows,
    json: { ...json, of: ['constant', ...ppgQualityFeatures] },
    notes,
  };
}

function judgeOne(item: PpgItem, withRates: boolean): Judged[] {
  const { fs, ppg, reference } = item;
  const judged: Judged[] = [];
  const detector = new PpgBeatDetector(fs);
  const detected = findAll(detector, ppg);
  const test = detected.position.slice(0, detected.count).map((position) => position / fs);
  const { lagSec } = scoreBeats(test, reference);
  const isWrong = wrongWindows(
    reference,
    test.map((time) => time + lagSec),
  );
  const quality = new PpgQuality(fs, detector.latencySec, withRates);
  quality.pushBeats(detected, 0, detected.count);
  const out = emptyQuality();
  const found = emptyRates();
  const leads = item.spc === null ? [ppg] : item.spc.ppg;
  const motion = new PpgMotionHeartRate(fs, leads.length, item.spc === null ? 0 : 3);
  const step = Math.max(1, Math.round(fs / 5)); // several steps a second, so that the measures of each can be read
  for (let at = 0; at < ppg.length; at += step) {
    const end = Math.min(ppg.length, at + step);
    if (withRates) {
      if (item.spc !== null) motion.pushAcc(item.spc.acc, at, end, found);
      motion.pushPpg(leads, at, end, found);
      quality.pushRates(found, 0, found.count);
      found.count = 0;
    }
    const before = out.count;
    quality.push(ppg, at, end, out);
    for (let k = before; k < out.count; k++) {
      const startSec = out.startSec[k]!;
      const wrong = startSec < 10 ? null : isWrong(startSec - 4 + lagSec);
      if (wrong !== null) judged.push({ item, wrong, sqi: out.sqi[k]!, features: Array.from(quality.features) });
    }
  }
  return judged;
}
