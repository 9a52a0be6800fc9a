/** Methods that count ectopic beats, and those in a row. */
import type { Method } from './methods.ts';

const ec57 = 'ANSI/AAMI EC57:2012';
const counted =
  'Ventricular and supraventricular beats as r_peaks calls them; beats of bad seconds are not counted. Good where good beats cover 80 % of the window, and by the confidences of their kinds no more than 2 % of them are of another kind.';
const inFibrillation = 'Suspect where the other intervals are as irregular as in fibrillation, where aberrant beats look ventricular.';
const noOverlap = 'One value in 5 min, of windows that do not overlap.';

const five = (name: string, title: string, unit: string, step: number, notes: string): Method => ({
  feature: `${name}_300s`,
  code: `derived:${name}_300s_v10`,
  version: 10,
  source: 'ecg',
  title,
  unit,
  step,
  windowSec: 300,
  cadenceSec: 300,
  coverageMin: 0.5,
  scope: 'stream',
  paper: ec57,
  notes: `${notes} ${counted} ${noOverlap}`,
});

/** Those of five minutes, then the run. */
export const burdenMethods: readonly Method[] = [
  five(
    'ventricular_burden',
    'Ventricular ectopic burden',
    '%',
    0.01,
    `Ventricular beats in a hundred beats. ${inFibrillation} The mean of an hour weighs its windows alike, however many beats they have.`,
  ),
  five(
    'supraventricular_burden',
    'Supraventricular ectopic burden',
    '%',
    0.01,
    'Supraventricular beats in a hundred beats; bad in fibrillation, where no beat is called so. The mean of an hour weighs its windows alike.',
  ),
  five(
    'ventricular_couplets',
    'Ventricular couplets of 5 min',
    '{couplets}',
    1,
    `Two ventricular beats between two others, counted at the beat after them. The sum of an hour is its count. ${inFibrillation}`,
  ),
  five(
    'ventricular_runs',
    'Ventricular runs of 5 min',
    '{runs}',
    1,
    `Three or more ventricular beats in a row, at any rate, counted once, at the third. The sum of an hour is its count. ${inFibrillation}`,
  ),
  {
    feature: 'ventricular_run_10s',
    code: 'derived:ventricular_run_10s_v10',
    version: 10,
    source: 'ecg',
    title: 'Longest ventricular run of 10 s',
    unit: '{beats}',
    step: 1,
    windowSec: 10,
    cadenceSec: 10,
    coverageMin: 0,
    scope: 'stream',
    paper: ec57,
    notes:
      'The most ventricular beats in a row of which one lies in the window, counted up to it; those before the window count back to 300 s. 0: none. The greatest value of an hour is its longest run. It has the worst flag of the beats of the run; without one, of the window; suspect where a beat of the run is ventricular with a confidence below 0.75, or its beats are so with one below 0.9 in the mean, where a third of the beats of the window are of no known kind, and where the intervals of the 30 s before are as irregular as in fibrillation. Delay about 8 s.',
  },
];
