import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameRing } from './frame-ring.ts';

describe('FrameRing', () => {
  // promise: ring
  it('holds the newest frames that fit, byte for byte, within its bounds', () => {
    const step = fc.record({ length: fc.integer({ min: 1, max: 900 }), gapMs: fc.nat(50), skip: fc.integer({ min: 1, max: 3 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), fc.integer({ min: 4096, max: 20_000 }), (steps, bytesMax) => {
        const ring = new FrameRing();
        const all: { seq: number; bytes: Uint8Array }[] = [];
        let seq = 0;
        let nowMs = 0;
        for (const { length, gapMs, skip } of steps) {
          seq += skip;
          nowMs += gapMs;
          const bytes = new Uint8Array(length).fill(seq % 251);
          all.push({ seq, bytes });
          ring.push(seq, bytes, nowMs, bytesMax, 1000);
          expect(ring.bytesHeld).toBeLessThanOrEqual(bytesMax);
        }
        let at = -1;
        for (const expected of all.slice(all.length - ring.count)) {
          const found = ring.after(at)!;
          expect(found.seq).toBe(expected.seq);
          expect(found.bytes).toEqual(expected.bytes);
          at = found.seq;
        }
        expect(ring.after(at)).toBeNull();
        expect(ring.countAfter(-1)).toBe(ring.count);
        if (all.length > 0) expect(ring.count).toBeGreaterThan(0);
      }),
    );
  });

  it('gives memory back when its share becomes smaller, and keeps the newest frames', () => {
    const ring = new FrameRing();
    for (let seq = 1; seq <= 500; seq++) ring.push(seq, new Uint8Array(500).fill(seq % 251), seq, 200_000, 1e9);
    expect(ring.bytesHeld).toBeGreaterThan(100_000);
    for (let seq = 501; seq <= 503; seq++) ring.push(seq, new Uint8Array(500).fill(seq % 251), seq, 20_000, 1e9);
    expect(ring.bytesHeld).toBeLessThanOrEqual(20_000);
    expect(ring.count).toBeGreaterThan(15);
    let at = ring.oldestSeq - 1;
    for (let frame = ring.after(at); frame !== null; frame = ring.after(at)) {
      expect(frame.seq).toBe(at + 1);
      expect(frame.bytes).toEqual(new Uint8Array(500).fill(frame.seq % 251));
      at = frame.seq;
    }
    expect(at).toBe(503);
  });

  it('takes older frames before its own, which stay as they are, and drops the oldest of all first', () => {
    const frameOf = (seq: number): { seq: number; bytes: Uint8Array } => ({ seq, bytes: new Uint8Array(500).fill(seq % 251) });
    const ring = new FrameRing();
    for (let seq = 61; seq <= 100; seq++) ring.push(seq, frameOf(seq).bytes, 1000 + seq, 40_000, 60_000);
    const older = Array.from({ length: 60 }, (_, i) => frameOf(i + 1));
    ring.putBefore(older, 5000, 40_000, 60_000);
    expect(ring.bytesHeld).toBeLessThanOrEqual(40_000);
    expect(ring.oldestSeq).toBeGreaterThan(1);
    expect(ring.oldestSeq).toBeLessThan(61);
    for (let seq = ring.oldestSeq; seq <= 100; seq++) expect(ring.after(seq - 1)).toEqual(frameOf(seq));
    expect(ring.after(100)).toBeNull();
    ring.push(101, frameOf(101).bytes, 1000 + 61 + 60_001, 40_000, 60_000);
    expect(ring.oldestSeq).toBe(62);
  });
});
