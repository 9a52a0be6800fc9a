/** Each detail of /readyz has words in the languages of the dashboard. */
import { expect, it } from 'vitest';
import { detailInWords, serviceSentences } from '../../dashboard/service-details.ts';
import { serverWords } from '../../src/start/readiness.ts';

it.each([...Object.values(serverWords), 'lag 5 ms, 0 worker crashes', 'lag 5 ms, 0 worker crashes, 2 streams to be read back'])(
  'knows: %s',
  (detail) => {
    expect(detailInWords(detail)).toBe(detail);
    expect(detailInWords(`${detail}; a job fails: rollups`)).toBe(`${detail}; a job fails: rollups`);
  },
);

it.each([
  ['0 bytes waiting', '0 B waiting'],
  ['1023 bytes waiting', '1,023 B waiting'],
  ['3565158 bytes waiting', '3.4 MiB waiting'],
  ['12345 rows or packets since the start', '12,345 rows or packets since the start'],
  ['database 1500.5 GiB, 80 MiB of 2000.0 GiB free', 'database 1,500.5 GiB, 80 MiB of 2,000.0 GiB free'],
])('writes bytes as a size, and numbers as the language does: %s', (detail, words) => {
  expect(detailInWords(detail)).toBe(words);
});

it('finds what changes in a sentence, and leaves alone what it does not know', () => {
  for (const sentence of serviceSentences) expect(detailInWords(sentence.replaceAll(/\{\w+\}/g, '1.5 GiB'))).not.toBeNull();
  expect(detailInWords('relation "x" does not exist')).toBeNull();
});
