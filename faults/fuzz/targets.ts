/** Every decoder that meets the outside: how it is called, and valid inputs to start from. A target answers 'accepted' or 'refused';
 *  anything thrown that is not its clean error is a finding. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { generateKeyPair, SignJWT } from 'jose';
import { Type } from 'typebox';
import { makeOrgKey, parseKey } from '../../src/key-format.ts';
import type { SigningKeys } from '../../src/auth/signing-keys.ts';
import { verifyUserToken } from '../../src/auth/user-tokens.ts';
import { createSimulatedDevice } from '../../src/cli/simulator/device.ts';
import { createPacketSource } from '../../src/cli/simulator/packets.ts';
import { isRejected, PipelineError } from '../../src/errors.ts';
import { parseCsv } from '../../src/formats/csv.ts';
import { parseEdf } from '../../src/formats/edf-read.ts';
import { writeEdf } from '../../src/formats/edf-write.ts';
import { encodeAnnotations, parseAnnotations } from '../../src/formats/wfdb-annotations.ts';
import { parseHeader } from '../../src/formats/wfdb-header.ts';
import { decodeBody } from '../../src/http/body.ts';
import { Cursors } from '../../src/http/cursor.ts';
import type { PeerSocket, RequestContext } from '../../src/http/route.ts';
import { compileCheck, compileQuery, readJson } from '../../src/http/validate.ts';
import { Hub } from '../../src/live/hub.ts';
import { liveSocketRoute } from '../../src/live/live-socket.ts';
import { decodeFrame, encodeFrame } from '../../src/proto/frame-codec.ts';
import { defaultPacketLimits } from '../../src/proto/packet.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { decodePacket, splitBatch } from '../../src/proto/packet-decode.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { decodeReply, encodeReply } from '../../src/proto/reply-codec.ts';
import { WireFault } from '../../src/proto/wire-reader.ts';
import { decodeBlock, encodeBlock } from '../../src/storage/block-codec.ts';
import { refusedCharacter } from '../../src/text.ts';

export type Outcome = 'accepted' | 'refused';
export type Target = Readonly<{
  name: string;
  seeds: readonly Uint8Array[];
  run: (bytes: Uint8Array) => Outcome | Promise<Outcome>;
  /** Of all mutations of a run, how many go here. */
  share: number;
}>;

const corpusFolder = join(import.meta.dirname, 'corpus');
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const utf8 = (value: string): Uint8Array => new TextEncoder().encode(value);

/** Inputs kept because they once found something, or reach far. */
function corpusOf(name: string): Uint8Array[] {
  try {
    return readdirSync(join(corpusFolder, name))
      .sort()
      .map((file) => new Uint8Array(readFileSync(join(corpusFolder, name, file))));
  } catch {
    return [];
  }
}

/** A value with a code, or an error of ours, is clean. */
function outcomeOf(run: () => object | null): Outcome {
  try {
    const value = run();
    return value === null || isRejected(value) ? 'refused' : 'accepted';
  } catch (error) {
    if (error instanceof PipelineError && error.code !== 'internal') return 'refused';
    if (error instanceof WireFault) return 'refused';
    throw error;
  }
}

const made = (name: string, share: number, seeds: readonly Uint8Array[], run: (bytes: Uint8Array) => object | null): Target => ({
  name,
  share,
  seeds: [...seeds, ...corpusOf(name)],
  run: (bytes) => outcomeOf(() => run(bytes)),
});

function samplePackets(): Packet[] {
  const device = createSimulatedDevice({ seed: 3 });
  const next = createPacketSource(device, {
    deviceId: 'strap-7',
    bootId: '00112233445566778899aabbccddeeff',
    subject: 'person',
    startUnixNs: 1_790_000_000_000_000_000n,
    packetMs: 60,
  });
  const first = next().packet;
  const items = {
    measurements: [{ code: 'steps', tOffsetNs: 5, value: 12, unit: '1', quality: 1 as const }],
    events: [{ code: 'button', tOffsetNs: 7, text: 'pressed' }],
  };
  const flagged = first.blocks.map((block) => ({ ...block, qmask: Uint8Array.from(block.samples, (_, i) => i % 3) }));
  return [first, { ...next().packet, ...items }, { ...first, blocks: flagged }, { ...first, ...items, blocks: [] }];
}

