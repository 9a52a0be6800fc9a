import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StreamId } from '../signal.ts';
import { ReplayHorizon } from './replay-horizon.ts';

const [one, two] = [1 as StreamId, 2 as StreamId];
const always = (): boolean => true;
const never = (): boolean => false;

describe('ReplayHorizon', () => {
  it('starts at the checkpoint and follows what was handed on', () => {
    const horizon = new ReplayHorizon(10);
    expect(horizon.position(Infinity, always)).toBe(10);
    horizon.noteHanded(12);
    expect(horizon.position(Infinity, always)).toBe(12);
  });

  it('does not pass samples that are not in sample_block', () => {
    const horizon = new ReplayHorizon(0);
    horizon.noteHanded(9);
    expect(horizon.position(6, always)).toBe(6);
  });

  it('keeps a position until the last of its packets is released', () => {
    const horizon = new ReplayHorizon(0);
    const first = horizon.hold(5);
    const second = horizon.hold(5);
    const later = horizon.hold(7);
    horizon.noteHanded(9);
    expect(horizon.position(Infinity, always)).toBe(4);
    first();
    expect(horizon.position(Infinity, always)).toBe(4);
    second();
    expect(horizon.position(Infinity, always)).toBe(6);
    later();
    expect(horizon.position(Infinity, always)).toBe(9);
    expect(later).toThrow(/more often than it was held/);
  });

  it('keeps the first position that came while a stream had rows to compute again, until it has none', () => {
    const horizon = new ReplayHorizon(0);
    horizon.noteUncomputed(one, 3);
    horizon.noteUncomputed(one, 5);
    horizon.noteUncomputed(two, 4);
    horizon.noteHanded(9);
    expect(horizon.position(Infinity, never)).toBe(2);
    expect(horizon.position(Infinity, (id) => id === one)).toBe(3);
    expect(horizon.position(Infinity, always)).toBe(9);
  });

  it('forgets a stream when it is computed: samples that come later count anew', () => {
    const horizon = new ReplayHorizon(0);
    horizon.noteUncomputed(one, 3);
    horizon.noteHanded(3);
    expect(horizon.position(Infinity, always)).toBe(3);
    expect(horizon.position(Infinity, never)).toBe(3);
    horizon.noteUncomputed(one, 8);
    horizon.noteHanded(8);
    expect(horizon.position(Infinity, never)).toBe(7);
  });

  it('refuses groups that are handed on out of order', () => {
    const horizon = new ReplayHorizon(4);
    horizon.noteHanded(4); // what was set aside is stored again at the newest position
    expect(() => horizon.noteHanded(3)).toThrow(/handed on after/);
  });

  // A packet is done for the log when its samples are stored, its reports are stored, and its stream is computed once after it came while
  // the stream was not. The horizon stands right before the first packet that is not done: never after it, and not before it either.
  it('stands before the first packet that still depends on the process, whatever happens in which order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const horizon = new ReplayHorizon(0);
        const packets: Packet[] = [];
        const computed = new Map<StreamId, boolean>();
        let handed = 0;
        for (const { what, stream, gap, pick } of steps) {
          const isComputed = computed.get(stream) ?? true;
          if (what === 'packet') {
            const position = handed + gap;
            const letGo = horizon.hold(position);
            if (!isComputed) horizon.noteUncomputed(stream, position);
            packets.push({ position, stream, letGo, stored: false, mustCompute: !isComputed });
            horizon.noteHanded(position);
            handed = position;
          } else if (what === 'stream') computed.set(stream, !isComputed);
          else {
            const packet = packets[pick % (packets.length + 1)];
            if (packet === undefined) continue;
            if (what === 'stored') packet.stored = true;
            packet.letGo?.();
            packet.letGo = null;
          }
          const unsafe = packets.filter((packet) => !packet.stored).map((packet) => packet.position);
          const samplesSafe = Math.min(Infinity, ...unsafe) - 1;
          const position = horizon.position(samplesSafe, (id) => computed.get(id) ?? true);
          for (const packet of packets) if (computed.get(packet.stream) ?? true) packet.mustCompute = false;
          const needed = packets.filter(({ stored, letGo, mustCompute }) => !stored || letGo !== null || mustCompute);
          expect(position).toBe(Math.min(handed, ...needed.map((packet) => packet.position - 1)));
        }
      }),
      { numRuns: 2000 },
    );
  });
});

type Packet = { position: number; stream: StreamId; letGo: (() => void) | null; stored: boolean; mustCompute: boolean };

const step = fc.record({
  what: fc.constantFrom('packet', 'packet', 'stored', 'reported', 'stream'),
  stream: fc.constantFrom(one, two),
  /** 0: the same group as the packet before. */
  gap: fc.nat({ max: 2 }),
  pick: fc.nat({ max: 60 }),
});
