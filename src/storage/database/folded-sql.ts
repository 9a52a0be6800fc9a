/** SQL of searches in names: texts without accents, and the spellings of what is sought (src/spellings.ts). */

/** A text as it is compared in a search: `folded` in sql/, and σ for the ς at the end of a Greek word, which is σ in capitals.
 *  @param text SQL of it */
export const foldedSql = (text: string): string => `replace(folded(${text}), 'ς', 'σ')`;

/** SQL: rows (text, i) of the spellings as they are compared, the same for all rows of a table. @param spellings SQL of them */
export const spelledSql = (spellings: string): string =>
  `unnest((select array_agg(${foldedSql('s')} order by i) from unnest(${spellings}) with ordinality u(s, i))) with ordinality w(text, i)`;

/** SQL: one of the spellings is in one of the columns. */
export const holdsSql = (spellings: string, columns: readonly string[]): string =>
  `exists (select from ${spelledSql(spellings)}, (values ${columns.map((one) => `(${one})`).join()}) v(text) where position(w.text in ${foldedSql('v.text')}) > 0)`;
