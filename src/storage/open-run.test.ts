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
