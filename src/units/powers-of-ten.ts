/** Units of UCUM that differ by a power of ten alone: `mg/dl` and `g/L`, `10*3/uL` and `10*9/L`. Their values convert exactly. */
import { ANNOTATION, EXPONENT, FACTOR, isTerm, isUcum, POWER_OF_TEN, prefixAndSymbol, SYMBOL, ucumFor } from './ucum.ts';

/** No prefixes of two, Ki to Ti: they are no powers of ten. */
const prefixPowers: ReadonlyMap<string, number> = new Map([
  ...Object.entries({ '': 0, h: 2, da: 1, d: -1, c: -2 }),
  ...[...'kMGTPEZY'].map((prefix, i) => [prefix, 3 + 3 * i] as const),
  ...[...'munpfazy'].map((prefix, i) => [prefix, -3 - 3 * i] as const),
]);
/** Units that are a power of ten of others: a litre is a cubic decimetre. */
const same: ReadonlyMap<string, readonly [power: number, symbol: string, exponent: number]> = new Map([
  ['l', [-3, 'm', 3]],
  ['L', [-3, 'm', 3]],
  ['[iU]', [0, '[IU]', 1]],
  ['%', [-2, '', 1]],
  ['[ppth]', [-3, '', 1]],
  ['[ppm]', [-6, '', 1]],
  ['[ppb]', [-9, '', 1]],
  ['[pptr]', [-12, '', 1]],
]);

const isRatio = (unit: string): boolean => same.get(unit)?.[1] === '';

/** @returns power of ten by which a value in `from` is multiplied to be one in `to`; null: they differ by more, or one is no unit. What
 *  is in braces counts: `{beats}/min` is not `/min`. */
export function powerOfTen(from: string, to: string): number | null {
  const [a, b] = [decomposed(from), decomposed(to)];
  return a === null || b === null || a.symbols !== b.symbols ? null : a.power - b.power;
}

function decomposed(unit: string): Readonly<{ power: number; symbols: string }> | null {
  if (!isTerm(unit)) return null;
  const exponents = new Map<string, number>();
  let power = 0;
  let at = 0;
  const take = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(unit)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  };
  const multiply = (symbol: string, exponent: number): number => exponents.set(symbol, (exponents.get(symbol) ?? 0) + exponent).size;
  const signs = [1]; // of each parenthesis that is open
  let sign = 1;
  while (at < unit.length) {
    const outer = signs.at(-1) ?? 1;
    const mark = unit[at] ?? '';
    if (mark === '.' || mark === '/') sign = mark === '/' ? -outer : outer;
    else if (mark === '(') signs.push(sign);
    else if (mark === ')') signs.pop();
    if ('./()'.includes(mark)) {
      at++;
      continue;
    }
    const annotation = take(ANNOTATION);
    const ten = annotation === null ? take(POWER_OF_TEN) : null;
    const factor = annotation === null && ten === null ? take(FACTOR) : null;
    if (annotation !== null) multiply(annotation, sign);
    else if (ten !== null) power += sign * Number(ten.slice(3) || 1);
    else if (factor !== null) {
      const [, digits = '', zeros = ''] = /^(.*?)(0*)$/.exec(factor) ?? [];
      power += sign * zeros.length;
      if (digits !== '1') multiply(digits, sign);
    } else {
      const [prefix, symbol] = prefixAndSymbol(take(SYMBOL) ?? '') ?? ['', ''];
      const exponent = sign * Number(take(EXPONENT) ?? 1);
      const prefixPower = prefixPowers.get(prefix);
      const [ownPower, base, times] = same.get(symbol) ?? [0, symbol, 1];
      if (prefixPower === undefined) multiply(prefix, exponent);
      power += ((prefixPower ?? 0) + ownPower) * exponent;
      if (base !== '') multiply(base, times * exponent);
    }
  }
  const symbols = [...exponents].filter(([, exponent]) => exponent !== 0).map(([symbol, exponent]) => `${symbol} ${exponent}`);
  return { power, symbols: symbols.toSorted().join(' ') };
}

/** A value times a power of ten, exactly: by its digits, not by a multiplication of binary numbers. */
export function timesTen(value: number, power: number): number {
  const [digits, exponent] = value.toExponential().split('e');
  return power === 0 ? value : Number(`${digits}e${Number(exponent) + power}`);
}

/** Which of several units a given one is: itself, what it is a spelling of, or one from which it differs by a power of ten. A mere `1`,
 *  which devices send for no unit, too, is not taken for `%` or `[ppm]`, nor these for it.
 *  @returns null: none of them  power: what a value is multiplied by (timesTen) to be one in that unit */
export function takenAs(given: string, units: readonly string[]): Readonly<{ unit: string; power: number }> | null {
  const spelled = isUcum(given) ? null : ucumFor(given);
  const meant = spelled === null || spelled.isIfCounted ? given : spelled.unit;
  for (const unit of [given, meant]) if (units.includes(unit)) return { unit, power: 0 };
  for (const unit of units) {
    if ((meant === '1' && isRatio(unit)) || (unit === '1' && isRatio(meant))) continue;
    const power = powerOfTen(meant, unit);
    if (power !== null) return { unit, power };
  }
  return null;
}
