/** The simulated person: activity, breathing, heart beats and skin responses, each an endless seeded schedule.
 *  Everything a device measures is derived from these, so they are also the truth to compare with. */
import { createRandom } from './random.ts';
import { Schedule } from './schedule.ts';
import type { Timed } from './schedule.ts';

export const rhythms = ['sinus', 'atrial_fibrillation', 'paroxysmal_fibrillation'] as const;
export type Rhythm = (typeof rhythms)[number];
export const activities = ['rest', 'mixed', 'walk', 'run'] as const;
export type Activity = (typeof activities)[number];

export type BodyOptions = Readonly<{
  seed: number;
  rhythm: Rhythm;
  /** Mean heart rate at rest, beats per minute, 30..180. */
  heartRateBpm: number;
  /** Ventricular premature beats per 100 beats. */
  pvcPercent: number;
  /** Mean breaths per minute. */
  breathsPerMin: number;
  activity: Activity;
  /** Losses of contact per hour, of an electrode or of the pulse sensor. */
  contactLossPerHour: number;
}>;

/** `N` normal, `V` ventricular premature. In atrial fibrillation all conducted beats are `N`, as MIT-BIH labels them. */
export type BeatKind = 'N' | 'V';
export type Beat = Timed & Readonly<{ kind: BeatKind; rrSec: number }>;
export type Breath = Timed & Readonly<{ durationSec: number; depth: number }>;
export type Bout = Timed & Readonly<{ stepHz: number; accG: number }>;
/** Rhythm from `atSec` on. */
export type RhythmSpan = Timed & Readonly<{ fibrillating: boolean }>;
export type ContactLoss = Timed & Readonly<{ durationSec: number; sensor: 'ecg' | 'ppg' }>;
export type SkinResponse = Timed & Readonly<{ amplitudeUs: number }>;

export type Body = Readonly<{
  beats: Schedule<Beat>;
  breaths: Schedule<Breath>;
  bouts: Schedule<Bout>;
  skinResponses: Schedule<SkinResponse>;
  rhythms: Schedule<RhythmSpan>;
  contactLosses: Schedule<ContactLoss>;
  /** Breathing as -1..1 at a time: sine of the phase within the current breath times its depth. */
  breathing: (timeSec: number) => number;
}>;

const STILL = { stepHz: 0, accG: 0 };
const WALK = { stepHz: 1.8, accG: 0.25 };
const RUN = { stepHz: 2.7, accG: 0.9 };

// Heart rate variability at rest, standard deviations in ms: about a healthy adult's (SDNN 45 ms, RMSSD 35 ms).
const HF_SD_MS = 25;
const LF_SD_MS = 28;
const VLF_SD_MS = 22;
const AF_RR_SPREAD = 0.2; // coefficient of variation of RR in atrial fibrillation, 0.15-0.3 in the literature

/** Beats as an integral of a rate that breathing (HF), slow waves about 0.1 Hz (LF), slower drift (VLF) and activity modulate.
 *  The spectrum's shape is McSharry et al. 2003 (doi:10.1109/TMI.2003.808805): two Gaussians about 0.1 and 0.25 Hz. The paper makes a
 *  finite series by an inverse FFT; ours is endless, so LF is a sum of eight sines drawn from its Gaussian and HF follows the breaths. */
export function createBody(options: BodyOptions): Body {
  const { seed } = options;
  const bouts = createBouts(seed, options.activity);
  const breaths = createBreaths(seed, options.breathsPerMin);
  const breathing = (timeSec: number): number => {
    const breath = breaths.at(timeSec);
    return breath.depth * Math.sin((2 * Math.PI * (timeSec - breath.atSec)) / breath.durationSec);
  };
  const rhythmSpans = createRhythms(seed, options.rhythm);
  return {
    beats: createBeats(options, bouts, rhythmSpans, breathing),
    breaths,
    bouts,
    skinResponses: createSkinResponses(seed),
    rhythms: rhythmSpans,
    contactLosses: createContactLosses(seed, options.contactLossPerHour),
    breathing,
  };
}

