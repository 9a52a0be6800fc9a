/** `npm run fuzz`: hostile inputs for every decoder that meets the outside, for the service as a whole, and for its API.
 *
 *  npm run fuzz -- [--count 10000000] [--seed 1] [--only packet,json]
 *  npm run fuzz -- --service [--minutes 10] [--seed S] [--size 120] [--database URL] [--file CASES.json] [--keep-going] [--out FOLDER]
 *  npm run fuzz -- --api     [--minutes 10] [--seed S] [--size 400] [--database URL] [--file CASES.json] [--keep-going] [--out FOLDER]
 *  npm run fuzz -- --planted [--only lost,slow]                            can they fail? ten minutes
 *  Exit code 1 with the input when something fails. docs/faults.md says what is held against what. */
import { mistaken, numberOption, toolOptions } from '../../scripts/tool-options.ts';
import { fuzzApi } from './api/run.ts';
import { fuzzDecoders } from './decoders.ts';
import { fuzzPlanted } from './planted.ts';
import { fuzzService } from './service/run.ts';
import type { LongOptions } from './service/run.ts';

const { values } = toolOptions({
  options: {
    count: { type: 'string', default: '10000000' },
    seed: { type: 'string' },
    only: { type: 'string', default: '' },
    service: { type: 'boolean', default: false },
    planted: { type: 'boolean', default: false },
    api: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    size: { type: 'string' },
    database: { type: 'string', default: '' },
    file: { type: 'string' },
    'keep-going': { type: 'boolean', default: false },
    out: { type: 'string', default: '.cache/fuzz' },
  },
});

const count = numberOption('count', values.count, { whole: true });
const minutes = numberOption('minutes', values.minutes);
const seed = values.seed === undefined ? undefined : numberOption('seed', values.seed);
if (values.only !== '' && (values.service || values.api)) mistaken('--only is for the decoders and for --planted');
if (values.planted) {
  const only = values.only === '' ? [] : values.only.split(',');
  process.exitCode = (await fuzzPlanted(only, seed ?? 1)) === 0 ? 0 : 1;
} else if (!values.service && !values.api) process.exitCode = (await fuzzDecoders(count, seed ?? 1, values.only)) === 0 ? 0 : 1;
else {
  const long = (size: number): LongOptions => ({
    minutes,
    seed: seed ?? Math.floor(Math.random() * 1e6),
    database: values.database,
    size: numberOption('size', values.size ?? String(size), { whole: true }),
    file: values.file,
    keepGoing: values['keep-going'],
    out: values.out,
  });
  const failed = values.service ? await fuzzService(long(120)) : await fuzzApi(long(400));
  process.exit(failed === 0 ? 0 : 1); // whatever is still open
}
