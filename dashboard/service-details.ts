/** Details of the parts of /readyz in the language of the page. Operators read it in English, with other tools; the page knows its
 *  sentences and looks them up. */
import { locale, t } from './language.ts';
import type { Phrase } from './language.ts';

/** Its bytes are a size on the page. */
const WAITING = '{bytes} bytes waiting';

/** Sentences of the service, with what changes in them in braces; the longer of two that begin alike first. */
export const serviceSentences = [
  WAITING,
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
] as const satisfies readonly (Phrase | typeof WAITING)[];
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
    const values = Object.fromEntries(Object.entries(found.groups ?? {}).map(([name, value]) => [name, numberText(value)]));
    const words =
      sentence === WAITING
        ? t('{size} waiting', { size: sizeText(Number(found.groups!['bytes'])) })
        : (t as (text: Phrase, values: Readonly<Record<string, string>>) => string)(sentence, values);
    return [words, ...jobs.map((job) => t('a job fails: {job}', { job }))].join('; ');
  }
  return null;
}

const sizeUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
const whole = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat(locale, { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** In the units of the service's own sentences: 512 B, 3.4 MiB. */
function sizeText(bytes: number): string {
  if (!Number.isFinite(bytes)) return '–';
  const power = bytes < 1024 ? 0 : Math.min(sizeUnits.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(power === 0 ? whole : tenths).format(bytes / 1024 ** power)} ${sizeUnits[power]!}`;
}

/** A number, with its unit if it has one, as the language writes it: 12,000; 1,5 GiB. Anything else stays. */
function numberText(said: string): string {
  const [, number, tenth, unit = ''] = /^(\d+)(\.\d)?( [KMGT]iB)?$/.exec(said) ?? [];
  if (number === undefined) return said;
  return `${(tenth === undefined ? whole : tenths).format(Number(number + (tenth ?? '')))}${unit}`;
}
