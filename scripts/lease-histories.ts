/** `npm run lease-histories`: plays seeded histories of the lease protocol in memory (docs/decisions/0017-partitions.md): claims, commits,
 *  pauses, deaths, lost connections, take-backs and drains in any order. Then takes parts of the protocol out, one after the other, and
 *  looks whether the histories find it.
 *
 *    npm run lease-histories                 100,000 histories
 *    npm run lease-histories -- --count N    so many
 *    npm run lease-histories -- --seed S     only this one
 *
 *  Ends with 1 when a history goes wrong, or a part that was taken out is not missed. */
import { plants } from '../test/cluster/lease-database.ts';
import { playLeases } from '../test/cluster/lease-history.ts';
import { numberOption, toolOptions } from './tool-options.ts';

const PLANTED_MAX = 3000;

const { values } = toolOptions({ options: { count: { type: 'string', default: '100000' }, seed: { type: 'string' } } });
const count = numberOption('count', values.count, { whole: true });
const only = values.seed === undefined ? null : numberOption('seed', values.seed, { whole: true });
const startedMs = performance.now();
let wrong = 0;
for (let seed = only ?? 1; seed <= (only ?? count); seed++) {
  const violation = playLeases(seed);
  if (violation === null) continue;
  wrong++;
  if (wrong <= 10) console.log(`history ${seed}: ${violation}`);
}
console.log(`${only === null ? count : 1} histories, ${wrong} wrong, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
for (const plant of only === null ? plants : []) {
  let found = 0;
  let first = '';
  for (let seed = 1; seed <= PLANTED_MAX; seed++) {
    const violation = playLeases(seed, plant);
    if (violation === null) continue;
    if (found === 0) first = `history ${seed}: ${violation}`;
    found++;
  }
  if (found === 0) wrong++;
  console.log(`${found === 0 ? 'MISSED' : 'found '} ${plant}: ${found} of ${PLANTED_MAX}${first === '' ? '' : `; ${first}`}`);
}
process.exitCode = wrong > 0 ? 1 : 0;
