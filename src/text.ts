/** Decides which characters text may contain, wherever it enters: packets, JSON, query parameters, the command line.
 *
 *  PostgreSQL cannot store U+0000. A lone surrogate becomes U+FFFD when it is written as UTF-8, so that two different ids become one. Other
 *  control characters are never intended, and move the cursor of a terminal that prints them. U+FFFE and U+FFFF are no characters, and XML,
 *  such as a strip as SVG, cannot hold them. */

/** `name`: ids, names, codes, units: one line. `text`: what people write, with tab, line feed and carriage return. */
export type TextKind = 'name' | 'text';

/** The first character not allowed in such text, e.g. `U+0000`; null when there is none. */
export function refusedCharacter(text: string, kind: TextKind): string | null {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x20 && unit < 0x7f) continue;
    if (unit < 0x20 ? !(kind === 'text' && (unit === 0x09 || unit === 0x0a || unit === 0x0d)) : unit < 0xa0) return nameOf(unit);
    if (unit < 0xd800 || (unit > 0xdfff && unit < 0xfffe)) continue;
    if (unit > 0xdfff) return nameOf(unit);
    const next = text.charCodeAt(i + 1); // NaN at the end
    if (unit > 0xdbff || !(next >= 0xdc00 && next <= 0xdfff)) return nameOf(unit);
    i++;
  }
  return null;
}

/** Nothing to see, or a blank that is none: zero-width characters, soft hyphens, marks of direction, fillers, the blank of Braille. Not the
 *  signs before numbers, above all of Arabic, which are of the same category (Cf) and are seen. */
const INVISIBLE =
  /(?![\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\u2028\u2029\u2800]/gu;

/** Letters, and their marks, of scripts that join letters: there U+200C and U+200D between two are part of how a word is spelled. */
const JOINED = `(?=[\\p{L}\\p{M}])[${['Arab', 'Syrc', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh']
  .map((script) => `\\p{scx=${script}}`)
  .join('')}]`;
const JOINER = new RegExp(`(?<=${JOINED})[\\u200c\\u200d](?=${JOINED})`, 'gu');

/** The first character that nobody sees, e.g. `U+200B`; null when there is none. With one, a name is another that looks the same. */
export function invisibleCharacter(text: string): string | null {
  const found = text.match(INVISIBLE)?.[0];
  return found === undefined ? null : nameOf(found.codePointAt(0)!);
}

export const withoutInvisible = (text: string): string => text.replaceAll(INVISIBLE, '');

/** Without the joiners between letters of scripts that need them, as Persian and Hindi are written. */
export const withoutJoiners = (text: string): string => text.replaceAll(JOINER, '');

function nameOf(unit: number): string {
  return `U+${unit.toString(16).toUpperCase().padStart(4, '0')}`;
}

/** Replaces characters not allowed in a name by spaces, for labels written elsewhere. */
export function withoutRefused(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\ufffe\uffff]+/gu, ' ')
    .trim();
}

/** Removes what turns the direction of the text behind it, such as U+202E, where nothing isolates a name from its sentence. */
export const withoutDirections = (text: string): string => text.replaceAll(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');

/** Cleans text, and cuts it after a whole character to at most `bytesMax` bytes of UTF-8. */
export function fitText(text: string, kind: TextKind, bytesMax: number): string {
  const clean = refusedCharacter(text, kind) === null ? text : withoutRefused(text);
  let bytes = 0;
  let end = 0;
  for (const character of clean) {
    bytes += new TextEncoder().encode(character).length;
    if (bytes > bytesMax) break;
    end += character.length;
  }
  return clean.slice(0, end);
}
