/** Heart rate in motion on the wrist of people who mostly sit (Stress Predict, Empatica E4: pulse 64 Hz, acceleration 32 Hz, no reference):
 *  how many rates are flagged 0, and how far they are from pulse rates flagged 0 of the same 8 s. No weight was fitted on these recordings;
 *  the rule for hands that hardly move was made after looking at S01, S03 and S05. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { streamRows } from './hrv-stream.ts';
import type { PhysicalChannel } from './hrv-stream.ts';
import type { Section } from './section.ts';

const lengthSec = 1200;

export function run(dataDir: string): Promise<Section | null> {
  const dir = join(dataDir, 'stress_predict');
  if (!existsSync(dir)) return Promise.resolve(null);
  const rows: string[][] = [
    ['subject', 'rates', 'flagged 0 / 1 / 2 %', 'flagged 0 next to a pulse rate flagged 0', 'of those more than 5 /min apart'],
  ];
  const json: Record<string, unknown> = {};
  for (const subject of readdirSync(dir).filter((name) => existsSync(join(dir, name, 'BVP.csv.gz')))) {
    const { features } = streamRows(channelsOf(join(dir, subject)));
    const pulse = new Map((features.get('hr_ppg') ?? []).filter(({ qmask }) => qmask === 0).map(({ tNs, value }) => [tNs, value]));
    const rates = features.get('hr_ppg_motion') ?? [];
    const good = rates.filter(({ qmask }) => qmask === 0);
    const compared = good.flatMap(({ tNs, value }) => (pulse.has(tNs) ? [Math.abs(value - pulse.get(tNs)!)] : []));
    const shares = [0, 1, 2].map((flag) => rates.filter(({ qmask }) => qmask === flag).length / rates.length);
    const apart = compared.filter((error) => error > 5).length;
    rows.push([
      subject,
      String(rates.length),
      shares.map((share) => (100 * share).toFixed(1)).join(' / '),
      String(compared.length),
      String(apart),
    ]);
    json[subject] = { rates: rates.length, flagShares: shares, compared: compared.length, apart };
  }
  return Promise.resolve({
    title: 'Heart rate in motion: wrists of people who sit, through the engine',
    rows,
    json,
    notes: [`Stress Predict, the first ${lengthSec / 60} minutes of each; no reference. Chosen on: in part (S01, S03, S05).`],
  });
}

/** The first two lines are start and rate. */
function columns(path: string, fs: number): number[][] {
  const lines = gunzipSync(readFileSync(path)).toString().trim().split('\n');
  return lines.slice(2, 2 + fs * lengthSec).map((line) => line.split(',').map(Number));
}

function channelsOf(dir: string): PhysicalChannel[] {
  const bvp = columns(join(dir, 'BVP.csv.gz'), 64);
  const acc = columns(join(dir, 'ACC.csv.gz'), 32);
  return [
    { code: 'ppg.0', kind: 'ppg', fs: 64, unit: '1', samples: Float64Array.from(bvp, ([x]) => x!) },
    // 64 counts per g
    ...['x', 'y', 'z'].map((axis, i): PhysicalChannel => ({
      code: `acc.${axis}`,
      kind: 'acc',
      fs: 32,
      unit: 'g',
      samples: Float64Array.from(acc, (row) => row[i]! / 64),
    })),
  ];
}
