/** Made-up minutes of values and beats for property tests of their codec: regular with holes, on microseconds, or anywhere. */
import fc from 'fast-check';
import { STEP_COUNT_MAX } from '../../src/signal.ts';
import { MINUTE_NS, type BeatPoints, type FeaturePoints } from '../../src/storage/derived-block.ts';

const times = fc
  .oneof(
    fc
      .tuple(
        fc.integer({ min: 0, max: 999_999_999 }),
        fc.uniqueArray(fc.integer({ min: 0, max: 58 }), { minLength: 1, maxLength: 59, size: 'max' }),
      )
      .map(([phase, seconds]) => seconds.map((sec) => phase + 1e9 * sec)),
    fc
      .uniqueArray(fc.integer({ min: 0, max: 59_999_999 }), { minLength: 1, maxLength: 200, size: 'max' })
      .map((us) => us.map((t) => 1000 * t)),
    fc.uniqueArray(fc.integer({ min: 0, max: MINUTE_NS - 1 }), { minLength: 1, maxLength: 20 }),
  )
  .map((ns) => ns.toSorted((a, b) => a - b));

const steps = fc.oneof(fc.integer({ min: 6000, max: 9000 }), fc.integer({ min: -STEP_COUNT_MAX, max: STEP_COUNT_MAX }), fc.constant(NaN));
const flag = fc.constantFrom(0, 0, 0, 0, 1, 2);
/** All known, some, none. */
const confidence = fc.oneof(fc.integer({ min: 95, max: 100 }), fc.integer({ min: 0, max: 100 }), fc.constant(NaN));
const reason = fc.constantFrom('', '', 'premature', 'missed_before');

export const featurePoints: fc.Arbitrary<FeaturePoints> = fc
  .record({ ns: times, values: fc.array(steps, { minLength: 1, maxLength: 100 }), marks: fc.array(flag, { minLength: 1, maxLength: 100 }) })
  .map(({ ns, values, marks }) => ({
    ns,
    steps: ns.map((_, i) => values[i % values.length]!),
    flags: ns.map((_, i) => marks[i % marks.length]!),
  }));

/** With intervals to the beat before, others, and none. */
export const beatPoints: fc.Arbitrary<BeatPoints> = fc
  .record({
    ns: times,
    seed: fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), flag, reason, fc.integer({ min: 0, max: 9 })), {
      minLength: 1,
      maxLength: 40,
    }),
    sure: fc.oneof(fc.array(confidence, { minLength: 1, maxLength: 30 }), fc.constant([NaN])),
  })
  .map(({ ns, seed, sure }) => {
    const found = ns.map((t, i) => ({ t, made: seed[i % seed.length]! }));
    let seen = NaN;
    const intervalUs = found.map(({ t, made: [kind, , , how] }) => {
      const us = how === 0 ? NaN : how === 1 ? 123_456 : (t - seen) / 1000;
      if (kind !== 3) seen = t;
      return Number.isInteger(us) ? us : NaN;
    });
    return {
      ns,
      intervalUs,
      kinds: found.map(({ made }) => made[0]),
      flags: found.map(({ made }) => made[1]),
      reasons: found.map(({ made }) => made[2]),
      confidences: ns.map((_, i) => sure[i % sure.length]!),
    };
  });
