/** The demo of `npm start`: an organization, a user, a simulated device that streams endlessly, and a session for the live page. The page's
 *  address carries this run's secret in its fragment; without it the demo endpoint answers 401 like any other. */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Type } from 'typebox';
import type { Auth } from './auth/auth.ts';
import { createApiKey, revokeApiKey } from './auth/api-keys.ts';
import { createSdkKey, listSdkKeys } from './auth/public-keys.ts';
import { resolveXuser } from './tenancy/xusers.ts';
import { createSimulatedDevice } from './cli/simulator/device.ts';
import { PipelineError } from './errors.ts';
import type { Logger } from './http/logger.ts';
import { defineRoute } from './http/route.ts';
import type { Route } from './http/route.ts';
import { SCHEMA_VERSION } from './proto/packet.ts';
import { encodePacket } from './proto/packet-encode.ts';
import { gridTimeNs } from './signal.ts';
import type { Database, Db } from './storage/database/database.ts';

const PACKET_MS = 100;
const TICK_MS = 50;
const RETRY_MS = 500;
const BATTERY_EVERY = 600; // packets

export type Demo = Readonly<{
  /** Secret of this run; the live page sends it as a bearer token. */
  secret: string;
  routes: readonly Route[];
  /** Starts the device. @param baseUrl http://127.0.0.1:port  @returns how to stop it */
  startDevice: (baseUrl: string) => Promise<() => Promise<void>>;
}>;

export type DemoProject = Readonly<{ orgId: string; projectId: string }>;

/** Prepares the demo for one project. */
export async function prepareDemo(database: Database, auth: Auth, project: DemoProject, logger: Logger): Promise<Demo> {
  const secret = randomBytes(24).toString('base64url');
  const { xuser } = await resolveXuser(database.pool, project.orgId, project.projectId, 'demo-patient');
  const subject = { orgId: project.orgId, projectId: project.projectId, subjectId: xuser.xuser_id };
  const route = defineRoute({
    method: 'POST',
    path: '/demo/session',
    operationId: 'createDemoSession',
    tag: 'Demo',
    summary: 'A user token for the demo patient',
    description: 'Only with BIO_DEMO; needs the secret that the service prints at start.',
    access: { public: true },
    responses: {
      200: {
        description: 'The session.',
        schema: Type.Object({ xuser_token: Type.String(), xuser_id: Type.String(), expires_in: Type.Integer(), sdk_key: Type.String() }),
      },
    },
    errors: ['credential_invalid'],
    handler: async (request) => {
      const given = Buffer.from(request.header('authorization').replace(/^Bearer /, ''));
      const expected = Buffer.from(secret);
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
        throw new PipelineError('credential_invalid', 'Open the address that the service printed at this start.');
      }
      const [{ token }, sdkKey] = await Promise.all([auth.mint(subject), workingSdkKey(database.pool, project.projectId)]);
      return { status: 200, json: { xuser_token: token, xuser_id: subject.subjectId, expires_in: 3600, sdk_key: sdkKey } };
    },
  });
  return { secret, routes: [route], startDevice: (baseUrl) => startDevice(baseUrl, database, project, subject.subjectId, logger) };
}

/** Finds a working SDK key of the project, or makes one when all were revoked or are about to end, so that the page keeps working. */
async function workingSdkKey(db: Db, projectId: string): Promise<string> {
  const key = (await listSdkKeys(db, projectId)).find((item) => item.revoked_at === null && item.expires_at === null);
  return (key ?? (await createSdkKey(db, projectId, 'demo'))).sdk_key;
}

/** Streams the simulated device over HTTP, as any device would; its key lives as long as this run. */
async function startDevice(
  baseUrl: string,
  database: Database,
  project: DemoProject,
  subjectId: string,
  logger: Logger,
): Promise<() => Promise<void>> {
  const { key, record } = await createApiKey(database.pool, {
    orgId: project.orgId,
    projectId: project.projectId,
    name: 'demo device (this run)',
    scopes: ['ingest'],
  });
  const device = createSimulatedDevice({ seed: 20_260_101, heartRateBpm: 64, pvcPercent: 0.5 });
  const bootId = randomBytes(16).toString('hex');
  const startedMs = performance.now();
  const unixAtZero = BigInt(Date.now()) * 1_000_000n;
  let seq = 0;
  let stopped = false;
  let refused = 0;

  const next = (): Uint8Array => {
    const span = device.next(PACKET_MS);
    const packet = encodePacket({
      schemaVersion: SCHEMA_VERSION,
      deviceId: 'demo-patch',
      bootId,
      seq,
      subject: subjectId,
      t0DeviceNs: span.t0DeviceNs,
      t0UnixNs: unixAtZero + span.t0DeviceNs,
      sentUnixNs: BigInt(Date.now()) * 1_000_000n,
      firmware: 'simulator-1',
      blocks: span.runs.map((run) => {
        const channel = device.channels[run.channelNo]!;
        const tOffsetNs = Number(gridTimeNs(run.k0, channel.rateNanoHz) - span.t0DeviceNs);
        return { channel, tOffsetNs, samples: run.samples, qmask: run.qmask };
      }),
      // Once a minute; from full to empty in a day and a half, then full again.
      measurements:
        seq % BATTERY_EVERY === 0
          ? [{ code: 'battery', tOffsetNs: 0, value: 100 - ((seq / BATTERY_EVERY / 20) % 100), unit: '%', quality: 0 }]
          : [],
      events: [],
    });
    seq += 1;
    return packet;
  };

  const loop = async (): Promise<void> => {
    let waiting: Uint8Array | null = null;
    while (!stopped) {
      const dueMs = startedMs + (seq + 1) * PACKET_MS - performance.now();
      if (waiting === null && dueMs > 0) {
        await sleep(Math.min(dueMs, TICK_MS));
        continue;
      }
      waiting ??= next();
      const sent = await fetch(`${baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf' },
        body: waiting as Uint8Array<ArrayBuffer>,
        signal: AbortSignal.timeout(5000),
      }).catch(() => null);
      if (sent !== null) await sent.arrayBuffer().catch(() => null);
      if (sent !== null && sent.status !== refused) {
        refused = sent.status;
        if (refused >= 400 && refused < 500) logger.warn({ status: refused }, 'demo: the device is refused; a restart gives it a new key');
      }
      if (sent?.status === 202) waiting = null;
      else if (!stopped) await sleep(RETRY_MS);
    }
  };
  // job: demo-device: the simulated device of npm start
  const running = loop().catch((error: unknown) => logger.error({ err: error }, 'demo: the simulated device stopped'));
  return async () => {
    stopped = true;
    await running;
    await revokeApiKey(database.pool, project.orgId, record.id).catch(() => undefined);
  };
}
