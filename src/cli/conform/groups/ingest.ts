/** Guarantees to devices: acknowledged packets are stored exactly once; refused ones get their code and leave no trace. */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { need } from '../checks.ts';
import type { Want } from '../checks.ts';
import type { Packet } from '../../../proto/packet.ts';
import { encodeBatch } from '../../../proto/packet-encode.ts';
import type { SampleEncoding } from '../../../proto/packet-encode.ts';
import { readReply } from '../messages.ts';
import type { Run } from '../run.ts';
import { block, encoded, heartbeat, isoOf, newBoot, nowNs, packet, SECOND_NS, staircase } from '../signals.ts';

type Reply = Readonly<{
  accepted: number;
  duplicates: number;
  unverified: number;
  rejected: readonly { index: number; code: string }[];
  high_seq: number | bigint;
}>;
const PATH = '/ingest/raw-packet';
const delimited = { 'content-type': 'application/x-protobuf; encoding=delimited' };
/** Larger than any deployment accepts as one packet (BIO_PACKET_BYTES_MAX), bytes. */
const ABOVE_EVERY_LIMIT = 17 * 1024 * 1024;

export async function checkIngest(run: Run): Promise<void> {
  const { checks, stage, ada, ben } = run;
  const as = stage.byScope.ingest;
  const device = stage.name('ingest');
  const boot = newBoot();
  const one = (seq: number, changes: Partial<Packet> = {}): Packet =>
    packet(device, boot, seq, ada.externalId, { t0UnixNs: startNs + BigInt(seq % 1000) * SECOND_NS, ...changes });
  const startNs = nowNs() - 120n * SECOND_NS;
  const send = (bytes: Uint8Array, headers?: Readonly<Record<string, string>>) => ({
    method: 'POST',
    path: PATH,
    as,
    bytes,
    ...(headers && { headers }),
  });
  const counts = (accepted: number, duplicates: number, rejected = 0, more: (reply: Reply) => string | false = () => false): Want => ({
    status: 202,
    says: `accepted ${accepted}, duplicates ${duplicates}, rejected ${rejected}`,
    test: ({ json }) => {
      const reply = json as Reply;
      const got = `accepted ${reply.accepted}, duplicates ${reply.duplicates}, rejected ${reply.rejected.length}`;
      return got === `accepted ${accepted}, duplicates ${duplicates}, rejected ${rejected}` ? more(reply) : got;
    },
  });

  await checks.ask('A packet', send(encoded(one(0))), counts(1, 0));
  await checks.ask('The same again', send(encoded(one(0))), counts(0, 1));
  await checks.ask(
    'The same with other wall clocks and firmware',
    send(encoded(one(0, { sentUnixNs: nowNs(), firmware: 'other' }))),
    counts(0, 1),
  );
  const conflict: Want = { status: 409, code: 'packet_conflict' };
  await checks.ask('Its number with other samples', send(encoded(one(0, { blocks: [block(staircase(250))] }))), conflict);
  await checks.ask('Its number at another device time', send(encoded(one(0, { t0DeviceNs: 5n }))), conflict);
  await checks.ask(
    'Its number with one event more',
    send(encoded(one(0, { events: [{ code: 'button', tOffsetNs: 0, text: '' }] }))),
    conflict,
  );
  await checks.ask('The first one stays', send(encoded(one(0))), counts(0, 1));
  await checks.ask(
    'A gap in the numbers',
    send(encoded(one(5))),
    counts(1, 0, 0, ({ high_seq: high }) => high !== 5 && `high_seq ${high}`),
  );
  await checks.ask(
    'Out of order',
    send(encoded(one(3))),
    counts(1, 0, 0, ({ high_seq: high }) => high !== 5 && `high_seq ${high}`),
  );
  const mixed = encodeBatch([
    encoded(one(1)),
    encoded(one(3)),
    encoded(one(5, { blocks: [block(staircase(9))] })),
    Uint8Array.of(1, 2, 3),
    encoded(one(2)),
  ]);
  await checks.ask('A batch: each packet stands for itself', send(mixed, delimited), {
    ...counts(2, 1, 2, ({ rejected }) => {
      const codes = rejected.map(({ index, code }) => `${index} ${code}`).join(', ');
      return codes !== '2 packet_conflict, 3 packet_malformed' && codes;
    }),
    says: 'accepted 2, duplicates 1, rejected 2 packet_conflict and 3 packet_malformed',
  });
  await checks.ask('A batch again', send(encodeBatch([encoded(one(1)), encoded(one(2))]), delimited), counts(0, 2));
  await checks.ask('A batch that holds a packet twice', send(encodeBatch([encoded(one(7)), encoded(one(7))]), delimited), counts(1, 1));
  await checks.claim('The same packet twice at the same moment', `two POST ${PATH}`, 'accepted once, a duplicate once', async () => {
    const both = await Promise.all([0, 1].map(() => checks.within(send(encoded(one(8))), { status: 202 })));
    const sum = (name: 'accepted' | 'duplicates'): number => both.reduce((total, { json }) => total + (json as Reply)[name], 0);
    need(sum('accepted') === 1 && sum('duplicates') === 1, `accepted ${sum('accepted')}, duplicates ${sum('duplicates')}`);
    return 'once and once';
  });
  await checks.ask(
    'A number of 2^53 - 1, to the digit',
    send(encoded(packet(stage.name('far'), newBoot(), Number.MAX_SAFE_INTEGER, ada.externalId))),
    {
      ...counts(1, 0),
      says: 'high_seq 9007199254740991',
      test: ({ text }) => !text.includes('"high_seq":9007199254740991') && text,
    },
  );
  await checks.ask('The time of the service to the nanosecond', send(encoded(one(9))), {
    status: 202,
    says: 'server_time_ns of 19 digits, within a minute of this machine',
    test: ({ json }) => {
      const ns = BigInt((json as { server_time_ns: number | bigint }).server_time_ns);
      const apart = Number(ns - nowNs()) / 1e9;
      return Math.abs(apart) > 60 && `${ns}: ${apart.toFixed(0)} s apart`;
    },
  });
  await checks.claim(
    'The same reply as protobuf',
    `POST ${PATH} with Accept: application/x-protobuf`,
    'an IngestReply with 1 duplicate',
    async () => {
      const answer = await run.client.send({
        ...send(encoded(one(9)), { accept: 'application/x-protobuf' }),
        as: typeof as === 'string' ? ada.as : as,
      });
      need(answer.status === 202 && (answer.headers.get('content-type') ?? '').startsWith('application/x-protobuf'), `${answer.status}`);
      const reply = readReply(answer.bytes);
      need(reply.duplicates === 1 && reply.highSeq === 9, `duplicates ${reply.duplicates}, high_seq ${reply.highSeq}`);
      return 'duplicates 1, high_seq 9';
    },
  );
  await checks.ask(
    "A person's own token sends for that person",
    { ...send(encoded(packet(stage.name('own'), newBoot(), 0, ''))), as: ada.as },
    counts(1, 0),
  );
  await checks.ask(
    "A person's token sends for nobody else",
    { ...send(encoded(packet(stage.name('own2'), newBoot(), 0, ada.externalId))), as: ben.as },
    { status: 404, code: 'not_found' },
  );
  await checks.ask(
    'A key of another project sends for nobody here',
    { ...send(encoded(packet(stage.name('own3'), newBoot(), 0, ada.id))), as: stage.otherFull },
    { status: 404, code: 'not_found' },
  );
  await checks.ask('Samples of more than ten minutes ahead', send(encoded(one(21, { t0DeviceNs: 900n * SECOND_NS }))), {
    status: 422,
    code: 'packet_clock',
  });
  await checks.ask('The subject does not change within a boot', send(encoded(one(20, { subject: ben.externalId }))), {
    status: 422,
    code: 'packet_invalid',
  });

  await checkEncodings(run, (bytes, headers) => send(bytes, headers), one);
  await checkRefused(run, (bytes, headers) => send(bytes, headers));
  await checkKept(run);
  await checks.ask(
    'What was refused recorded nothing',
    { method: 'GET', path: `/api/v1/streams?subject_id=${ada.externalId}&limit=1000`, as: stage.full },
    {
      status: 200,
      says: 'no time of recording for the device conform-…-refused',
      test: ({ json }) => {
        const streams = json as { device_id: string; recorded_from: string | null }[];
        return streams.some((one) => one.device_id === stage.name('refused') && one.recorded_from !== null) && 'there is one';
      },
    },
  );
}

