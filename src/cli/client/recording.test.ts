/** Checks what is said of files that are no recording. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openRecording } from './recording.ts';

it('a packed table of no dataset that is known is refused with what is known, not with a file of another dataset', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'recording-'));
  try {
    const file = join(folder, 'study_0009.csv.gz');
    await writeFile(file, '');
    await expect(openRecording(file)).rejects.toThrow(/study_0009\.csv\.gz: not a WFDB header, EDF, CSV \(unpacked\)/);
    await writeFile(join(folder, 'DATA_01.csv.gz'), '');
    await writeFile(join(folder, 'DATA_01.bpm.csv'), '');
    await expect(openRecording(join(folder, 'DATA_01.csv.gz'))).rejects.not.toThrow(/not a WFDB/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('a table whose columns are leads says which, in the code and as the lead', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'biosignal-leads-'));
  try {
    const path = join(folder, 'walk.csv');
    const rows = Array.from({ length: 9 }, (_, i) => `${1769846400000 + 4 * i},1,2,3`);
    await writeFile(path, ['time_ms,II [mV],aVR,PPG [1]', ...rows, ''].join('\n'));
    const { channels } = await openRecording(path);
    expect(channels.map(({ config: { code, kind, lead } }) => [code, kind, lead])).toEqual([
      ['ecg.ii', 'ecg', 'II'],
      ['ecg.avr', 'ecg', 'aVR'],
      ['ppg', 'ppg', ''],
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