/** Whatever is accepted must be text that PostgreSQL stores as it is. */
function storable<T extends object>(value: T): T {
  const bad = isRejected(value) ? null : badTextIn(value);
  if (bad !== null) throw new Error(`accepted text that holds ${bad}`);
  return value;
}

function badTextIn(value: unknown): string | null {
  if (typeof value === 'string') return refusedCharacter(value, 'text');
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return null;
  for (const member of Object.values(value)) {
    const bad = badTextIn(member);
    if (bad !== null) return bad;
  }
  return null;
}

const emptyFloats = new Float32Array(0);

const noteSchema = Type.Object(
  {
    title: Type.String({ maxLength: 40 }),
    at: Type.Optional(Type.String({ format: 'date-time' })),
    tags: Type.Array(Type.String(), { maxItems: 4 }),
    value: Type.Union([Type.Number(), Type.Null()]),
  },
  { additionalProperties: false },
);

export async function makeTargets(): Promise<Target[]> {
  const packets = samplePackets().map((packet) => encodePacket(packet));
  const small = samplePackets().map((packet) => encodePacket({ ...packet, blocks: packet.blocks.slice(0, 2) }, 'int24'));
  const checkNote = compileCheck(noteSchema);
  const readQuery = compileQuery({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
    from: Type.Optional(Type.String({ format: 'date-time' })),
    channels: Type.Optional(Type.Array(Type.String())),
  });
  const cursors = new Cursors(new Uint8Array(32).fill(7));
  const ints = Int32Array.from({ length: 80 }, (_, i) => Math.round(900 * Math.sin(i / 3)));
  const edf = writeEdf({
    startUnixNs: 1_790_000_000_000_000_000n,
    signals: [{ label: 'ECG II', unit: 'mV', rateNanoHz: 40e9, gain: 200, baseline: 0, samples: ints }],
    annotations: [{ onsetSec: 1, durationSec: 0, text: 'note' }],
    missing: -2_147_483_648,
  });
  const frame = encodeFrame({
    subject: 'person',
    seq: 3,
    t0Ns: 1_790_000_000_000_000_000n,
    durationMs: 100,
    ecg: Float32Array.from(ints),
    ppg: emptyFloats,
    eda: emptyFloats,
    temp: emptyFloats,
    droppedFrames: 1,
    lagMs: 4,
    replayed: false,
    incomplete: true,
    channels: [
      {
        code: 'ecg.ii',
        kind: 'ecg',
        unit: 'mV',
        rateNanoHz: 250e9,
        tOffsetNs: -5,
        primary: true,
        samples: Float32Array.from(ints),
        qmask: null,
        lead: 'II',
        source: 1,
      },
    ],
    features: [{ name: 'hr', tsNs: 5n, value: 60, qmask: 1 }],
  });
  return [
    await tokenTarget(), // first: its seed is good for half an hour
    made('packet', 100, [...packets, ...small], (bytes) => storable(decodePacket(bytes, defaultPacketLimits))),
    made('batch', 3, [encodeBatch(packets)], (bytes) => splitBatch(bytes, defaultPacketLimits.packetBytesMax, 16_384)),
    made(
      'reply',
      2,
      [
        encodeReply({
          accepted: 3,
          duplicates: 1,
          unverified: 1,
          rejected: [{ index: 1, code: 'busy', detail: 'x' }],
          highSeq: 9,
          serverTimeNs: 5n,
          settled: 4,
          notices: ['x'],
          nodeUrl: 'https://x',
          window: 256,
        }),
      ],
      decodeReply,
    ),
    made('frame', 2, [frame], decodeFrame),
    made(
      'codec-row',
      5,
      [
        encodeBlock([{ k0: 250, samples: ints, qmask: null }]),
        encodeBlock([{ k0: 0, samples: Float32Array.from(ints), qmask: Uint8Array.from(ints, (_, i) => i % 3) }]),
      ],
      decodeBlock,
    ),
    made(
      'wfdb-header',
      2,
      [utf8('100 2 360 650000 12:00:00\n100.dat 212 200 11 1024 995 -22131 0 MLII\n100.dat 212 200 11 1024 1011 20052 0 V5\n# 69 M\n')],
      (bytes) => parseHeader(text(bytes)),
    ),
    made(
      'wfdb-annotations',
      2,
      [
        encodeAnnotations([
          { sample: 100, code: 'N' },
          { sample: 5000, code: '+', aux: '(N' },
        ]),
      ],
      parseAnnotations,
    ),
    made('edf', 2, [edf.bytes], parseEdf),
    made('csv', 2, [utf8('time_s,ecg.ii,ppg\n0,1.5,2\n0.004,1.6,\n0.008,1.7,3\n')], (bytes) =>
      parseCsv(text(bytes), { rateNanoHz: 250e9, missing: -2_147_483_648 }),
    ),
    made('json', 5, [utf8('{"title":"x","tags":["a","b"],"value":1.5e3,"at":"2026-01-01T00:00:00Z"}')], (bytes) =>
      storable(readJson(bytes, checkNote) as object),
    ),
    made('query', 2, [utf8('limit=10&from=2026-01-01T00%3A00%3A00Z&channels=a&channels=b')], (bytes) => readQuery(text(bytes))),
    made('cursor', 2, [utf8(cursors.seal('org q', ['2026-01-01', 7, null]))], (bytes) => cursors.open('org q', text(bytes))),
    made('key', 1, [utf8(makeOrgKey('live').key)], (bytes) => parseKey(text(bytes))),
    liveControlTarget(),
    bodyTarget(packets[0]!),
  ];
}