type Send = (bytes: Uint8Array, headers?: Readonly<Record<string, string>>) => Parameters<Run['checks']['ask']>[1];

/** Content-Type, Content-Encoding and Accept. */
async function checkEncodings({ checks }: Run, send: Send, one: (seq: number) => Packet): Promise<void> {
  const stored: Want = {
    status: 202,
    says: 'accepted 1',
    test: ({ json }) => (json as Reply).accepted !== 1 && JSON.stringify((json as Reply).rejected),
  };
  const type = (text: string): Readonly<Record<string, string>> => ({ 'content-type': text });
  const coded = (text: string): Readonly<Record<string, string>> => ({ 'content-encoding': text });
  await checks.ask('Packed with gzip', send(gzipSync(encoded(one(30))), coded('gzip')), stored);
  await checks.ask('Packed with zstd', send(zstdCompressSync(encoded(one(31))), coded('zstd')), stored);
  await checks.ask('Not packed, and said so', send(encoded(one(32)), coded('identity')), stored);
  await checks.ask('The other name of the type', send(encoded(one(33)), type('application/protobuf')), stored);
  const unsupported: Want = { status: 415, code: 'unsupported_media_type' };
  await checks.ask('Packed in an unknown way', send(encoded(one(34)), coded('compress')), unsupported);
  await checks.ask('Said to be gzip, and is not', send(encoded(one(34)), coded('gzip')), { status: 400, code: 'bad_request' });
  await checks.ask('A gzip that is cut', send(gzipSync(encoded(one(34))).subarray(0, 40), coded('gzip')), {
    status: 400,
    code: 'bad_request',
  });
  const large = gzipSync(Buffer.alloc(ABOVE_EVERY_LIMIT), { level: 1 });
  await checks.ask('17 MiB in a small gzip', send(large, coded('gzip')), { status: 413, code: ['payload_too_large', 'packet_too_large'] });
  await checks.ask('JSON', send(Buffer.from('{}'), type('application/json')), unsupported);
  await checks.ask('Another encoding of batches', send(encoded(one(34)), type('application/x-protobuf; encoding=other')), unsupported);
  await checks.ask('A reply that cannot be written', send(encoded(one(34)), { accept: 'text/html' }), {
    status: 406,
    code: 'not_acceptable',
  });
  await checks.ask('None of these was kept', send(encoded(one(34))), stored);
}

