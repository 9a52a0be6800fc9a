/** The recordings that the storage benches pack, as digital values. MIT-BIH and BIDMC come from ../shared/data or BIO_TEST_DATA. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';

const dataDir = resolve(process.env['BIO_TEST_DATA'] ?? '../shared/data');

export type Recording = { name: string; rateHz: number; channels: Int32Array[] };

export function mitBih(): Recording[] {
  const folder = join(dataDir, 'mitdb');
  if (!existsSync(folder)) return missing('MIT-BIH', folder);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.dat'))
    .map((file) => {
      const bytes = readFileSync(join(folder, file)); // format 212: two 12-bit samples in three bytes
      const n = Math.floor(bytes.length / 3);
      const channels = [new Int32Array(n), new Int32Array(n)];
      for (let i = 0; i < n; i++) {
        const [a, b, c] = [bytes[3 * i]!, bytes[3 * i + 1]!, bytes[3 * i + 2]!];
        channels[0]![i] = ((a | ((b & 0x0f) << 8)) << 20) >> 20;
        channels[1]![i] = ((c | ((b & 0xf0) << 4)) << 20) >> 20;
      }
      return { name: file, rateHz: 360, channels };
    });
}

/** The five signals at 125 Hz. The csv files hold physical numbers: taken back to the 10-bit steps of the MIMIC monitors' converters. */
export function bidmc(): Recording[] {
  const folder = join(dataDir, 'bidmc');
  if (!existsSync(folder)) return missing('BIDMC', folder);
  return readdirSync(folder)
    .filter((file) => file.endsWith('Signals.csv.gz'))
    .map((file) => {
      const lines = gunzipSync(readFileSync(join(folder, file)))
        .toString('latin1')
        .trim()
        .split('\n')
        .slice(1);
      const rows = lines.map((line) => line.split(',').slice(1).map(Number));
      const channels = (rows[0] ?? []).map((_, column) => {
        const values = rows.map((row) => row[column] ?? NaN).map((value) => (Number.isFinite(value) ? value : 0));
        const steps = [...new Set(values)].sort((a, b) => a - b);
        let step = Infinity;
        for (let i = 1; i < steps.length; i++) step = Math.min(step, steps[i]! - steps[i - 1]!);
        const lsb = Math.max(step, (steps.at(-1)! - steps[0]!) / 1023);
        return Int32Array.from(values, (value) => Math.round(value / lsb));
      });
      return { name: file, rateHz: 125, channels };
    });
}

/** 16 bits at 1 kHz: beats over breathing, with 3 bits of noise. */
export function synthetic(count = 8): Recording[] {
  let seed = 42;
  const noise = (): number => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff) / 0x7fffffff - 0.5;
  return Array.from({ length: count }, (_, r) => ({
    name: `synthetic ${r}`,
    rateHz: 1000,
    channels: [
      Int32Array.from({ length: 600_000 }, (_, i) => {
        const phase = (i % (780 + 9 * r)) - 300;
        return Math.round(
          12_000 * Math.exp(-((phase / 12) ** 2)) + 1500 * Math.exp(-(((phase - 220) / 60) ** 2)) + 2000 * Math.sin(i / 700) + 8 * noise(),
        );
      }),
    ],
  }));
}

function missing(name: string, folder: string): Recording[] {
  console.warn(`SKIPPED: no ${name} recordings in ${folder}`);
  return [];
}
