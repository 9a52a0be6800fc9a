/** packet-cuts.test.ts with more streams, BIO_CUTS_RUNS of them from BIO_CUTS_SEED on. */
import * as fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { bySample, cutStreams, cuts, differencesAtEnd, differencesOf } from '../testing/cut-streams.ts';
import { KernelStock } from './runner.ts';

vi.setConfig({ testTimeout: 1_200_000 });

const seed = Number(process.env['BIO_CUTS_SEED'] ?? 1);
const numRuns = Number(process.env['BIO_CUTS_RUNS'] ?? 150);
const stock = new KernelStock();

test('streams give the same rows however they are cut', () => {
  fc.assert(
    fc.property(cutStreams(150), (stream) => {
      expect(differencesOf(stream, [...cuts, bySample], stock)).toEqual([]);
    }),
    { seed, numRuns },
  );
});

test('streams give the same rows when their end is computed again', () => {
  fc.assert(
    fc.property(cutStreams(1100, 750), fc.integer({ min: 5, max: 200 }), (stream, backSec) => {
      expect(differencesAtEnd(stream, backSec, stock)).toEqual([]);
    }),
    { seed, numRuns: Math.ceil(numRuns / 10) },
  );
});
