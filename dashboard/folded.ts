/** Texts as they are compared in a search, as the service does it: `folded` in sql/000097-folded-search.sql, `spellingsOf` in
 *  src/text.ts. */

const LETTERS: Readonly<Record<string, string>> = { ı: 'i', ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ß: 'ss', æ: 'ae', œ: 'oe' };

/** Of Latin letters. */
const ACCENTS = /[\u0300-\u0304\u0306-\u030c\u031b\u0323\u0326-\u0328]/g;

/** Without accents, in small letters. */
function folded(text: string): string {
  const plain = text.normalize('NFD').replaceAll(ACCENTS, '');
  return plain.toLowerCase().replaceAll(/[ıøłđħßæœ]/g, (letter) => LETTERS[letter]!);
}

/** What is sought, and the other ways to write its umlauts: Müller, Mueller. */
function spellingsOf(words: string): readonly string[] {
  const written = words.normalize('NFC').replaceAll(/[äöü]/gi, (letter) => `${letter}e`);
  const short = words.replaceAll(/([aou])e/gi, '$1');
  return [...new Set([words, written, short])];
}

/** One of the texts holds the words. */
export function holds(texts: readonly (string | null)[], words: string): boolean {
  const sought = spellingsOf(words).map(folded);
  return texts.some((text) => text !== null && sought.some((one) => folded(text).includes(one)));
}
