/** Statements that a connection parses and plans once: the hot reads go through views over partitions, whose planning takes longer than
 *  their execution. They are SQL as it is sent, where others are built (build.ts): what they gain is that nothing is made anew for each
 *  read. */
import { createHash } from 'node:crypto';
import type pg from 'pg';

/** Texts that are kept prepared; a plan takes up to some 100 kB in each connection. More are planned each time. */
const TEXTS_MAX = 60;
const names = new Map<string, string>();

/** @param text one of few: what varies from call to call goes into `values`, or is not worth preparing */
export function prepared(text: string, values: unknown[]): pg.QueryConfig {
  let name = names.get(text);
  if (name === undefined) {
    if (names.size >= TEXTS_MAX) return { text, values };
    name = `bio_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
    names.set(text, name);
  }
  return { name, text, values };
}
