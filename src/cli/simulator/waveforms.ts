/** Signals that each sensor reads from the simulated body, in physical units, without noise. Each function adds to `out` the samples k0 ..
 *  k0 + n - 1 of a grid of fs Hz; events are added in ascending order, so a sample's sum does not depend on how the range is cut. */
import { CONTACT_LOSS_SEC_MAX } from './body.ts';
import type { Beat, BeatKind, Body, Bout } from './body.ts';

type Wave = Readonly<{
  /** Centre relative to the R peak, s at RR = 1 s. */
  centreSec: number;
  /** Standard deviation, s. */
  widthSec: number;
  /** mV in lead II. */
  amplitude: number;
  /** Exponent of RR by which centre and width stretch: Bazett's 0.5 for T, 0 for the QRS. */
  stretch: number;
}>;

/** Lead II of a normal beat as a sum of Gaussians: the closed form (Sameni, Clifford et al. 2007, doi:10.1155/2007/43407) of the dynamical
 *  model of McSharry et al. 2003. The paper's angles become seconds, because only T and P move with the rate and the QRS does not. */
const normalBeat: readonly Wave[] = [
  { centreSec: -0.17, widthSec: 0.024, amplitude: 0.13, stretch: 0.35 }, // P
  { centreSec: -0.026, widthSec: 0.008, amplitude: -0.12, stretch: 0 }, // Q
  { centreSec: 0, widthSec: 0.0105, amplitude: 1.15, stretch: 0 }, // R
  { centreSec: 0.028, widthSec: 0.009, amplitude: -0.24, stretch: 0 }, // S
  { centreSec: 0.25, widthSec: 0.045, amplitude: 0.14, stretch: 0.5 }, // T, rising part
  { centreSec: 0.3, widthSec: 0.03, amplitude: 0.22, stretch: 0.5 }, // T, steeper falling part
];

/** A ventricular premature beat: no P, a wide tall QRS, T of the other sign. */
const ventricularBeat: readonly Wave[] = [
  { centreSec: 0, widthSec: 0.032, amplitude: 1.45, stretch: 0 },
  { centreSec: 0.075, widthSec: 0.03, amplitude: -0.55, stretch: 0 },
  { centreSec: 0.28, widthSec: 0.06, amplitude: -0.38, stretch: 0.4 },
];

const REACH = 4.5; // standard deviations; a Gaussian is 4e-5 there, below half an LSB of 1 µV at 1 mV

/** Beats whose waves can touch a range of seconds. */
const BEAT_BEFORE_SEC = 1.2;
const BEAT_AFTER_SEC = 0.6;

/** Lead II in mV. */
export function addEcg(body: Body, fs: number, k0: number, out: Float64Array): void {
  const n = out.length;
  const beats = body.beats.between(k0 / fs - BEAT_BEFORE_SEC, (k0 + n) / fs + BEAT_AFTER_SEC);
  for (const beat of beats) {
    const rr = Math.min(1.3, Math.max(0.35, beat.rrSec));
    const waves = beat.kind === 'V' ? ventricularBeat : normalBeat;
    const fibrillating = body.rhythms.at(beat.atSec).fibrillating;
    for (let w = 0; w < waves.length; w++) {
      const wave = waves[w]!;
      if (fibrillating && wave.centreSec < -0.1) continue; // no P in fibrillation
      const factor = rr ** wave.stretch;
      addGaussian(out, fs, k0, beat.atSec + wave.centreSec * factor, wave.widthSec * factor, wave.amplitude);
    }
  }
  if (!body.rhythms.between(0, (k0 + n) / fs).some(({ fibrillating }) => fibrillating)) return;
  for (let i = 0; i < n; i++) {
    const t = (k0 + i) / fs; // f waves, 5-7 Hz, their rate wandering
    if (!body.rhythms.at(t).fibrillating) continue;
    out[i]! += 0.06 * Math.sin(2 * Math.PI * 6 * t + 2.5 * Math.sin(2 * Math.PI * 0.3 * t));
  }
}

/** Seconds from the R peak to the systolic peak at the finger: pre-ejection period and pulse transit about 0.2 s, then the upstroke. */
export const FOOT_DELAY_SEC = 0.2;
const UPSTROKE_SEC = 0.12;

/** Time of the systolic peak of a beat. */
export function systolicPeakSec(beat: Beat): number {
  return beat.atSec + FOOT_DELAY_SEC + UPSTROKE_SEC * Math.sqrt(Math.min(1.2, beat.rrSec));
}

/** Finger PPG, pulse amplitude about 1 (the caller scales): a systolic Gaussian with a slower fall and a dicrotic wave per beat,
 *  amplitude modulated by breathing, smaller after a short filling time. */
export function addPpg(body: Body, fs: number, k0: number, out: Float64Array): void {
  const n = out.length;
  for (const beat of body.beats.between(k0 / fs - 2, (k0 + n) / fs + BEAT_AFTER_SEC)) {
    const stretch = Math.sqrt(Math.min(1.2, beat.rrSec));
    const peak = systolicPeakSec(beat);
    const amplitude = pulseAmplitude(beat.kind, beat.rrSec) * (1 + 0.08 * body.breathing(beat.atSec));
    addGaussian(out, fs, k0, peak, 0.055 * stretch, 0.62 * amplitude);
    addGaussian(out, fs, k0, peak + 0.07 * stretch, 0.11 * stretch, 0.45 * amplitude);
    addGaussian(out, fs, k0, peak + 0.27 * stretch, 0.075 * stretch, 0.22 * amplitude);
  }
  for (let i = 0; i < n; i++) out[i]! += 0.12 * body.breathing((k0 + i) / fs);
}

