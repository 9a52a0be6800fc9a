/** Protection of secrets outside requests: signing keys sealed in the table, native TLS, and plain HTTP refused where others listen. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KeySealer } from '../../src/auth/key-sealer.ts';
import { SigningKeys } from '../../src/auth/signing-keys.ts';
import { readConfig } from '../../src/config.ts';
import type { Caller } from '../../src/caller.ts';
import { startHttp } from '../../src/http/server.ts';
import { serviceRoutes } from '../../src/http/service-routes.ts';
import { testDatabase } from '../helpers/database.ts';

const secret = (fill: number): Uint8Array => Buffer.alloc(32, fill);

describe('signing keys at rest', () => {
  // promise: sealed
  it('are sealed in the table, open with the secret only, and sign as before', async () => {
    await using database = await testDatabase();
    const { pool } = database;
    const stored = async (): Promise<string[]> =>
      (await pool.query<{ private_pem: string }>('select private_pem from signing_key order by created_at')).rows.map(
        (row) => row.private_pem,
      );
    const keys = new SigningKeys(pool, secret(1));
    await keys.start();
    expect((await stored()).every((text) => text.startsWith('sealed.v1.') && !text.includes('PRIVATE KEY'))).toBe(true);
    const { kid } = await keys.signer();
    await keys.rotate();
    expect((await stored()).every((text) => text.startsWith('sealed.v1.'))).toBe(true);

    const again = new SigningKeys(pool, secret(1));
    await again.start();
    expect((await again.signer()).kid).toBe(kid);

    // Another secret: keys that it cannot open still verify, and a new key signs.
    const other = new SigningKeys(pool, secret(2));
    await other.start();
    expect((await other.signer()).kid).not.toBe(kid);
    expect(await other.verifier(kid)).not.toBeNull();
    expect((await other.jwks()).keys.map((key) => key['kid'])).toContain(kid);
  });

  it('of an older release, stored as they were, are sealed at the next start', async () => {
    await using database = await testDatabase();
    const { pool } = database;
    const first = new SigningKeys(pool, secret(1));
    await first.start();
    const { kid, key } = await first.signer();
    await pool.query('update signing_key set private_pem = $1', [key.export({ type: 'pkcs8', format: 'pem' })]);
    const next = new SigningKeys(pool, secret(1));
    await next.start();
    expect((await next.signer()).kid).toBe(kid);
    const { rows } = await pool.query<{ private_pem: string }>('select private_pem from signing_key');
    expect(rows[0]?.private_pem).toMatch(/^sealed\.v1\./);
  });

  it('do not open for another id, when changed, or cut', () => {
    const sealer = new KeySealer(secret(1));
    const sealed = sealer.seal('pem', 'a');
    expect(sealer.open(sealed, 'a')).toBe('pem');
    expect(sealer.open(sealed, 'b')).toBeNull();
    expect(sealer.open(`${sealed.slice(0, -2)}AA`, 'a')).toBeNull();
    expect(sealer.open(sealed.slice(0, 20), 'a')).toBeNull();
    expect(() => new KeySealer(Buffer.alloc(16))).toThrow(RangeError);
    expect(() => readConfig({ BIO_SECRET: 'short' })).toThrow('BIO_SECRET must be 32 characters or more');
  });
});

const silent = (): void => undefined;
const logger = { debug: silent, info: silent, warn: silent, error: silent };
const anonymous: Caller = { kind: 'anonymous' };
const routes = serviceRoutes({ version: '0', node: 'one', parts: async () => [], metrics: async () => '', metricsToken: '' });
const serve = (env: Readonly<Record<string, string>>) =>
  startHttp({ config: readConfig({ PORT: '0', ...env }), routes, authenticate: () => anonymous, logger });

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) console.warn('SKIPPED: no openssl: TLS of the service is not tested');

describe.skipIf(!hasOpenssl)('TLS', () => {
  let folder = '';
  const file = (name: string): string => join(folder, name);
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bio-tls-'));
    const args = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost';
    execFileSync(
      'openssl',
      [...args.split(' '), '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', file('key.pem'), '-out', file('cert.pem')],
      {
        stdio: 'ignore',
      },
    );
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  // promise: hsts
  it('is spoken natively, with HSTS, by TLS 1.2 or newer; plain HTTP on the same port gets nothing', async () => {
    const http = await serve({ BIO_TLS_CERT: file('cert.pem'), BIO_TLS_KEY: file('key.pem') });
    try {
      const ca = readFileSync(file('cert.pem'));
      const answer = await new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: string; protocol: string | null }>(
        (resolve, reject) => {
          const sent = request({ host: 'localhost', port: http.port, path: '/healthz', ca }, (response) => {
            let body = '';
            response.on('data', (chunk: Buffer) => (body += chunk.toString()));
            const { statusCode = 0, headers } = response;
            const protocol = (response.socket as TLSSocket).getProtocol();
            response.on('end', () => resolve({ status: statusCode, headers, body, protocol }));
          });
          sent.on('error', reject);
          sent.end();
        },
      );
      expect(answer).toMatchObject({ status: 200, body: '{"status":"ok","version":"0"}' });
      expect(answer.headers['strict-transport-security']).toBe('max-age=31536000; includeSubDomains');
      expect(['TLSv1.2', 'TLSv1.3']).toContain(answer.protocol);
      await expect(
        new Promise((resolve, reject) => {
          const socket = connect({ host: '127.0.0.1', port: http.port, ca, maxVersion: 'TLSv1.1', minVersion: 'TLSv1' }, () =>
            resolve('spoken'),
          );
          socket.on('error', reject);
        }),
      ).rejects.toThrow();
      await expect(fetch(`http://127.0.0.1:${http.port}/healthz`)).rejects.toThrow();
    } finally {
      await http.stop();
    }
  });
});

describe('plain HTTP', () => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((item) => item?.family === 'IPv4' && !item.internal)?.address;
  const code = async (response: Response): Promise<string> => ((await response.json()) as { code: string }).code;

  // promise: plain-http
  it('is refused beyond loopback, on every path, and without HSTS', async () => {
    if (outside === undefined) {
      console.warn('SKIPPED: this machine has no address besides loopback');
      return;
    }
    const http = await serve({ BIO_HOST: '0.0.0.0' });
    try {
      for (const path of ['/healthz', '/api/v1/bootstrap', '/nowhere']) {
        const response = await fetch(`http://${outside}:${http.port}${path}`);
        expect(response.status).toBe(403);
        expect(await code(response)).toBe('https_required');
      }
      // Any client can send the header; only a listed proxy is trusted.
      const claimed = await fetch(`http://${outside}:${http.port}/healthz`, { headers: { 'x-forwarded-proto': 'https' } });
      expect(await code(claimed)).toBe('https_required');
      const local = await fetch(`http://127.0.0.1:${http.port}/healthz`);
      expect(local.status).toBe(200);
      expect(local.headers.get('strict-transport-security')).toBeNull();
    } finally {
      await http.stop();
    }
  });

  // promise: hsts, proxy-https
  // setting: BIO_TRUST_PROXY
  it('from a trusted proxy counts as what the proxy received', async () => {
    const http = await serve({ BIO_TRUST_PROXY: '127.0.0.1' });
    try {
      const ask = (headers: Record<string, string>): Promise<Response> => fetch(`http://127.0.0.1:${http.port}/healthz`, { headers });
      const secure = await ask({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '198.51.100.7' });
      expect(secure.status).toBe(200);
      expect(secure.headers.get('strict-transport-security')).toMatch(/max-age=31536000/);
      expect(await code(await ask({ 'x-forwarded-proto': 'http', 'x-forwarded-for': '198.51.100.7' }))).toBe('https_required');
      expect(await code(await ask({ 'x-forwarded-for': '198.51.100.7' }))).toBe('https_required');
      // A list comes from two proxies in a row, or from a client that wants us to choose.
      expect(await code(await ask({ 'x-forwarded-proto': 'https, http', 'x-forwarded-for': '198.51.100.7' }))).toBe('https_required');
    } finally {
      await http.stop();
    }
  });
});
