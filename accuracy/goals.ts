/** Goals of signal accuracy next to the measured figures: the last table of the report. */
import { ALL_FITTED } from './perturbed-motion-section.ts';
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

const ecgDatabases = ['mitdb', 'qtdb'] as const;
const noiseTargets = [
  [12, 99.85],
  [6, 99],
  [0, 93.5],
] as const;
/** Of each database: a goal counts on those that nothing was chosen on. */
const goals: readonly Goal[] = [
  detection('S1', 'R peaks, mitdb, first lead: F1 %', 99.92, 'mitdb', 'first lead', 'f1'),
  detection('S1', 'R peaks, mitdb, first lead: Se %', 99.9, 'mitdb', 'first lead', 'se'),
  detection('S1', 'R peaks, mitdb, first lead: +P %', 99.9, 'mitdb', 'first lead', 'ppv'),
  detection('S1', 'worst record, mitdb: F1 %', 99, 'mitdb', 'worstRecord', 'f1'),
  ...[125, 250, 500].map((fs) => detection('S1', `the same at ${fs} Hz: F1 %`, 99.87, 'mitdb', `first lead at ${fs} Hz`, 'f1')),
  detection('S1b', 'R peaks, qtdb, first lead: F1 %', 99.97, 'qtdb', 'first lead', 'f1'),
  detection('S2', 'R peaks, mitdb, leads fused: F1 %', 99.95, 'mitdb', 'leads fused', 'f1'),
  ...ecgDatabases.map((database) =>
    detection('S2', `leads fused over the better lead, ${database}: points of F1`, 0, database, 'fusedOverBetter'),
  ),
  ...ecgDatabases.flatMap((database) =>
    noiseTargets.map(([snr, target]): Goal => ({
      goal: 'S3',
      what: `R peaks, ${database}, electrode motion ${snr} dB: F1 %`,
      path: ['ecg-noise', database, `${snr} dB`, 'f1'],
      better: 'higher',
      target,
    })),
  ),
  ...(
    [
      ['bidmc', 99.3],
      ['spc', 90],
      ['capnobase', 99.9],
    ] as const
  ).map(([set, target]): Goal => ({ goal: 'S4', what: `pulse beats, ${set}: F1 %`, path: ['ppg', set, 'f1'], better: 'higher', target })),
  ...['at rest', 'anaesthesia'].map((where): Goal => ({
    goal: 'S5',
    what: `pulse rate, ${where === 'at rest' ? 'bidmc' : 'capnobase'}: within 5 bpm, %`,
    path: ['pulse-stream', `hr_ppg, ${where}`, 'within'],
    better: 'higher',
    target: 99,
    isShare: true,
  })),
  {
    goal: 'S5',
    what: 'heart rate in motion, spc: mean error, bpm',
    path: ['pulse-stream', 'hr_ppg_motion, running', 'meanError'],
    better: 'lower',
    target: 1.5,
  },
  {
    goal: 'S5',
    what: 'heart rate in motion, runs made of spc: mean error, bpm',
    path: ['perturbed-motion', ALL_FITTED, 'mean'],
    better: 'lower',
    target: 1.5,
  },
  { goal: 'S6', what: 'EC57 TP2, HF: worst error %', path: ['hrv', 'TP2', 'worstErrorPercent'], better: 'lower', target: 2 },
  { goal: 'S6', what: 'EC57 TP4, VLF: worst error %', path: ['hrv', 'TP4', 'worstErrorPercent'], better: 'lower', target: 2 },
  { goal: 'S7', what: 'RMSSD with 6 % mixed faults: median error %', path: ['hrv', 'mixed 6 %', 'rmssd'], better: 'lower', target: 4 },
  { goal: 'S7', what: 'RMSSD of clean beats: median error %', path: ['hrv', 'clean', 'rmssd'], better: 'lower', target: 0.5 },
  {
    goal: 'S8',
    what: 'PRV SDNN against ECG, bidmc, both flagged 0: mean error, ms',
    path: ['values', 'prv', 'prv_sdnn_300s against hrv_sdnn_300s', 'mean'],
    better: 'lower',
    target: 0.6,
  },
  {
    goal: 'S8',
    what: 'PRV SDNN and that of ECG, bidmc, both flagged 0: % of windows',
    path: ['values', 'prv', 'prv_sdnn_300s against hrv_sdnn_300s', 'share'],
    better: 'higher',
    target: 60,
    isShare: true,
  },
  ...ecgDatabases.map((database): Goal => ({
    goal: 'S9',
    what: `ECG quality, ${database} with noise: AUC`,
    path: ['ecg-quality', `${database}, noise`, 'auc'],
    better: 'higher',
    target: 0.98,
  })),
  ...['bidmc', 'spc', 'capnobase', 'total'].map((set): Goal => ({
    goal: 'S9',
    what: `PPG quality, ${set}: AUC`,
    path: ['ppg-quality', set, 'auc'],
    better: 'higher',
    target: 0.975,
  })),
  ...ecgDatabases.flatMap((database) =>
    (
      [
        ['rateGoodWithin', 'flagged 0, within 5 bpm', 99.8],
        ['rateOffFlagged', 'off by more, flagged 1 or 2', 95],
        ['rateGood', 'time flagged 0', 90],
      ] as const
    ).map(([key, what, target]): Goal => ({
      goal: 'S9b',
      what: `heart rate, ${database}: ${what}, %`,
      path: ['ecg-quality', `${database}, clean`, key],
      better: 'higher',
      target,
    })),
  ),
  ...(
    [
      ['goodWithin5', 'flagged 0, within 5 bpm', 99.8],
      ['offFlagged', 'off by more, flagged 1 or 2', 95],
      ['goodShare', 'time flagged 0', 90],
    ] as const
  ).map(([key, what, target]): Goal => ({
    goal: 'S9b',
    what: `pulse rate, all databases: ${what}, %`,
    path: ['ppg-quality', 'total', key],
    better: 'higher',
    target,
  })),
  ...(['offFlagged', 'within'] as const).map((key): Goal => ({
    goal: 'S9b',
    what: `heart rate in motion, spc: ${key === 'within' ? 'flagged 0, within 5 bpm' : 'off by more, flagged 1 or 2'}, %`,
    path: ['ppg-motion-trust', 'both', key],
    better: 'higher',
    target: key === 'within' ? 99.8 : 95,
    isShare: true,
  })),
  ...(
    [
      ['goodByOthersRight', 'flagged 0, within 5 bpm', 99.8],
      ['offFlaggedByOthers', 'off by more, flagged 1 or 2', 95],
      ['goodByOthers', 'time flagged 0', 90],
    ] as const
  ).map(([key, what, target]): Goal => ({
    goal: 'S9b',
    what: `heart rate in motion, runs made of spc, weights of others: ${what}, %`,
    path: ['perturbed-motion', ALL_FITTED, key],
    better: 'higher',
    target,
    isShare: true,
  })),
  ...ecgDatabases.flatMap((database) =>
    (
      [
        ['rmssdFlag0Within', 'flagged 0: within 10 % of the aligned annotations', 99],
        ['rmssdFlag0Share', 'flagged 0', 60],
      ] as const
    ).map(([key, what, target]): Goal => ({
      goal: 'S9c',
      what: `RMSSD of 60 s, ${database}, ${what}, %`,
      path: ['values', database, key],
      better: 'higher',
      target,
      isShare: true,
    })),
  ),
  ...ecgDatabases.flatMap((database) =>
    (
      [
        ['V', 'se', 'ventricular beats', 'Se', 93],
        ['V', 'ppv', 'ventricular beats', '+P', 95],
        ['S', 'se', 'supraventricular beats', 'Se', 75],
        ['S', 'ppv', 'supraventricular beats', '+P', 60],
      ] as const
    ).map(([kind, key, what, measure, target]): Goal => ({
      goal: 'S11',
      what: `${what}, ${database}: ${measure} %`,
      path: ['beat-origin', database, kind, key],
      better: 'higher',
      target,
    })),
  ),
  ...(
    [
      ['cinc2017', 0.95],
      ['mitdb', 0.98],
    ] as const
  ).map(([database, target]): Goal => ({
    goal: 'S12',
    what: `fibrillation against normal, ${database}: AUC`,
    path: ['rhythm', `${database} A against N`],
    better: 'higher',
    target,
  })),
  ...(
    [
      ['onset of P', 'pOnset', 14],
      ['onset of QRS', 'qrsOnset', 7.7],
      ['end of QRS', 'qrsEnd', 8.7],
      ['end of T', 'tEnd', 18],
    ] as const
  ).map(([name, key, target]): Goal => ({
    goal: 'S13',
    what: `${name}, qtdb: SD, ms`,
    path: ['delineation', key, 'sd'],
    better: 'lower',
    target,
  })),
  { goal: 'S13', what: 'end of T, qtdb: |mean|, ms', path: ['delineation', 'tEnd', 'absoluteMean'], better: 'lower', target: 5 },
  ...ecgDatabases.flatMap((database) =>
    (
      [
        ['pulses of 5 mV, 1.5 ms, 66 /min', 0.1],
        ['packets of 100 ms, 5 % lost', 0.8],
        ['packets of 100 ms, 5 % lost, bridged beats counted', 0.8],
        ['electrode off, 5 s a minute', 0.1],
        ['steps of 5 mV, every 10 s', 0.2],
      ] as const
    ).map(([name, target]): Goal => ({
      goal: 'S14',
      what: `R peaks, ${database}, ${name}: points of F1 lost`,
      path: ['ecg-robustness', database, name, 'lost'],
      better: 'lower',
      target,
    })),
  ),
  ...['bidmc', 'capnobase'].map((set): Goal => ({
    goal: 'S14',
    what: `pulse beats, ${set}, packets of 100 ms, 5 % lost: points of F1 lost`,
    path: ['ppg-robustness', set, 'packets of 100 ms, 5 % lost', 'lost'],
    better: 'lower',
    target: 0.8,
  })),
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
      'On the recordings given here, weights in use; mitdb, bidmc, spc and em_noise are those that parameters were chosen on. S6 (time domain, 1e-12) and S10 (live = recomputed) are tests: src/dsp/hrv/time-domain.test.ts, src/dsp/pool/pool.test.ts, test/dsp/reprocess.int.test.ts.',
    ],
  };
}