/** Checks refusals, each with its code. */
async function checkRefused({ checks, stage, ada }: Run, send: Send): Promise<void> {
  const device = stage.name('refused');
  const one = (changes: Partial<Packet>): Uint8Array => encoded(packet(device, newBoot(), 0, ada.externalId, changes));
  const ofBlock = (channel: Parameters<typeof block>[1], samples = staircase(10), tOffsetNs = 0): Uint8Array =>
    one({ blocks: [block(samples, channel, null, tOffsetNs)] });
  const good = one({});
  const invalid: Want = { status: 422, code: 'packet_invalid' };
  const malformed: Want = {
    status: 400,
    code: 'packet_malformed',
    says: 'names the byte',
    test: ({ text }) => !/\d/.test((JSON.parse(text) as { detail: string }).detail) && 'names no byte',
  };
  const clock: Want = { status: 422, code: 'packet_clock' };
  const stated = (year: number): Uint8Array => one({ recordedUnixNs: BigInt(Date.UTC(year, 0, 1)) * 1_000_000n });
  const many = Array.from({ length: 65 }, (_, i) => block(staircase(2), { code: `c${i}`, kind: 'other' }));
  const cases: readonly (readonly [string, Uint8Array, Want])[] = [
    ['A packet that is cut', good.subarray(0, good.length - 7), malformed],
    ['Bytes that are no packet', Buffer.from('ffffffffffffffffffffff', 'hex'), malformed],
    ['A later version of the schema', one({ schemaVersion: 9 }), { status: 400, code: 'packet_schema_version' }],
    ['No device', encoded(packet('', newBoot(), 0, ada.externalId)), malformed],
    ['A device of 65 letters', encoded(packet('x'.repeat(65), newBoot(), 0, ada.externalId)), malformed],
    ['A device with letters beyond ASCII', encoded(packet('conform-é', newBoot(), 0, ada.externalId)), invalid],
    ['Device time of 2^62 ns', one({ t0DeviceNs: 1n << 62n }), invalid],
    ['A recording of 1899', stated(1899), clock],
    ['A recording of 2200', stated(2200), clock],
    ['A rate of 0', ofBlock({ rateNanoHz: 0 }), invalid],
    ['A rate below 1 mHz', ofBlock({ rateNanoHz: 999_999 }), invalid],
    ['A rate above 1 MHz', ofBlock({ rateNanoHz: 1_000_000_000_000_001 }), invalid],
    ['A gain that is no number', ofBlock({ gain: Number.NaN }), invalid],
    ['A baseline that is infinite', ofBlock({ baseline: Number.POSITIVE_INFINITY }), invalid],
    ['A channel code in capitals', ofBlock({ code: 'ECG' }), invalid],
    ['A channel without a code', ofBlock({ code: '' }), invalid],
    ['A block of more than an hour', ofBlock({ rateNanoHz: 1e6 }, staircase(5)), invalid],
    ['A block more than a day into its packet', ofBlock({}, staircase(5), 86_401e9), invalid],
    [
      'A measurement that is no number',
      one({ blocks: [], measurements: [{ code: 'battery', tOffsetNs: 0, value: Number.NaN, unit: '%', quality: 0 }] }),
      invalid,
    ],
    ['A control character in a text', one({ events: [{ code: 'button', tOffsetNs: 0, text: 'a\u0007b' }] }), invalid],
    ['65 channels', one({ blocks: many }), { status: 422, code: 'channel_limit' }],
  ];
  for (const [name, bytes, want] of cases) await checks.ask(name, send(bytes), want);
  await checks.ask('A batch that is cut', send(encodeBatch([good]).subarray(0, 20), delimited), {
    status: 400,
    code: ['packet_malformed', 'bad_request'],
  });
  await checks.ask('Nothing', send(new Uint8Array(0)), { status: [400, 415, 422] });
}

