import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { staticFolder } from './static-files.ts';

const script = `console.log(${JSON.stringify('heart '.repeat(2000))});`;

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
  expect(gunzipSync(ask('gzip').bytes!).toString()).toBe(script);
  expect(ask('br').headers?.['etag']).toBe(first.headers?.['etag']);
  await rm(folder, { recursive: true });
});
