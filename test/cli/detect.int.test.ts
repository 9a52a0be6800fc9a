/** `biosignal detect` writes next to a record, where the reference annotations of a database lie. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { detect } from '../../src/cli/detect.ts';
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
