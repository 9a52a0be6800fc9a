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

it('finds what changes in a sentence, and leaves alone what it does not know', () => {
  for (const sentence of serviceSentences) expect(detailInWords(sentence.replaceAll(/\{\w+\}/g, '1.5 GiB'))).not.toBeNull();
  expect(detailInWords('relation "x" does not exist')).toBeNull();
});