async function tokenTarget(): Promise<Target> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const keys = { verifier: async (kid: string) => (kid === 'k1' ? publicKey : null) } as unknown as SigningKeys;
  const id = '00000000-0000-4000-8000-000000000000';
  const token = await new SignJWT({ org: id, proj: id })
    .setProtectedHeader({ alg: 'RS256', kid: 'k1', typ: 'JWT' })
    .setIssuer('i')
    .setAudience('biosignal')
    .setSubject(id)
    .setJti('j')
    .setIssuedAt()
    .setExpirationTime('30m')
    .sign(privateKey);
  return {
    name: 'token',
    share: 1,
    seeds: [utf8(token), ...corpusOf('token')],
    run: async (bytes) => {
      try {
        await verifyUserToken(keys, 'i', text(bytes));
        return 'accepted';
      } catch (error) {
        if (error instanceof PipelineError) return 'refused';
        throw error;
      }
    },
  };
}

/** What a viewer says on its socket; bytes that are no UTF-8 do not reach it. An answer of type error is a refusal. */
function liveControlTarget(): Target {
  const id = '00000000-0000-4000-8000-000000000000';
  const hub = new Hub({ frameDeadlineMs: 250, viewerQueueBytesMax: 65_536, viewerSlowSecMax: 30 }, () => undefined);
  const route = liveSocketRoute({ hub, viewerQueueBytesMax: 65_536, socketsMax: { user: 1, key: 1 }, resolveSubject: async () => null });
  const said = ['ping","id":7', 'auth","token":"x.y.z"', 'subscribe","channels":["ecg.ii","ppg"],"max_rate_hz":5', 'replay","after":12'];
  const request = { caller: { kind: 'user', subjectId: id }, query: { subject: id } } as unknown as RequestContext;
  return {
    name: 'live-control',
    share: 3,
    seeds: said.map((rest) => utf8(`{"type":"${rest}}`)),
    run: (bytes) => {
      let outcome: Outcome = 'accepted';
      const peer: PeerSocket = {
        id: 1,
        sendBinary: () => 'sent',
        sendText: (answer) => {
          if (answer.startsWith('{"type":"error"')) outcome = 'refused';
          return 'sent';
        },
        bufferedBytes: () => 0,
        subscribe: () => undefined,
        unsubscribe: () => undefined,
        close: () => (outcome = 'refused'),
        authenticate: async () => request.caller,
      };
      const viewer = route.open(request, peer);
      viewer.text?.(Buffer.from(bytes).toString('utf8'));
      viewer.closed();
      return outcome;
    },
  };
}

/** Compressed bodies: cut, damaged, and bombs. */
function bodyTarget(packet: Uint8Array): Target {
  return {
    name: 'gzip',
    share: 1,
    seeds: [new Uint8Array(gzipSync(packet)), new Uint8Array(gzipSync(new Uint8Array(64 * 1024)))],
    run: async (bytes) => {
      try {
        await decodeBody(bytes, 'gzip', 32 * 1024);
        return 'accepted';
      } catch (error) {
        if (error instanceof PipelineError && error.code !== 'internal') return 'refused';
        throw error;
      }
    },
  };
}
