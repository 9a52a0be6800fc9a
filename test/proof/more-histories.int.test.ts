/** Histories of one node, and another of three (scripts/long-tests.ts): fixed ones, and a new one each time (BIO_HISTORY_SEED). */
import { EVERY_VALUE, playHistories } from '../helpers/histories.ts';

const fresh = Number(process.env['BIO_HISTORY_SEED'] ?? Math.floor(Math.random() * 1e6));
playHistories(
  [
    [EVERY_VALUE, 1],
    [fresh, 1],
    [14, 3],
  ],
  [fresh],
);
