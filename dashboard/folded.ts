/** Texts as they are compared in a search, as the service does it: `folded` in sql/000097-folded-search.sql, `foldedSql` in
 *  src/storage/database/folded-sql.ts. test/query/search.int.test.ts asks both for the same names. */
import { spellingsOf } from '../src/spellings.ts';

const LETTERS: Readonly<Record<string, string>> = { ı: 'i', ø: 'o', ł: 'l', đ: 'd', ħ: 'h', ß: 'ss', æ: 'ae', œ: 'oe', ς: 'σ' };

/** Of Latin letters. */
const ACCENTS = /[\u0300-\u0304\u0306-\u030c\u031b\u0323\u0326-\u0328]/g;

/** Without accents, in small letters. */
function folded(text: string): string {
  const plain = text.normalize('NFD').replaceAll(ACCENTS, '');
  return plain.toLowerCase().replaceAll(/[ıøłđħßæœς]/g, (letter) => LETTERS[letter]!);
}

/** One of the texts holds the words. */
export function holds(texts: readonly (string | null)[], words: string): boolean {
  const sought = spellingsOf(words).map(folded);
  return texts.some((text) => text !== null && sought.some((one) => folded(text).includes(one)));
}

/** One of the texts is what was typed, in any case, with or without accents. */
export function isExactly(texts: readonly string[], words: string): boolean {
  return texts.some((text) => folded(text) === folded(words));
}
