/** Options of the tools of proof: one that is mistaken must end them, because a tool that does nothing finds nothing. */

/** @param whole from 1 on, up to `max`; else any number, 0 or more. Ends the process with 2 and a sentence when the text is no such
 *  number. */
export function numberOption(name: string, text: string, { whole = false, max = Infinity } = {}): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  const isGood = whole ? Number.isInteger(number) && number >= 1 && number <= max : number >= 0 && Number.isFinite(number);
  if (isGood) return number;
  const kind = !whole ? 'a number, 0 or more' : `a whole number from 1 ${max === Infinity ? 'on' : `to ${max}`}`;
  return mistaken(`--${name} is ${kind}, not "${text}"`);
}

/** Ends the process with 2. */
export function mistaken(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}
