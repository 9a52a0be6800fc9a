/** Units in which devices send what slow channels measure, brought to those of their methods: g, Cel, uS. */
import type { ChannelKind } from '../../signal.ts';

/** So many of the unit make one of the method's, from `zero` on. */
export type Scale = Readonly<{ perUnit: number; zero: number }>;

const scale = (perUnit: number, zero = 0): Scale => ({ perUnit, zero });
const asItIs = scale(1);
/** m/s2 of 1 g. */
const standardGravity = 9.80665;

const all = (names: string, of: Scale): [string, Scale][] => names.split(' ').map((name) => [name, of]);

/** By UCUM, and as they are written elsewhere, without blanks; where capitals do not matter in small letters. */
const scales: Partial<Record<ChannelKind, ReadonlyMap<string, Scale>>> = {
  acc: new Map([
    ...all('g [g] gn g_n g0 gee', asItIs),
    ...all('mg m[g] milli-g', scale(1000)),
    ...all('m/s2 m.s-2 m/s^2 m/s² m/s**2 m/s/s m·s-2 m·s⁻² ms-2 ms⁻²', scale(standardGravity)),
    ...all('cm/s2 cm/s^2 cm/s² gal', scale(100 * standardGravity)),
  ]),
  temp: new Map([
    ...all('cel c °c ºc degc deg_c celsius degreecelsius degreescelsius', asItIs),
    ...all('mcel', scale(1000)),
    ...all('[degf] f °f ºf degf deg_f fahrenheit degreefahrenheit degreesfahrenheit', scale(1.8, 32)),
    ...all('k kelvin', scale(1, 273.15)),
    ...all('[degr]', scale(1.8, 491.67)),
  ]),
  eda: new Map([
    ...all('us usiemens microsiemens umho', asItIs),
    ...all('ns nsiemens nanosiemens', scale(1000)),
    ...all('S siemens mho', scale(1e-6)),
    // MS is a million of them
    ...all('mS msiemens millisiemens', scale(1e-3)),
  ]),
};

/** No unit, and what says that it is a mere number, is taken for the method's. Beats and breaths are found at any scale: ECG, PPG and
 *  respiration may be in any unit.
 *  @returns null where nothing can be computed: of a resistance of the skin, of a unit that is not known */
export function scaleOf(kind: ChannelKind, unit: string): Scale | null {
  const known = scales[kind];
  const name = unit.replaceAll(/\s/g, '').replaceAll(/[µμ]/g, 'u');
  if (known === undefined || name === '' || name === '1') return asItIs;
  return known.get(name) ?? known.get(name.toLowerCase()) ?? null;
}
