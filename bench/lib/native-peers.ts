/** Detectors of others, run next to ours where they are on the machine: any executable in the folder that BENCH_NATIVE_DIR names.
 *
 *  NAME FS ROUNDS   samples on the standard input until its end (float64, little endian, mV); finds the beats ROUNDS times and prints, as
 *  its
 *                   last line, the processor seconds of the fastest time: the detector alone, with neither reading nor starting.
 *  How gqrs of WFDB and sleepecg are wrapped is in bench/README.md. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { reportMedian } from './result.ts';

const directory = process.env['BENCH_NATIVE_DIR'];

export const nativePeers: readonly string[] = directory === undefined ? [] : readdirSync(directory).toSorted();

/** M samples/s. @throws Error when the peer fails or prints something else */
function peerRate(name: string, x: Float64Array, fs: number, rounds: number): number {
  const input = new Uint8Array(x.buffer, x.byteOffset, x.byteLength);
  const { status, stdout, stderr } = spawnSync(join(directory!, name), [String(fs), String(rounds)], { input, encoding: 'utf8' });
  const seconds = Number(stdout?.trim().split('\n').at(-1));
  if (status !== 0 || !(seconds > 0)) throw new Error(`${name}: ${stderr}`);
  return x.length / seconds / 1e6;
}

/** Runs ours and each peer in turns and reports the peer's rate and the ratio, pair by pair.
 *  @param ours gives M samples/s, the fastest of as many rounds as it is told */
export function reportPeers(what: string, x: Float64Array, fs: number, ours: (rounds: number) => number, pairs = 5, rounds = 5): void {
  if (nativePeers.length === 0) console.log('BENCH_NATIVE_DIR is not set: no native peer to compare with');
  for (const name of nativePeers) {
    const rates: number[] = [];
    const ratios: number[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      const mine = ours(rounds);
      const theirs = peerRate(name, x, fs, rounds);
      rates.push(theirs);
      ratios.push(mine / theirs);
    }
    reportMedian({ name: `${name}, ${fs} Hz, the same samples`, unit: 'M samples/s', better: 'higher' }, rates);
    reportMedian({ name: `${what}: times ${name}`, unit: 'times', better: 'higher' }, ratios);
  }
}
