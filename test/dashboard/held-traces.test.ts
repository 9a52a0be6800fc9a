import { describe, expect, it } from 'vitest';
import type { LiveFrame } from '../../widgets/shared/live-frame.ts';
import { HeldTraces } from '../../dashboard/held-traces.ts';

const frame = (ms: number, rest: Partial<LiveFrame['channels'][number]> = {}): LiveFrame => {
  const samples = Float32Array.from({ length: 10 }, (_, i) => ms + i * 10);
  const channel = { id: 'ecg.ii', code: 'ecg.ii', kind: 'ecg', unit: 'mV', rateHz: 100, offsetNs: 0, samples, qmask: null, ...rest };
  return { t0Ns: BigInt(ms) * 1_000_000n, durationMs: 100, channels: [channel], features: [] } as unknown as LiveFrame;
};
const spans = (held: HeldTraces): unknown => held.lanes()[0]!.segments.map(({ t0Ms, samples }) => [t0Ms, samples.length]);

describe('traces that a page holds', () => {
  it('are one stretch while frames follow each other, and another after a gap', () => {
    const held = new HeldTraces();
    for (const ms of [1000, 1100, 1200, 1500]) held.take(frame(ms));
    expect(spans(held)).toEqual([
      [1000, 30],
      [1500, 10],
    ]);
    expect(held.endMs).toBe(1600);
  });

  it('take what is replayed from before once, and keep a minute', () => {
    const held = new HeldTraces();
    for (const ms of [5000, 4900, 4900, 5000, 5100]) held.take(frame(ms));
    expect(spans(held)).toEqual([[4900, 30]]);
    for (let ms = 5200; ms < 80_000; ms += 100) held.take(frame(ms));
    const [[fromMs]] = spans(held) as [[number]];
    expect(fromMs).toBeGreaterThanOrEqual(80_000 - 66_100);
    expect(fromMs).toBeLessThanOrEqual(20_000);
    expect(held.lanes()[0]!.segments[0]!.samples[0]).toBe(fromMs);
  });

  it('do not change after they were taken', () => {
    const held = new HeldTraces();
    held.take(frame(1000, { samples: Float32Array.from([1, NaN]) }));
    const [lane] = held.lanes();
    held.take(frame(1020));
    expect(lane!.segments[0]!.samples).toEqual([1, null]);
  });
});
