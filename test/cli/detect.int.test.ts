/** `biosignal detect` writes next to a record, where the reference annotations of a database lie; the waves of each beat, too. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { detect } from '../../src/cli/detect.ts';
import { ecgShapes, makeEcg, makeRhythm } from '../../src/dsp/testing/ecg-fixture.ts';
import { readAnnotations } from '../../src/formats/wfdb-annotations.ts';
import { writeRecord } from '../../src/formats/wfdb-write.ts';
import { ran } from '../helpers/commands.ts';

test('annotations that are there already are replaced with --force alone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bio-detect-'));
  try {
    const beats = Int16Array.from({ length: 2500 }, (_, i) => Math.round(240 * Math.exp(-(((i % 200) - 100) ** 2) / 12) + 3 * Math.sin(i)));
    await writeFile(join(folder, 'r.hea'), 'r 1 250 2500\nr.dat 16 200 16 0 0 0 0 II\n');
    await writeFile(join(folder, 'r.dat'), new Uint8Array(beats.buffer));
    await writeFile(join(folder, 'r.atr'), 'of a cardiologist');
    const run = (...args: string[]) => ran(detect, [join(folder, 'r.hea'), ...args], { env: {}, cwd: folder });
    const refused = await run('--annotator', 'atr');
    expect([refused.code, refused.err.join()]).toEqual([2, expect.stringMatching(/r\.atr is there already: .* --force/)]);
    expect(await readFile(join(folder, 'r.atr'), 'utf8')).toBe('of a cardiologist');
    expect((await run()).code).toBe(0);
    expect((await run()).code).toBe(2);
    expect((await run('--force')).code).toBe(0);
    expect((await readFile(join(folder, 'r.bio'))).length).toBeGreaterThan(10);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a record that cannot be read does not stop the others, and is named', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bio-detect-'));
  try {
    const beats = Int16Array.from({ length: 2500 }, (_, i) => Math.round(240 * Math.exp(-(((i % 200) - 100) ** 2) / 12) + 3 * Math.sin(i)));
    await writeFile(join(folder, 'bad.hea'), 'no header at all\n');
    await writeFile(join(folder, 'good.hea'), 'good 1 250 2500\ngood.dat 16 200 16 0 0 0 0 II\n');
    await writeFile(join(folder, 'good.dat'), new Uint8Array(beats.buffer));
    const paths = ['bad', 'none', 'good'].map((name) => join(folder, `${name}.hea`));
    const several = await ran(detect, paths, { env: {}, cwd: folder });
    expect(several.code).toBe(1);
    expect(several.err.join('\n')).toMatch(/bad\.hea: .*\n.*none\.hea: /);
    expect(several.out.join('\n')).toMatch(/good\.bio: \d+ beats/);
    expect((await readFile(join(folder, 'good.bio'))).length).toBeGreaterThan(10);
  } finally {
    await rm(folder, { recursive: true });
  }
});

// promise: waves-of-each-beat
test('--waves marks where P, QRS and T of each beat begin, peak and end, in the order of time', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bio-detect-'));
  try {
    const fs = 250;
    const seconds = 60;
    const { beats, pWaves } = makeRhythm(seconds, 70, () => true, 1);
    const ecg = makeEcg({ fs, seconds, shape: ecgShapes.usual, beats, pWaves, noiseMv: 0.002, seed: 3 });
    const samples = Int32Array.from(ecg, (mv) => Math.round(1000 * mv));
    await writeRecord(folder, { name: 'r', fs, leads: [{ name: 'II', gain: 1000, baseline: 0, unit: 'mV', samples }] });
    expect((await ran(detect, [join(folder, 'r.hea'), '--waves'], { env: {}, cwd: folder })).code).toBe(0);
    const marks = await readAnnotations(join(folder, 'r.bio'));
    const near = (sec: number, code: string, number: number): number =>
      Math.min(...marks.filter((m) => m.code === code && m.number === number).map((m) => Math.abs(m.sample / fs - sec)));
    const whole = beats.slice(2, -2);
    expect(whole.length).toBeGreaterThan(60);
    for (const [i, beat] of whole.entries()) {
      const p = pWaves[i + 2]!;
      // bells: P of 22 ms, QRS of about 9 ms from 25 ms before to 27 ms after R, T of 50 ms at 0.28 s
      for (const [sec, code, number, within] of [
        [p - 0.055, '(', 0, 0.02],
        [p, 'p', 0, 0.01],
        [p + 0.055, ')', 0, 0.02],
        [beat - 0.045, '(', 1, 0.015],
        [beat, 'N', 0, 0.008],
        [beat + 0.05, ')', 1, 0.02],
        [beat + 0.16, '(', 2, 0.04],
        [beat + 0.28, 't', 2, 0.01],
        [beat + 0.4, ')', 2, 0.04],
      ] as const)
        expect(near(sec, code, number), `${code} of wave ${number} at ${sec} s`).toBeLessThan(within);
    }
    expect(marks.map(({ sample }) => sample)).toEqual(marks.map(({ sample }) => sample).toSorted((a, b) => a - b));
    const open = marks.filter(({ code }) => code === '(').length;
    expect(open).toBe(marks.filter(({ code }) => code === ')').length);
  } finally {
    await rm(folder, { recursive: true });
  }
});
