import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { staticFolder } from './static-files.ts';

const script = Array.from({ length: 3000 }, (_, i) => `export const beat${(i * i) % 97} = ${(i * 7919) % 1013};`).join('\n');

it('serves a file at once, and compressed as soon as that is done', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bio-static-'));
  await writeFile(join(folder, 'page.js'), script);
  const mount = staticFolder({ prefix: '/cdn/', folder, csp: "default-src 'none'", audience: 'cdn' });
  const ask = (coding: string) => mount.reply('/cdn/page.js', (name) => (name === 'accept-encoding' ? coding : ''))!;

  const first = ask('br');
  expect(first.headers?.['content-encoding']).toBeUndefined();
  expect(Buffer.from(first.bytes!).toString()).toBe(script);

  await mount.packed;
  expect(ask('br').headers).toMatchObject({ 'content-encoding': 'br', vary: 'accept-encoding' });
  expect(brotliDecompressSync(ask('br').bytes!).toString()).toBe(script);
  // As small as the sizes that the build reports.
  expect(ask('br').bytes!.length).toBe(brotliCompressSync(script).length);
  expect(gunzipSync(ask('gzip').bytes!).toString()).toBe(script);
  expect(ask('br').headers?.['etag']).toBe(first.headers?.['etag']);
  await rm(folder, { recursive: true });
});
