/** The goals of signal truth beside what the sections measured: the last table of the report. */
import type { Section } from './section.ts';

type Goal = Readonly<{
  goal: string;
  what: string;
  /** Where the figure is in the sections' JSON: section, then keys. */
  path: readonly string[];
  better: 'higher' | 'lower';
  target: number;
  /** The figure is a share, the target in per cent. */
  isShare?: boolean;
}>;

const detection = (goal: string, what: string, target: number, ...path: string[]): Goal => ({
  goal,
  what,
  path: ['ecg-detection', ...path],
  better: 'higher',
  target,
});
const heartRate = (group: string, key: string): readonly string[] => ['ecg-quality', 'gross', 'heartRate', group, key];

const goals: readonly Goal[] = [
  detection('S1', 'R peaks, first lead: F1 %', 99.9, 'gross', 'f1'),
  detection('S1', 'R peaks, first lead: Se %', 99.88, 'gross', 'se'),
  detection('S1', 'R peaks, first lead: +P %', 99.88, 'gross', 'ppv'),
  detection('S1', 'worst record: F1 %', 98.9, 'worstRecord', 'f1'),
  ...[125, 250, 500].map((fs) => detection('S1', `the same at ${fs} Hz: F1 %`, 99.85, `first lead at ${fs} Hz`, 'f1')),
  detection('S2', 'R peaks, leads fused: F1 %', 99.95, 'all leads fused', 'f1'),
  ...(
    [
      [12, 99.8],
      [6, 98.6],
      [0, 92.5],
    ] as const
  ).map(([snr, target]): Goal => ({
    goal: 'S3',
    what: `R peaks, electrode motion ${snr} dB: F1 %`,
    path: ['ecg-noise', 'gross', `${snr} dB`, 'f1'],
    better: 'higher',
    target,
  })),
  { goal: 'S4', what: 'PPG beats, BIDMC: F1 %', path: ['ppg', 'bidmc', 'f1'], better: 'higher', target: 99.2 },
  { goal: 'S4', what: 'PPG beats, running: F1 %', path: ['ppg', 'spc', 'f1'], better: 'higher', target: 89 },
  {
    goal: 'S5',
    what: 'pulse rate through the engine, BIDMC: within 5 bpm, %',
    path: ['pulse-stream', 'hr_ppg, at rest', 'within'],
    better: 'higher',
    target: 98,
    isShare: true,
  },
  {
    goal: 'S5',
    what: 'heart rate in motion through the engine: mean error, bpm',
    path: ['pulse-stream', 'hr_ppg_motion, running', 'meanError'],
    better: 'lower',
    target: 1.2,
  },
  { goal: 'S6', what: 'EC57 TP2, HF: worst error %', path: ['hrv', 'TP2', 'worstErrorPercent'], better: 'lower', target: 5 },
  { goal: 'S6', what: 'EC57 TP4, VLF: worst error %', path: ['hrv', 'TP4', 'worstErrorPercent'], better: 'lower', target: 5 },
  { goal: 'S7', what: 'RMSSD with 6 % mixed faults: median error %', path: ['hrv', 'mixed 6 %', 'rmssd'], better: 'lower', target: 4 },
  { goal: 'S7', what: 'RMSSD of clean beats: median error %', path: ['hrv', 'clean', 'rmssd'], better: 'lower', target: 0.5 },
  {
    goal: 'S8',
    what: 'PRV SDNN against ECG, near-sinus windows whatever their flag: mean error, ms',
    path: ['ppg', 'prvBidmc', 'sdnnMeanErrorMs'],
    better: 'lower',
    target: 0.9,
  },
  {
    goal: 'S8',
    what: 'PRV SDNN against ECG, both flagged 0: mean error, ms',
    path: ['values', 'prv', 'prv_sdnn_300s against hrv_sdnn_300s', 'mean'],
    better: 'lower',
    target: 0.9,
  },
  { goal: 'S9', what: 'ECG quality: AUC held out', path: ['ecg-quality', 'gross', 'aucHeldOut'], better: 'higher', target: 0.97 },
  {
    goal: 'S9',
    what: 'PPG quality, as the engine runs it: AUC held out',
    path: ['ppg-quality', 'with spectral rate', 'aucHeldOut'],
    better: 'higher',
    target: 0.97,
  },
  {
    goal: 'S9',
    what: 'heart rate flagged 0, clean, held out: within 5 bpm, %',
    path: heartRate('clean, held out', 'of flag 0 within 5 bpm %'),
    better: 'higher',
    target: 99,
  },
  {
    goal: 'S9',
    what: 'heart rate off by more, clean, held out: flagged 1 or 2, %',
    path: heartRate('clean, held out', 'of off by > 5 bpm flagged 1 or 2 %'),
    better: 'higher',
    target: 95,
  },
  {
    goal: 'S9',
    what: 'heart rate off by more, noise, held out: flagged 1 or 2, %',
    path: heartRate('noise, held out', 'of off by > 5 bpm flagged 1 or 2 %'),
    better: 'higher',
    target: 95,
  },
  {
    goal: 'S9',
    what: 'pulse rate off by more: flagged 1 or 2, %',
    path: ['pulse-stream', 'hr_ppg, at rest', 'offFlagged'],
    better: 'higher',
    target: 95,
    isShare: true,
  },
  ...(['offFlagged', 'within'] as const).map((key): Goal => ({
    goal: 'S9',
    what: `heart rate in motion, held out: ${key === 'within' ? 'flagged 0, within 5 bpm' : 'off by more, flagged 1 or 2'}, %`,
    path: ['ppg-motion-trust', 'both', key],
    better: 'higher',
    target: key === 'within' ? 99 : 95,
    isShare: true,
  })),
  {
    goal: 'S9',
    what: 'RMSSD of 60 s flagged 0: within 10 % of the aligned annotations, %',
    path: ['values', 'rmssdFlag0Within'],
    better: 'higher',
    target: 99,
    isShare: true,
  },
  {
    goal: 'S9',
    what: 'RMSSD of 60 s flagged 0: within 10 % of the annotations as they stand, %',
    path: ['values', 'rmssdOfLabelsFlag0Within'],
    better: 'higher',
    target: 99,
    isShare: true,
  },
];

/** @param json by section, as `--json` prints it  @returns null when none of the figures was measured */
export function goalSection(json: Readonly<Record<string, unknown>>): Section | null {
  const measured = goals.flatMap((goal) => {
    const found = goal.path.reduce<unknown>((at, key) => (at as Record<string, unknown> | null | undefined)?.[key], json);
    if (typeof found !== 'number' || Number.isNaN(found)) return [];
    const figure = goal.isShare === true ? 100 * found : found;
    return [{ ...goal, figure, isReached: goal.better === 'higher' ? figure >= goal.target : figure <= goal.target }];
  });
  if (measured.length === 0) return null;
  return {
    title: 'Goals of signal truth',
    rows: [
      ['figure', 'measured', 'goal', ''],
      ...measured.map(({ goal, what, figure, better, target, isReached }) => [
        `${goal} ${what}`,
        String(Number(figure.toPrecision(5))),
        `${better === 'higher' ? '>=' : '<='} ${target}`,
        isReached ? 'reached' : 'missed',
      ]),
    ],
    json: measured.map(({ goal, what, figure, better, target, isReached }) => ({ goal, what, figure, better, target, isReached })),
    notes: [
      'On the recordings given here; S6 (time domain, 1e-12) and S10 (live = recomputed) are tests: src/dsp/hrv.test.ts, src/dsp/feature-pool.test.ts, test/reprocess.int.test.ts.',
    ],
  };
}
