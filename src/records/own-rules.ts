/** The service's own rules of episodes, for every project. */
import type { EpisodeRule } from './episode-rule.ts';

/** Not a diagnosis: bounds for an adult at rest, to draw a person's attention. */
export const ownRules: readonly EpisodeRule[] = [
  {
    name: 'tachycardia',
    title: 'Sustained fast heart rate',
    feature: 'hr_ecg',
    above: 120,
    sustainSec: 60,
    releaseSec: 30,
    severity: 'medium',
  },
  {
    name: 'bradycardia',
    title: 'Sustained slow heart rate',
    feature: 'hr_ecg',
    below: 40,
    sustainSec: 60,
    releaseSec: 30,
    severity: 'medium',
  },
  {
    name: 'irregular_rhythm',
    title: 'Irregular rhythm without P waves',
    feature: 'af_index',
    above: 0.8,
    sustainSec: 120,
    releaseSec: 60,
    beforeSec: 30,
    severity: 'medium',
  },
  {
    name: 'pause',
    title: 'Pause between two beats',
    feature: 'longest_rr_10s',
    above: 2500,
    // the longer the pause, the less its seconds can be judged by
    qualityMax: 1,
    trusted: 'hr_ecg',
    sustainSec: 0,
    releaseSec: 10,
    beforeSec: 10,
    severity: 'medium',
  },
  {
    name: 'ventricular_run',
    title: 'Three or more ventricular beats in a row',
    feature: 'ventricular_run_10s',
    above: 2,
    sustainSec: 0,
    releaseSec: 10,
    beforeSec: 10,
    severity: 'medium',
  },
];
