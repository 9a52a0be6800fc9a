/** Details of the parts of /readyz in the language of the page. Operators read it in English, with other tools; the page knows its
 *  sentences and looks them up. */
import { t } from './language.ts';
import type { Phrase } from './language.ts';

/** Sentences of the service, with what changes in them in braces; the longer of two that begin alike first. */
export const serviceSentences = [
  '{bytes} bytes waiting',
  '{rows} rows or packets since the start',
  'lag {ms} ms, {crashes} worker crashes, {streams} streams to be read back',
  'lag {ms} ms, {crashes} worker crashes',
  'database {size}, {free} of {room} free',
  'database {size}',
  'TimescaleDB, community licence',
  'TimescaleDB, Apache licence: no columnstore',
  'plain PostgreSQL: no hypertables, no columnstore; native partitions instead',
  'no answer within {ms} ms',
  'open, to 1 other node',
  'open, to {nodes} other nodes',
  'away: devices and viewers of people of other nodes are refused',
  'not confirmed for {sec} s: another instance may have taken over',
  'degraded: the database has taken nothing for {sec} s; devices are answered 503',
  'degraded: the database has no room on its disk and has taken nothing for {sec} s; devices are answered 503',
] as const satisfies readonly Phrase[];
const FAILING = '; a job fails: ';

const patterns = serviceSentences.map((sentence) => {
  const pattern = sentence.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{(\w+)\}/g, '(?<$1>.+?)');
  return { sentence, pattern: new RegExp(`^${pattern}$`) };
});

/** @returns null for what the page does not know: a failure in the words of a database */
export function detailInWords(detail: string): string | null {
  const [said = '', ...jobs] = detail.split(FAILING);
  for (const { sentence, pattern } of patterns) {
    const found = pattern.exec(said);
    if (found === null) continue;
    // The pattern is made of the sentence, so it finds each value of it.
    const words = (t as (text: Phrase, values: Readonly<Record<string, string>>) => string)(sentence, { ...found.groups });
    return [words, ...jobs.map((job) => t('a job fails: {job}', { job }))].join('; ');
  }
  return null;
}
