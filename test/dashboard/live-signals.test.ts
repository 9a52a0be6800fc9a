/** Rates of the live page and the wall: none of signals of which none can be trusted. */
import { expect, it } from 'vitest';
import { isMadeOf, LiveSignals } from '../../dashboard/live-signals.ts';
import { everyLiveValue } from '../helpers/live-values.ts';
import type { LiveFrame } from '../../widgets/shared/live-frame.ts';

const RATE_HZ = 250;
const FRAME_MS = 100;

type Line = 'beating' | 'flat';

const values = everyLiveValue();
const flagOf = (signals: LiveSignals, feature: string, flag: number): number =>
  signals.flagOf(
    values.find((value) => value.feature === feature)!,
    flag,
  );

/** Frames of so many seconds. */
function take(signals: LiveSignals, fromSec: number, toSec: number, lines: Readonly<Record<string, Line>>): void {
  for (let ms = fromSec * 1000; ms < toSec * 1000; ms += FRAME_MS) {
    const channels = Object.entries(lines).map(([id, line]) => ({
      id,
      code: id,
      kind: id.split('.')[0],
      rateHz: RATE_HZ,
      offsetNs: 0,
      qmask: null,
      samples: Float32Array.from({ length: (RATE_HZ * FRAME_MS) / 1000 }, (_, i) => (line === 'flat' ? 4 : Math.sin(ms + i))),
    }));
    signals.take({ t0Ns: BigInt(ms) * 1_000_000n, durationMs: FRAME_MS, channels } as unknown as LiveFrame);
  }
}

it('a rate is unusable while all that it is made of is flat, and not while one lead is left', () => {
  const signals = new LiveSignals();
  take(signals, 0, 10, { 'ecg.ii': 'beating', 'ecg.v1': 'beating', 'ppg.ir': 'beating' });
  expect([flagOf(signals, 'hr_ecg', 0), flagOf(signals, 'hr_ppg', 1)]).toEqual([0, 1]);
  take(signals, 10, 13, { 'ecg.ii': 'flat', 'ecg.v1': 'beating', 'ppg.ir': 'flat' });
  expect([flagOf(signals, 'hr_ecg', 0), flagOf(signals, 'hr_ppg', 0), flagOf(signals, 'spo2', 0)]).toEqual([0, 2, 2]);
  take(signals, 13, 16, { 'ecg.ii': 'flat', 'ecg.v1': 'flat', 'ppg.ir': 'beating' });
  expect([flagOf(signals, 'hr_ecg', 0), flagOf(signals, 'hr_ppg', 0)]).toEqual([2, 0]);
});

it('a value of a minute keeps its own flag, and so does one whose signal is not among the frames', () => {
  const signals = new LiveSignals();
  take(signals, 0, 5, { 'ecg.ii': 'flat' });
  expect([flagOf(signals, 'hrv_rmssd_60s', 0), flagOf(signals, 'hr_ppg', 1)]).toEqual([0, 1]);
});

it('a lead that has ended does not keep a rate', () => {
  const signals = new LiveSignals();
  take(signals, 0, 5, { 'ecg.ii': 'beating', 'ecg.v1': 'beating' });
  take(signals, 5, 10, { 'ecg.ii': 'flat' });
  expect(flagOf(signals, 'hr_ecg', 0)).toBe(2);
});

it('saturation needs both of its lights, whatever another light shows', () => {
  const signals = new LiveSignals();
  take(signals, 0, 10, { 'ppg.red': 'flat', 'ppg.ir': 'beating', 'ppg.green': 'beating' });
  expect([flagOf(signals, 'spo2', 0), flagOf(signals, 'hr_ppg', 0)]).toEqual([2, 0]);
});

// promise: no-rate-of-a-flat-line
it('what is of ten seconds or less of ECG or PPG is not shown then, unless it says how the signal is', () => {
  const signals = new LiveSignals();
  take(signals, 0, 5, { 'ecg.ii': 'flat', 'ppg.red': 'flat', 'ppg.ir': 'flat' });
  const hidden = values.filter((value) => signals.flagOf(value, 0) === 2).map(({ feature }) => feature);
  expect(hidden.toSorted()).toEqual([
    'hr_ecg',
    'hr_ppg',
    'hr_ppg_motion',
    'longest_rr_10s',
    'perfusion_index',
    'spo2',
    'ventricular_run_10s',
  ]);
});

it('a value is made of the signal of its method, and saturation of two lights', () => {
  const channels = [
    { kind: 'ecg', code: 'ecg.ii' },
    { kind: 'ppg', code: 'ppg.green' },
    { kind: 'ppg', code: 'ppg.ir' },
  ];
  const made = (...sent: typeof channels): string[] => values.filter((value) => isMadeOf(value, sent)).map(({ feature }) => feature);
  expect(made(...channels)).toEqual(expect.arrayContaining(['hr_ecg', 'hr_ppg', 'qtc_hodges_60s', 'af_burden_300s', 'pulse_width_60s']));
  expect(made(...channels)).not.toContain('spo2');
  expect(made(channels[0]!).filter((feature) => /ppg|prv|pulse|eda|temp|steps/.test(feature))).toEqual([]);
  expect(made({ kind: 'ppg', code: 'ppg.red' }, channels[2]!)).toContain('spo2');
});
