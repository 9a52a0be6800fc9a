/** Names can be written in several ways: what is sought for each. Shared by the service and the dashboard. */

/** What is sought, first as it was typed, and the other ways to write its umlauts: Müller, Mueller. They are compared as
 *  src/storage/database/folded-sql.ts and dashboard/folded.ts have them. */
export function spellingsOf(words: string): readonly string[] {
  const written = words.normalize('NFC').replaceAll(/[äöü]/gi, (letter) => `${letter}e`);
  return [...new Set([words, written, ...shortened(words)])];
}

/** An e behind a vowel may be that of an umlaut, as in Mueller, or its own, as in Michael: each of the first three is tried as both. */
function shortened(words: string): readonly string[] {
  const parts = words.split(/(?<=[aou])(?=e)/i);
  let tried = [parts[0]!];
  parts.slice(1).forEach((part, i) => {
    const short = tried.map((one) => one + part.slice(1));
    tried = i < 3 ? [...tried.map((one) => one + part), ...short] : short;
  });
  return tried;
}
