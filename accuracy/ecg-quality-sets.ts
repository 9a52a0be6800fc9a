/** Test sets of ECG quality: the recordings, the noise added to them, and what counts as wrong. */
import { addNoise, loadMitdb, loadQtdb } from './mitdb-recordings.ts';
import type { EcgRecording } from './mitdb-recordings.ts';
import type { ChosenOn } from './section.ts';

export const wrongF1 = 90;
export const firstSec = 12;
export const noiseFromSec = 310;
export const snrs = [12, 6, 0];

export type EcgSet = Readonly<{ database: string; chosenOn: ChosenOn; recordings: readonly EcgRecording[] }>;

export async function ecgSets(dataDir: string): Promise<EcgSet[]> {
  const sets: EcgSet[] = [
    { database: 'mitdb', chosenOn: 'yes', recordings: await loadMitdb(dataDir) },
    { database: 'qtdb', chosenOn: 'no', recordings: await loadQtdb(dataDir) },
  ];
  return sets.filter(({ recordings }) => recordings.length > 0);
}

/** One half of the noise for every other recording, as in the fit. */
export function noisy(recording: EcgRecording, noise: Float64Array, index: number, snrDb: number): Float64Array {
  const middle = noise.length >> 1;
  return addNoise(recording, 0, index % 2 === 0 ? noise.subarray(0, middle) : noise.subarray(middle), snrDb);
}
