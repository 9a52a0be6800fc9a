/** Messages of a device or a page to a running service without any patience: one try, the bytes of the wire, sockets that can be paused. */
import { createRequire } from 'node:module';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { createApiKey } from '../../src/auth/api-keys.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import type { LiveFrame } from '../../src/proto/frame-codec.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { until } from './database.ts';
import type { RunningService } from './running-service.ts';

/** A socket of ws: it can be paused, as a reader that is busy. */
type Pausable = Readonly<{
  readyState: number;
  on: ((event: 'message', listener: (data: Buffer, isBinary: boolean) => void) => void) &
    ((event: 'close', listener: (code: number) => void) => void) &
    ((event: 'error', listener: () => void) => void);
  send: (data: string | Uint8Array) => void;
  pause: () => void;
  resume: () => void;
  close: () => void;
}>;
const { WebSocket: PausableSocket } = createRequire(import.meta.url)('ws') as {
  WebSocket: new (address: string, protocols: readonly string[]) => Pausable;
};

export const delimited = { 'content-type': 'application/x-protobuf; encoding=delimited' };

let devices = 0;
type Plan = Readonly<{ channels: number; fs: number; ms: number; count: number }>;

/** Packets of a device of its own that end now. @param kind 'other': nothing is computed of them */
export function packets(plan: Plan, changes: Partial<Packet> = {}, kind?: 'other'): Packet[] {
  const startNs = BigInt(Date.now() - plan.ms * plan.count) * 1_000_000n;
  return ecgPacket({ ...plan, deviceId: `set-${++devices}` }).map((packet) => {
    const t0UnixNs = startNs + packet.t0DeviceNs;
    const blocks = packet.blocks.map((block, i) =>
      kind === undefined
        ? block
        : { ...block, channel: { ...block.channel, code: `other.c${i}`, kind }, samples: Int32Array.from(block.samples, (x) => x & 1) },
    );
    return { ...packet, blocks, subject: 'set', t0UnixNs, sentUnixNs: t0UnixNs + BigInt(plan.ms) * 1_000_000n, ...changes };
  });
}

export const keyFor = async (running: RunningService): Promise<string> =>
  (await createApiKey(running.database.pool, { orgId: running.org.orgId, name: 'k', scopes: ['read', 'write', 'ingest'] })).key;

/** One try: the helpers of other tests wait and try again. */
export async function post(running: RunningService, body: Uint8Array, headers: Record<string, string> = {}, as = running.org.apiKey.key) {
  const response = await fetch(`${running.service.baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/x-protobuf', ...headers },
    body: Buffer.from(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    code: (JSON.parse(text) as { code?: string }).code,
    text,
    retryAfter: response.headers.get('retry-after'),
  };
}

export const batch = (all: readonly Packet[]): Uint8Array => encodeBatch(all.map((packet) => encodePacket(packet)));

type Told = { type: string; code?: string };
export async function open(running: RunningService, path: string, as = running.org.apiKey.key) {
  const bearer = `bio.bearer.${Buffer.from(as).toString('base64url')}`;
  const socket = new PausableSocket(running.service.baseUrl.replace('http', 'ws') + path, ['bio.v1', bearer]);
  const [texts, frames]: [Told[], LiveFrame[]] = [[], []];
  let code = 0;
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) texts.push(JSON.parse(data.toString()) as Told);
    else if (path.startsWith('/ws')) frames.push(decodeFrame(new Uint8Array(data)));
  });
  socket.on('close', (closed) => (code = closed));
  socket.on('error', () => undefined);
  await until(() => socket.readyState === WebSocket.OPEN);
  return { socket, texts, frames, code: () => code };
}