/** Checks that samples come back as sent, in whatever form. */
async function checkKept(run: Run): Promise<void> {
  const { checks, stage, ada } = run;
  const extremes = Int32Array.of(2_147_483_647, -2_147_483_648, 0, -1, 1, 2_147_483_647, 2_147_483_647, -2_147_483_648);
  const floats = Float32Array.of(0.1, -0, 1e-38, 3.4e38, Number.NaN, -2.5, 1 / 3, 7);
  const kinds: readonly (readonly [string, SampleEncoding, Int32Array | Float32Array])[] = [
    ['deltas', 'deltas', extremes],
    ['int16', 'int16', Int32Array.of(-32_768, 32_767, 0, 1, -1, 5, 5, 5)],
    ['int24', 'int24', Int32Array.of(-8_388_608, 8_388_607, 0, 1, -1, 5, 5, 5)],
    ['float32', 'deltas', floats],
  ];
  for (const [name, encoding, samples] of kinds) {
    await checks.claim(
      `Samples as ${name} come back as they were`,
      'a packet of extreme samples, then GET …/samples?raw=true',
      'the same numbers, bit for bit',
      async () => {
        const startNs = BigInt(Date.UTC(2025, 4, 5, 6)) * 1_000_000n;
        const flags = Uint8Array.of(0, 0, 1, 1, 2, 2, 0, 0);
        const sent = packet(stage.name(`kept-${name}`), newBoot(), 0, ada.externalId, {
          t0DeviceNs: 0n,
          t0UnixNs: 0n,
          recordedUnixNs: startNs,
          blocks: [block(samples, { code: 'x', kind: 'other' }, flags)],
        });
        await checks.within({ method: 'POST', path: PATH, as: stage.byScope.ingest, bytes: encoded(sent, encoding) }, { status: 202 });
        const stream = await streamOf(run, sent.deviceId);
        const path = `/api/v1/streams/${stream}/samples?since=${isoOf(startNs)}&until=${isoOf(startNs + SECOND_NS)}&raw=true`;
        const { json } = await checks.within({ method: 'GET', path, as: stage.byScope.read }, { status: 200 });
        const [segment] = json as { samples: (number | null)[]; qmask: number[] | null; t0_ns: bigint }[];
        const wanted = Array.from(samples, (value) => (Number.isFinite(value) ? value : null));
        need(JSON.stringify(segment?.samples) === JSON.stringify(wanted), JSON.stringify(segment?.samples));
        const worst = Array.from(flags, (flag, i) => (Number.isFinite(samples[i]) ? flag : 2));
        need(JSON.stringify(segment?.qmask) === JSON.stringify(worst), `flags ${JSON.stringify(segment?.qmask)}`);
        need(segment?.t0_ns === startNs, `t0_ns ${String(segment?.t0_ns)}`);
        return `${wanted.length} samples with their flags`;
      },
    );
  }
}

