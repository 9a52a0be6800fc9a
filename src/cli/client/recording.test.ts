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
