/** Frames of the service as the widgets show them. */
import { expect, it } from 'vitest';
import type { LiveFrame } from '../../sdk/frame.ts';
import { shownFrame } from './live-frame.ts';

it('has rates in Hz, times in ms, and an id of its own for each of two devices with one channel code', () => {
  const channel = { code: 'ecg.ii', source: 0, rateNanoHz: 250e9, tOffsetNs: -4_000_000 };
  const frame = { seq: 7, channels: [channel, { ...channel, source: 3 }], features: [{ name: 'hr_ecg', tsNs: 1_500_000n, value: 60 }] };
  expect(shownFrame(frame as unknown as LiveFrame)).toMatchObject({
    seq: 7,
    channels: [
      { id: 'ecg.ii', code: 'ecg.ii', rateHz: 250, offsetNs: -4_000_000 },
      { id: 'ecg.ii@3', code: 'ecg.ii', rateHz: 250, offsetNs: -4_000_000 },
    ],
    features: [{ name: 'hr_ecg', timeMs: 1.5, value: 60 }],
  });
});