function createBeats(
  options: BodyOptions,
  bouts: Schedule<Bout>,
  rhythmSpans: Schedule<RhythmSpan>,
  breathing: (timeSec: number) => number,
): Schedule<Beat> {
  const random = createRandom(options.seed, 'beats');
  const lf = createWaves(options.seed, 'lf', 8, 0.1, 0.015);
  const vlf = createWaves(options.seed, 'vlf', 5, 0.02, 0.008);
  const restRr = 60 / options.heartRateBpm;
  let effort = 0; // 0 at rest, 1 running; follows the bout with a time constant of 25 s
  let compensateSec = 0;
  const following = (previous: Beat): Beat => {
    const t = previous.atSec;
    const target = Math.min(1, bouts.at(t).accG);
    effort += (target - effort) * (1 - Math.exp(-previous.rrSec / 25));
    // Faster hearts vary less: the scale falls with the cube of the rate ratio, as RMSSD does from rest to exercise.
    const meanRr = 60 / (options.heartRateBpm + effort * Math.max(0, 165 - options.heartRateBpm));
    const scale = Math.min(1, meanRr) ** 3 * (1 - 0.7 * effort);
    const draw = random.next(); // drawn every beat, used or not: options do not shift the rest
    const spread = random.normal();
    let rr: number;
    if (rhythmSpans.at(t).fibrillating) {
      rr = meanRr * (1 + AF_RR_SPREAD * Math.max(-2, Math.min(2.5, spread)));
    } else {
      const modulation = HF_SD_MS * Math.SQRT2 * breathing(t) + LF_SD_MS * lf(t) + VLF_SD_MS * vlf(t);
      rr = meanRr + (scale * modulation) / 1000 + 0.002 * spread;
    }
    rr = Math.max(0.28, rr);
    if (compensateSec > 0) {
      rr += compensateSec; // compensatory pause after a ventricular beat: the sinus node keeps its rhythm
      compensateSec = 0;
      return { atSec: t + rr, kind: 'N', rrSec: rr };
    }
    if (draw * 100 < options.pvcPercent) {
      compensateSec = 0.38 * rr;
      return { atSec: t + 0.62 * rr, kind: 'V', rrSec: 0.62 * rr };
    }
    return { atSec: t + rr, kind: 'N', rrSec: rr };
  };
  return new Schedule(6, (previous) =>
    previous === null ? { atSec: restRr * random.next(), kind: 'N', rrSec: restRr } : following(previous),
  );
}

/** A sum of sines with unit standard deviation whose frequencies are drawn from a normal distribution. */
function createWaves(seed: number, label: string, count: number, centreHz: number, sdHz: number): (timeSec: number) => number {
  const random = createRandom(seed, label);
  const waves = Array.from({ length: count }, () => ({
    omega: 2 * Math.PI * Math.max(0.003, centreHz + sdHz * random.normal()),
    phase: random.between(0, 2 * Math.PI),
  }));
  const amplitude = Math.sqrt(2 / count);
  return (timeSec) => {
    let sum = 0;
    for (const wave of waves) sum += Math.sin(wave.omega * timeSec + wave.phase);
    return amplitude * sum;
  };
}

function createBreaths(seed: number, breathsPerMin: number): Schedule<Breath> {
  const random = createRandom(seed, 'breaths');
  const meanSec = 60 / breathsPerMin;
  return new Schedule(6, (previous) => ({
    atSec: previous === null ? 0 : previous.atSec + previous.durationSec,
    durationSec: meanSec * (1 + 0.06 * random.normal()),
    depth: Math.max(0.5, 1 + 0.1 * random.normal()),
  }));
}

function createBouts(seed: number, activity: Activity): Schedule<Bout> {
  const random = createRandom(seed, 'bouts');
  const always = { rest: STILL, walk: WALK, run: RUN, mixed: null }[activity];
  return new Schedule(6, (previous) => {
    const lengthSec = random.between(40, 160);
    const draw = random.next();
    const vary = random.between(0.92, 1.08);
    const atSec = previous === null ? 0 : previous.atSec + lengthSec;
    // Mixed days begin at rest, so that a fresh demo shows a clean trace first.
    const kind = always ?? (previous === null || draw < 0.6 ? STILL : draw < 0.92 ? WALK : RUN);
    return { atSec, stepHz: kind.stepHz * vary, accG: kind.accG * vary };
  });
}

/** Paroxysmal: minutes of sinus rhythm, then a minute or three of fibrillation, again and again. */
function createRhythms(seed: number, rhythm: Rhythm): Schedule<RhythmSpan> {
  const random = createRandom(seed, 'rhythm');
  return new Schedule(6, (previous) => {
    if (previous === null) return { atSec: 0, fibrillating: rhythm === 'atrial_fibrillation' };
    const lengthSec = previous.fibrillating ? random.between(60, 180) : random.between(120, 300);
    const changes = rhythm === 'paroxysmal_fibrillation';
    return { atSec: previous.atSec + lengthSec, fibrillating: changes ? !previous.fibrillating : previous.fibrillating };
  });
}

export const CONTACT_LOSS_SEC_MAX = 30;

function createContactLosses(seed: number, perHour: number): Schedule<ContactLoss> {
  const random = createRandom(seed, 'contact');
  return new Schedule(CONTACT_LOSS_SEC_MAX + 6, (previous) => {
    const pauseSec = perHour === 0 ? Infinity : random.exponential(3600 / perHour);
    return {
      atSec: (previous === null ? 0 : previous.atSec + previous.durationSec) + pauseSec,
      durationSec: random.between(3, CONTACT_LOSS_SEC_MAX),
      sensor: random.next() < 0.5 ? 'ecg' : 'ppg',
    };
  });
}

function createSkinResponses(seed: number): Schedule<SkinResponse> {
  const random = createRandom(seed, 'skin');
  return new Schedule(40, (previous) => ({
    atSec: (previous === null ? 0 : previous.atSec) + 3 + random.exponential(17), // about three a minute
    amplitudeUs: random.between(0.05, 0.6),
  }));
}