/** The stream of a device. */
export async function streamOf({ checks, stage, ada }: Run, deviceId: string): Promise<string> {
  const path = `/api/v1/streams?subject_id=${ada.id}&limit=1000`;
  const { json } = await checks.within({ method: 'GET', path, as: stage.full }, { status: 200 });
  const found = (json as { id: string; device_id: string }[]).find(({ device_id: id }) => id === deviceId);
  need(found !== undefined, `there is no stream of ${deviceId}`);
  return found.id;
}

/** A minute and a half of a heart up to now, and ten seconds of last year: sent first, so that values are computed meanwhile. */
export async function sendRecordings({ checks, stage, ada }: Run): Promise<void> {
  const { ids } = stage;
  ids.device = stage.name('watch');
  const boot = newBoot();
  const startNs = nowNs() - 100n * SECOND_NS;
  const packets = Array.from({ length: 100 }, (_, seq) =>
    encoded(
      packet(ids.device, boot, seq, ada.externalId, {
        t0DeviceNs: BigInt(seq) * SECOND_NS,
        t0UnixNs: startNs + BigInt(seq) * SECOND_NS,
        blocks: [block(heartbeat(250, 250 * seq))],
      }),
    ),
  );
  const send = { method: 'POST', path: PATH, as: stage.byScope.ingest, headers: delimited };
  await checks.ask(
    'A hundred seconds of a heart',
    { ...send, bytes: encodeBatch(packets) },
    {
      status: 202,
      says: 'accepted 100',
      test: ({ json }) => (json as Reply).accepted !== 100 && `accepted ${(json as Reply).accepted}`,
    },
  );
  const recorded = packet(stage.name('lastyear'), newBoot(), 0, ada.externalId, {
    t0DeviceNs: 0n,
    t0UnixNs: 0n,
    recordedUnixNs: lastYearNs,
    blocks: [block(lastYearSamples)],
    events: [{ code: 'button', tOffsetNs: 1_000_000_000, text: 'pressed' }],
    measurements: [{ code: 'battery', tOffsetNs: 0, value: 81.5, unit: '%', quality: 0 }],
  });
  await checks.ask('Ten seconds of last year, sent late', { ...send, bytes: encodeBatch([encoded(recorded)]) }, { status: 202 });
}

/** 3 March 2025, 08:00:00.123456789 UTC. */
export const lastYearNs = BigInt(Date.UTC(2025, 2, 3, 8)) * 1_000_000n + 123_456_789n;
export const lastYearSamples = staircase(2500);
