/** Units in which devices send what slow channels measure, brought to those of their methods: g, Cel, uS. */
import type { ChannelKind } from '../../signal.ts';

/** So many of the unit make one of the method's, from `zero` on. */
export type Scale = Readonly<{ perUnit: number; zero: number }>;

const scale = (perUnit: number, zero = 0): Scale => ({ perUnit, zero });
/** m/s2 of 1 g. */
const standardGravity = 9.80665;

/** By UCUM, and as they are written elsewhere; null: of something else. */
const scales: Partial<Record<ChannelKind, Readonly<Record<string, Scale | null>>>> = {
  acc: {
    'm/s2': scale(standardGravity),
    'm.s-2': scale(standardGravity),
    'm/s^2': scale(standardGravity),
    'm/s²': scale(standardGravity),
    'm[g]': scale(1000),
    mg: scale(1000),
  },
  temp: { '[degF]': scale(1.8, 32), degF: scale(1.8, 32), '°F': scale(1.8, 32), K: scale(1, 273.15), mCel: scale(1000) },
  eda: { nS: scale(1000), mS: scale(1e-3), S: scale(1e-6), Ohm: null, kOhm: null, MOhm: null },
};

const asItIs = scale(1);

/** A unit that is not known is taken for the method's.
 *  @returns null where nothing can be computed (of a resistance of the skin) */
export function scaleOf(kind: ChannelKind, unit: string): Scale | null {
  const known = scales[kind];
  // a device may send any name, such as that of a member of every object
  return known !== undefined && Object.hasOwn(known, unit) ? known[unit]! : asItIs;
}
