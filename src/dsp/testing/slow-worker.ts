/** A worker thread that takes its time to load, as on a starved machine, for the tests of the pool. */
import { setTimeout } from 'node:timers/promises';

await setTimeout(3000);

export { runBatch } from '../pool/worker.ts';
