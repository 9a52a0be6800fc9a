/** Heart rate and HRV of the beats that the engine finds against the same figures of the reference beats, both worked out here: what
 *  detection alone does to them. What the service gives out is in the section `values`. */
import { detectRecording } from './ecg-detection-section.ts';
import { addNoise, loadElectrodeMotion, loadMitdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { Section } from './section.ts';

const HR_WINDOW_SEC = 10;
const HRV_WINDOW_SEC = 300;

/** Heart rate of the beats in [from, to), bpm: 60 / mean RR (the median would jump between the two intervals of bigeminy); null with fewer
 *  than 3 beats. */
function heartRate(beats: Float64Array, fs: number, from: number, to: number): number | null {
  const rr = intervals(beats, from, to);
  return rr.length < 2 ? null : (60 * fs * rr.length) / rr.reduce((a, b) => a + b, 0);
}

/** RMSSD and SDNN of all intervals in [from, to), ms: nothing is corrected here, so that detection alone is judged. */
function variability(beats: Float64Array, fs: number, from: number, to: number): { rmssdMs: number; sdnnMs: number } | null {
  const rr = intervals(beats, from, to);
  if (rr.length < 20) return null;
  const ms = rr.map((v) => (1000 * v) / fs);
  const mean = ms.reduce((a, b) => a + b, 0) / ms.length;
  let squares = 0;
  let steps = 0;
  for (let i = 0; i < ms.length; i++) {
    squares += (ms[i]! - mean) ** 2;
    if (i > 0) steps += (ms[i]! - ms[i - 1]!) ** 2;
  }
  return { rmssdMs: Math.sqrt(steps / (ms.length - 1)), sdnnMs: Math.sqrt(squares / (ms.length - 1)) };
}

function intervals(beats: Float64Array, from: number, to: number): Float64Array {
  const inside = beats.filter((b) => b >= from && b < to);
  return Float64Array.from({ length: Math.max(0, inside.length - 1) }, (_, i) => inside[i + 1]! - inside[i]!);
}

export async function run(dataDir: string): Promise<Section | null> {
  const recordings = await loadMitdb(dataDir);
  if (recordings.length === 0) return null;
  const noise = loadElectrodeMotion(dataDir);
  const rows: string[][] = [
    [
      'condition',
      'HR windows',
      'mean |err| bpm',
      'within 5 bpm %',
      'RMSSD median err %',
      'within 10 %',
      'SDNN median err %',
      'within 10 %',
    ],
  ];
  const json: Record<string, unknown> = {};
  const conditions: [string, (r: EcgRecording) => Float64Array][] = [['clean', (r) => r.leads[0]!]];
  if (noise !== null) for (const snr of [12, 6]) conditions.push([`${snr} dB`, (r) => addNoise(r, 0, noise, snr)]);
  for (const [name, make] of conditions) {
    const hr: number[] = [];
    const rmssd: number[] = [];
    const sdnn: number[] = [];
    for (const recording of recordings) {
      const detected = detectRecording(recording, [make(recording)]);
      const { fs, beats } = recording;
      const end = recording.leads[0]!.length;
      for (let from = 0; from + HR_WINDOW_SEC * fs <= end; from += HR_WINDOW_SEC * fs) {
        const ours = heartRate(detected, fs, from, from + HR_WINDOW_SEC * fs);
        const truth = heartRate(beats, fs, from, from + HR_WINDOW_SEC * fs);
        if (truth !== null) hr.push(ours === null ? 999 : Math.abs(ours - truth));
      }
      for (let from = 0; from + HRV_WINDOW_SEC * fs <= end; from += HRV_WINDOW_SEC * fs) {
        const ours = variability(detected, fs, from, from + HRV_WINDOW_SEC * fs);
        const truth = variability(beats, fs, from, from + HRV_WINDOW_SEC * fs);
        if (truth === null || ours === null) continue;
        rmssd.push((100 * Math.abs(ours.rmssdMs - truth.rmssdMs)) / truth.rmssdMs);
        sdnn.push((100 * Math.abs(ours.sdnnMs - truth.sdnnMs)) / truth.sdnnMs);
      }
    }
    const share = (values: number[], max: number): number => (100 * values.filter((v) => v <= max).length) / values.length;
    const told = hr.filter((v) => v < 999);
    const figures = {
      hrWindows: hr.length,
      hrMeanAbsErrorBpm: told.reduce((a, b) => a + b, 0) / told.length,
      hrWithin5Percent: share(hr, 5),
      rmssdMedianErrorPercent: middle(rmssd),
      rmssdWithin10Percent: share(rmssd, 10),
      sdnnMedianErrorPercent: middle(sdnn),
      sdnnWithin10Percent: share(sdnn, 10),
    };
    json[name] = figures;
    rows.push([
      name,
      String(figures.hrWindows),
      ...Object.values(figures)
        .slice(1)
        .map((v) => v.toFixed(2)),
    ]);
  }
  return {
    title: "ECG: what detection does to heart rate and HRV (beats through the engine, figures worked out here, not the service's)",
    rows,
    json: { gross: json },
    notes: [
      'mitdb, on which the detector was tuned. HR: 60 / mean RR of 10 s. RMSSD and SDNN of 5 minutes over all intervals, uncorrected: ectopic beats are in both.',
      'The reference annotations jitter by several milliseconds, which raises their RMSSD; small differences are theirs as much as ours.',
    ],
  };
}

function middle(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
