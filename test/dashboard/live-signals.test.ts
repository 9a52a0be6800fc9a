/** Rates of the live page and the wall: none of signals of which none can be trusted. */
import { expect, it } from 'vitest';
import { LiveSignals } from '../../dashboard/live-signals.ts';
import type { LiveFrame } from '../../widgets/shared/live-frame.ts';

const RATE_HZ = 250;
const FRAME_MS = 100;

type Line = 'beating' | 'flat';

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
  expect([signals.flagOf('hr_ecg', 0), signals.flagOf('hr_ppg', 1)]).toEqual([0, 1]);
  take(signals, 10, 13, { 'ecg.ii': 'flat', 'ecg.v1': 'beating', 'ppg.ir': 'flat' });
  expect([signals.flagOf('hr_ecg', 0), signals.flagOf('hr_ppg', 0), signals.flagOf('spo2', 0)]).toEqual([0, 2, 2]);
  take(signals, 13, 16, { 'ecg.ii': 'flat', 'ecg.v1': 'flat', 'ppg.ir': 'beating' });
  expect([signals.flagOf('hr_ecg', 0), signals.flagOf('hr_ppg', 0)]).toEqual([2, 0]);
});

it('a value of a minute keeps its own flag, and so does one whose signal is not among the frames', () => {
  const signals = new LiveSignals();
  take(signals, 0, 5, { 'ecg.ii': 'flat' });
  expect([signals.flagOf('hrv_rmssd_60s', 0), signals.flagOf('hr_ppg', 1)]).toEqual([0, 1]);
});

it('a lead that has ended does not keep a rate', () => {
  const signals = new LiveSignals();
  take(signals, 0, 5, { 'ecg.ii': 'beating', 'ecg.v1': 'beating' });
  take(signals, 5, 10, { 'ecg.ii': 'flat' });
  expect(signals.flagOf('hr_ecg', 0)).toBe(2);
});

it('saturation needs both of its lights, whatever another light shows', () => {
  const signals = new LiveSignals();
  take(signals, 0, 10, { 'ppg.red': 'flat', 'ppg.ir': 'beating', 'ppg.green': 'beating' });
  expect([signals.flagOf('spo2', 0), signals.flagOf('hr_ppg', 0)]).toEqual([2, 0]);
});
