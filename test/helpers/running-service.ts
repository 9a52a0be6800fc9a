/** The whole service on a database of its own, with an organization, for tests that follow data from a device to an answer. Every answer of
 *  REST that goes through `send` is held against the route table's description by the service's own /api-docs. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { testDatabase } from './database.ts';
import { patientFetch } from './patient-fetch.ts';
import type { TestDatabase } from './database.ts';

const ATTEMPTS = 20;
const AGAIN_MS = 100;

export type Answer<T = Record<string, never>> = Readonly<{ status: number; body: T; text: string; headers: Headers }>;

export type RunningService = Readonly<{
  service: Service;
  database: TestDatabase;
  org: NewOrganization;
  /** Sends a request with a credential (default: the organization's key with every scope). */
  send: <T = Record<string, unknown>>(method: string, path: string, options?: SendOptions) => Promise<Answer<T>>;
  token: (externalId: string) => Promise<{ xuser_token: string; xuser_id: string }>;
  /** Sends one packet over HTTP. */
  ingest: (packet: Parameters<typeof encodePacket>[0], as?: string) => Promise<Answer<{ rejected: { code: string }[]; code?: string }>>;
  /** The same as a device does it: sent again where the answer says so, as after any change of consent. Answers the last status. */
  deliver: (packet: Parameters<typeof encodePacket>[0]) => Promise<number>;
  /** Opens /ws for a subject, at the service or through a proxy before it. */
  watch: (subject: string, as: string, baseUrl?: string) => Promise<Watched>;
  /** Warnings and errors of the log. */
  faults: readonly string[];
  close: () => Promise<void>;
}>;
export type SendOptions = Readonly<{ as?: string; body?: unknown; headers?: Readonly<Record<string, string>> }>;
export type Watched = Readonly<{ socket: WebSocket; frames: () => number; closed: () => CloseEvent | null; ready: () => boolean }>;

/** @param serverUrl another database server than the run's */
export async function runService(env: Readonly<Record<string, string>> = {}, serverUrl?: string): Promise<RunningService> {
  const database = await testDatabase({}, serverUrl);
  const faults: string[] = [];
  const note = (fields: object, message: string): void => void faults.push(`${message} ${String((fields as { err?: Error }).err?.stack)}`);
  const quiet = (): void => undefined;
  const service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_REQUESTS_PER_SEC_MAX: '10000', BIO_STOP_TIMEOUT_MS: '60000', ...env }),
    logger: { debug: quiet, info: quiet, warn: note, error: note },
  });
  const org = await createOrganization(database.pool, 'Test');
  const send: RunningService['send'] = async (method, path, { as = org.apiKey.key, body, headers } = {}) => {
    const bytes = body instanceof Uint8Array;
    const response = await patientFetch(service.baseUrl + path, {
      method,
      headers: {
        ...(as === '' ? {} : { authorization: `Bearer ${as}` }),
        ...(body === undefined ? {} : { 'content-type': bytes ? 'application/x-protobuf' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: bytes ? Buffer.from(body) : JSON.stringify(body) }),
    });
    const text = await response.text();
    const json = /[/+]json/.test(response.headers.get('content-type') ?? '') && text !== '';
    return { status: response.status, body: (json ? JSON.parse(text) : {}) as never, text, headers: response.headers };
  };
  const ingest: RunningService['ingest'] = (packet, as) =>
    send('POST', '/ingest/raw-packet', { body: encodePacket(packet), ...(as === undefined ? {} : { as }) });
  return {
    service,
    database,
    org,
    send,
    faults,
    token: async (externalId) => {
      const made = await send<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', {
        body: { external_id: externalId, project_key: org.projectKey },
      });
      expect(made.status, made.text).toBe(200);
      return made.body;
    },
    ingest,
    deliver: async (packet) => {
      for (let attempt = 1; ; attempt++) {
        const { status } = await ingest(packet);
        if (status !== 503 || attempt === ATTEMPTS) return status;
        await sleep(AGAIN_MS);
      }
    },
    watch: (subject, as, baseUrl = service.baseUrl) => watch(baseUrl, subject, as),
    close: async () => {
      await service.stop();
      await database.close();
    },
  };
}

async function watch(baseUrl: string, subject: string, as: string): Promise<Watched> {
  const address = `${baseUrl.replace('http', 'ws')}/ws?subject=${encodeURIComponent(subject)}`;
  const socket = new WebSocket(address, ['bio.v1', `bio.bearer.${Buffer.from(as).toString('base64url')}`]);
  let frames = 0;
  let ready = false;
  let closed: CloseEvent | null = null;
  socket.addEventListener('message', ({ data }) => {
    if (typeof data !== 'string') frames += 1;
    else if ((JSON.parse(data) as { type: string }).type === 'ready') ready = true;
  });
  socket.addEventListener('close', (event) => void (closed = event));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('the socket was refused')));
  });
  return { socket, frames: () => frames, closed: () => closed, ready: () => ready };
}