function pulseAmplitude(kind: BeatKind, rrSec: number): number {
  const filling = Math.min(1, Math.max(0.25, 0.4 + rrSec));
  return kind === 'V' ? 0.6 * filling : filling;
}

/** Skin conductance in µS: a slow level plus one bi-exponential (Bateman) wave per response, rise 0.75 s, decay 2 s
 *  (Benedek & Kaernbach 2010, doi:10.1016/j.jneumeth.2010.04.028), amplitude given at its peak. */
export function addEda(body: Body, fs: number, k0: number, out: Float64Array): void {
  const n = out.length;
  for (let i = 0; i < n; i++) {
    const t = (k0 + i) / fs;
    out[i]! += 3.2 + 0.5 * Math.sin((2 * Math.PI * t) / 1900) + 0.15 * Math.sin((2 * Math.PI * t) / 310 + 1);
  }
  for (const response of body.skinResponses.between(k0 / fs - 30, (k0 + n) / fs)) {
    const scale = response.amplitudeUs / BATEMAN_PEAK;
    for (let i = 0; i < n; i++) {
      const dt = (k0 + i) / fs - response.atSec;
      if (dt > 0) out[i]! += scale * (Math.exp(-dt / 2) - Math.exp(-dt / 0.75));
    }
  }
}
const BATEMAN_PEAK_SEC = Math.log(2 / 0.75) / (1 / 0.75 - 1 / 2);
const BATEMAN_PEAK = Math.exp(-BATEMAN_PEAK_SEC / 2) - Math.exp(-BATEMAN_PEAK_SEC / 0.75);

/** Skin temperature in degrees Celsius: slow waves about 33.4. */
export function addTemperature(fs: number, k0: number, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) {
    const t = (k0 + i) / fs;
    out[i]! += 33.4 + 0.35 * Math.sin((2 * Math.PI * t) / 2600) + 0.05 * Math.sin((2 * Math.PI * t) / 190 + 2);
  }
}

/** Acceleration in g along one wrist axis: gravity along a slowly turning direction, and while walking the step rate with its half
 *  (arm swing) and double. */
export function addAcceleration(body: Body, axis: 0 | 1 | 2, fs: number, k0: number, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) {
    const t = (k0 + i) / fs;
    const tilt = 0.5 * Math.sin((2 * Math.PI * t) / 240);
    const roll = 0.3 * Math.sin((2 * Math.PI * t) / 170 + 1);
    const gravity = axis === 0 ? Math.sin(tilt) : axis === 1 ? Math.cos(tilt) * Math.sin(roll) : Math.cos(tilt) * Math.cos(roll);
    out[i]! += gravity + axisShare[axis] * swing(body.bouts.at(t), t, axis);
  }
}
const axisShare = [0.5, 0.35, 0.8] as const;

function swing(bout: Bout, t: number, axis: number): number {
  if (bout.accG === 0) return 0;
  const phase = 2 * Math.PI * bout.stepHz * (t - bout.atSec);
  return bout.accG * (Math.sin(phase + axis) + 0.35 * Math.sin(2 * phase + 0.5 * axis) + 0.3 * Math.sin(0.5 * phase));
}

/** Adds the effect of movement on a PPG (in pulse amplitudes): a periodic artefact at the step rate, which makes running hard for wrist
 *  PPG. */
export function addPpgMotion(body: Body, fs: number, k0: number, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) {
    const t = (k0 + i) / fs;
    out[i]! += 1.1 * swing(body.bouts.at(t), t, 0.7);
  }
}

/** Replaces the signal while there is no contact: an open electrode drifts to its rail, a finger clip sees the room light.
 *  @param restValue physical */
export function cutContact(body: Body, sensor: 'ecg' | 'ppg', restValue: number, fs: number, k0: number, out: Float64Array): void {
  const t1 = (k0 + out.length) / fs;
  for (const { atSec, durationSec, sensor: of } of body.contactLosses.between(k0 / fs - CONTACT_LOSS_SEC_MAX, t1)) {
    if (of !== sensor) continue;
    const to = Math.min(out.length, Math.ceil((atSec + durationSec) * fs) - k0);
    for (let i = Math.max(0, Math.ceil(atSec * fs) - k0); i < to; i++) {
      const sinceSec = (k0 + i) / fs - atSec;
      const left = Math.exp(-sinceSec / 0.15); // the input drifts away within a second
      const hum = sensor === 'ecg' ? 0 : 0.05 * Math.sin(2 * Math.PI * 0.7 * sinceSec); // people walk past the lamp
      out[i] = out[i]! * left + (restValue + hum) * (1 - left);
    }
  }
}

function addGaussian(out: Float64Array, fs: number, k0: number, centreSec: number, widthSec: number, amplitude: number): void {
  const from = Math.max(0, Math.ceil((centreSec - REACH * widthSec) * fs) - k0);
  const to = Math.min(out.length, Math.floor((centreSec + REACH * widthSec) * fs) - k0 + 1);
  const scale = -0.5 / (widthSec * widthSec);
  for (let i = from; i < to; i++) {
    const dt = (k0 + i) / fs - centreSec;
    out[i]! += amplitude * Math.exp(scale * dt * dt);
  }
}
