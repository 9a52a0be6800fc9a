import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OpenRun } from './open-run.ts';

const values = fc.oneof(fc.integer({ min: -32_768, max: 32_767 }), fc.integer({ min: -8_388_608, max: 8_388_607 }), fc.integer());
const piece = fc.record({ samples: fc.array(values, { minLength: 1, maxLength: 300, size: 'max' }), flagged: fc.boolean() });

test('gives back what was appended, whatever its width and however it was cut', () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), fc.boolean(), (pieces, isFloat) => {
      const most = pieces.reduce((sum, { samples }) => sum + samples.length, 0);
      const run = new OpenRun(7, most, isFloat);
      const flags: number[] = [];
      for (const { samples, flagged } of pieces) {
        const typed = isFloat ? Float32Array.from(samples) : Int32Array.from(samples);
        const qmask = flagged ? Uint8Array.from(samples, (_, i) => i % 3) : null;
        flags.push(...(qmask ?? samples.map(() => 0)));
        run.append(typed, qmask, 0, samples.length);
      }
      const all = pieces.flatMap(({ samples }) => samples);
      const { k0, samples, qmask } = run.run();
      expect(k0).toBe(7);
      expect(samples).toEqual(isFloat ? Float32Array.from(all) : Int32Array.from(all));
      expect(qmask === null ? all.map(() => 0) : [...qmask]).toEqual(flags);
    }),
  );
});

test('samples of 16 bits take 2 bytes, and no more than they need', () => {
  const run = new OpenRun(0, 1000, false);
  run.append(
    Int32Array.from({ length: 250 }, (_, i) => i - 125),
    null,
    0,
    250,
  );
  expect(run.bytes).toBe(512);
  run.append(new Int32Array(750), null, 0, 750);
  expect(run.bytes).toBe(2000);
});

test('room is for 256 samples, and grows by as many or by what comes, up to the most', () => {
  const run = new OpenRun(0, 1000, false);
  const bytesAfter = (count: number, flagged = false): number => {
    run.append(new Int32Array(count), flagged ? new Uint8Array(count) : null, 0, count);
    return run.bytes;
  };
  expect(run.bytes).toBe(512);
  expect(bytesAfter(256)).toBe(512);
  expect(bytesAfter(1)).toBe(2 * 512);
  expect(bytesAfter(400)).toBe(2 * 768); // 657
  expect(bytesAfter(143, true)).toBe(3 * 1000); // 800
  expect(bytesAfter(200)).toBe(3 * 1000);
  expect(run.n).toBe(1000);
  expect(new OpenRun(0, 100, false).bytes).toBe(200);
  expect(new OpenRun(0, 100, true).bytes).toBe(400);
});

test('takes a part of what it is given, with its flags; one sample of more than 16 bits makes all wide', () => {
  for (const wide of [32_768, -32_769, 2 ** 31 - 1]) {
    const run = new OpenRun(3, 300, false);
    run.append(Int32Array.of(99, 1, -32_768, 32_767, 99), null, 1, 4);
    expect(run.bytes).toBe(512);
    run.append(Int32Array.of(wide, wide, 5), Uint8Array.of(9, 1, 2), 1, 3);
    expect(run.bytes).toBe(4 * 256 + 256);
    run.append(Int32Array.of(6), null, 0, 1);
    expect(run.run()).toEqual({ k0: 3, samples: Int32Array.of(1, -32_768, 32_767, wide, 5, 6), qmask: Uint8Array.of(0, 0, 0, 1, 2, 0) });
  }
});
