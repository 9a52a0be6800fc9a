import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { listBidmc, listE4, listSpc, readBidmc, readE4, readSpc } from './datasets.ts';

const dir = mkdtempSync(join(tmpdir(), 'bio-recordings-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const put = (name: string, text: string): void => writeFileSync(join(dir, name), name.endsWith('.gz') ? gzipSync(text) : text);

describe('recordings', () => {
  test('reads BIDMC columns by name, whatever their order; decimals as Number reads them', () => {
    put('bidmc_09_Signals.csv.gz', 'Time [s], PLETH, II\n0,0.43597,-0.7\r\n0.008,,1e-3\n');
    put('bidmc_09_Breaths.csv', 'breaths ann1 [signal sample no], breaths ann2 [signal sample no]\n189,187\n476,\n');
    expect(listBidmc(dir)).toEqual(['bidmc_09']);
    const recording = readBidmc(dir, 'bidmc_09');
    expect([...recording.signals.keys()]).toEqual(['PLETH', 'II']);
    expect([...recording.signals.get('PLETH')!]).toEqual([0.43597, Number.NaN]);
    expect([...recording.signals.get('II')!]).toEqual([-0.7, 1e-3]);
    expect(recording.breaths.map((column) => [...column])).toEqual([[189, 476], [187]]);
  });

  test('reads IEEE SPC with its true rates', () => {
    put('DATA_01_TYPE01.csv.gz', 'ecg,ppg1,ppg2,acc_x,acc_y,acc_z\n-269.5,-23,4,-0.0702,0.3432,0.9594\n');
    put('DATA_01_TYPE01.bpm.csv', 'bpm_8s_window_2s_step\n74.3392\n76.3575\n');
    expect(listSpc(dir)).toEqual(['DATA_01_TYPE01']);
    const { ecg, ppg, acc, bpm } = readSpc(dir, 'DATA_01_TYPE01');
    expect([ecg[0], ppg[1][0], acc[2][0]]).toEqual([-269.5, 4, 0.9594]);
    expect([...bpm]).toEqual([74.3392, 76.3575]);
  });

  test('reads an Empatica E4 folder: start and rate from the first two rows, acceleration in g', () => {
    mkdirSync(join(dir, 'S01'));
    for (const file of ['BVP', 'EDA', 'TEMP', 'HR']) put(`S01/${file}.csv.gz`, '1644226061.000000\n4.000000\n28.39\n28.41\n');
    put('S01/ACC.csv.gz', '1644226061.0, 1644226061.0, 1644226061.0\n32.0, 32.0, 32.0\n-2,43,64\n');
    put('S01/IBI.csv.gz', '1644226061.000000, IBI\n35.484375,0.890625\n');
    expect(listE4(dir)).toEqual(['S01']);
    const { temp, acc, ibi } = readE4(dir, 'S01');
    expect([temp.startUnixSec, temp.fs, ...temp.columns[0]!]).toEqual([1644226061, 4, 28.39, 28.41]);
    expect(acc.columns.map((axis) => axis[0])).toEqual([-2 / 64, 43 / 64, 1]);
    expect([ibi.timeSec[0], ibi.ibiSec[0]]).toEqual([35.484375, 0.890625]);
  });

  test('reads an Empatica folder of plain CSV without heart rate and IBI; names a sensor that is missing', () => {
    mkdirSync(join(dir, 'plain'));
    for (const file of ['BVP', 'EDA', 'TEMP']) put(`plain/${file}.csv`, '1644226061.000000\n4.000000\n28.39\n28.41\n');
    expect(() => readE4(dir, 'plain')).toThrow(/plain: an Empatica folder without ACC\.csv or ACC\.csv\.gz/);
    put('plain/ACC.csv', '1644226061.0, 1644226061.0, 1644226061.0\n32.0, 32.0, 32.0\n-2,43,64\n');
    expect(listE4(dir)).toContain('plain');
    const { bvp, hr, ibi } = readE4(dir, 'plain');
    expect([bvp.fs, hr, ibi.timeSec.length]).toEqual([4, null, 0]);
  });

  test('says which file has another layout; lists nothing where there is nothing', () => {
    put('bidmc_11_Signals.csv.gz', 'Time [s], II\n0,1\n');
    expect(() => readBidmc(dir, 'bidmc_11')).toThrow(/bidmc_11: no PLETH/);
    expect(listSpc(join(dir, 'absent'))).toEqual([]);
  });
});
