/** Holds what was acknowledged against what the database has: every packet, sample, measurement and event, and nothing else. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Console } from '../../../src/cli/command.ts';
import { waitForBacklog } from '../../../src/cli/backlog.ts';
import { gridIndex } from '../../../src/signal.ts';
import type { ChannelConfig, Samples } from '../../../src/signal.ts';
import { runsOf } from '../../../src/storage/sample-rows.ts';
import { SeqRanges } from '../../../src/storage/seq-ranges.ts';
import type { FuzzStage } from '../stage.ts';
import { bootKey } from './deliver.ts';
import type { Ledger, Sent } from './deliver.ts';

type StreamRow = { id: number; device: string; boot: string; seqs: string; epoch_ns: bigint };

const BACKLOG_MS_MAX = 120_000;
/** What was acknowledged is in the tables some seconds later: what is missing is missing when it still is after so long. */
const SETTLE_MS = 20_000;

export function quietConsole(stage: FuzzStage, out: string[] = []): Console {
  const say = (line: string): void => void out.push(line);
  return {
    out: say,
    err: say,
    progress: null,
    env: { DATABASE_URL: stage.databaseUrl },
    cwd: stage.workDir,
    signal: new AbortController().signal,
  };
}

/** @returns what is wrong */
export async function compareStored(stage: FuzzStage, orgId: string, ledger: Ledger): Promise<string[]> {
  if (!(await waitForBacklog(stage.database, BACKLOG_MS_MAX, quietConsole(stage)))) return ['acknowledged packets still wait in the log'];
  for (const deadline = performance.now() + SETTLE_MS; ; await sleep(500)) {
    const complaints = await compareOnce(stage, orgId, ledger);
    if (complaints.length === 0 || performance.now() > deadline) return complaints;
  }
}

async function compareOnce(stage: FuzzStage, orgId: string, ledger: Ledger): Promise<string[]> {
  const complaints: string[] = [];
  const letters = await stage.sql<{ kind: string; reason: string; n: number }>(
    'select kind, reason, count(*)::int as n from set_aside where organization_id = $1 or organization_id is null group by 1, 2',
    [orgId],
  );
  for (const { kind, reason, n } of letters) complaints.push(`${n} of ${kind} are set aside: ${reason}`);
  const streams = await stage.sql<StreamRow>(
    `select s.id, d.external_id as device, encode(s.boot_id, 'hex') as boot, s.seqs::text as seqs, s.epoch_ns
     from stream s join device d on d.id = s.device_id where s.organization_id = $1`,
    [orgId],
  );
  const found = new Set(streams.map(({ device, boot }) => bootKey(device, boot)));
  for (const [key, sent] of ledger)
    if (!found.has(key) && sent.some(({ state }) => state === 'accepted')) complaints.push(`${key} was acknowledged and has no stream`);
  for (const stream of streams) {
    const sent = ledger.get(bootKey(stream.device, stream.boot)) ?? [];
    const wrong = [
      ...compareSeqs(stream, sent),
      ...(await compareSamples(stage, stream, sent)),
      ...(await compareItems(stage, stream, sent)),
    ];
    complaints.push(...wrong.map((text) => `${stream.device} ${stream.boot}: ${text}`));
  }
  return complaints;
}

function compareSeqs({ seqs }: StreamRow, sent: readonly Sent[]): string[] {
  const ranges = SeqRanges.parse(seqs).ranges();
  const has = (seq: number): boolean => ranges.some(([first, last]) => seq >= first && seq <= last);
  const count = ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  const known = new Set(sent.map(({ packet }) => packet.seq));
  const missing = sent.filter(({ packet, state }) => state === 'accepted' && !has(packet.seq));
  const extra = count - [...known].filter(has).length;
  return [
    ...(missing.length > 0 ? [`packet ${missing[0]!.packet.seq} was acknowledged and is not there`] : []),
    ...(extra > 0 ? [`${extra} packets are there that were not acknowledged: ${seqs}`] : []),
  ];
}

type Expected = { bits: number; flag: number; isSure: boolean; isOne: boolean; isSeen: boolean };

async function compareSamples(stage: FuzzStage, { id }: StreamRow, sent: readonly Sent[]): Promise<string[]> {
  const expected = new Map<string, Map<number, Expected>>();
  for (const { packet, state } of sent) {
    for (const { channel, tOffsetNs, samples, qmask } of packet.blocks) {
      const k0 = gridIndex(packet.t0DeviceNs + BigInt(tOffsetNs), channel.rateNanoHz);
      const own = expected.get(channelId(channel)) ?? new Map<number, Expected>();
      expected.set(channelId(channel), own);
      bitsOf(samples).forEach((bits, i) => {
        const flag = qmask?.[i] ?? 0;
        const before = own.get(k0 + i);
        // Two values for one place: either is right.
        const isOne = before === undefined || (before.isOne && before.bits === bits && before.flag === flag);
        own.set(k0 + i, { bits, flag, isOne, isSure: state === 'accepted' || before?.isSure === true, isSeen: false });
      });
    }
  }
  const rows = await stage.sql<Omit<ChannelConfig, 'rateNanoHz'> & { rate_nhz: bigint; codec: Buffer; n: number }>(
    `select c.code, c.kind, c.rate_nhz, c.gain, c.baseline, c.unit, c.lead, b.codec, b.n from sample_block b
     join stream_channel c on c.stream_id = b.stream_id and c.channel_no = b.channel_no where b.stream_id = $1`,
    [id],
  );
  for (const { codec, n, rate_nhz: rate, ...config } of rows) {
    const own = expected.get(channelId({ ...config, rateNanoHz: Number(rate) }));
    let count = 0;
    for (const { k0, samples, qmask } of runsOf(codec)) {
      const bits = bitsOf(samples);
      count += bits.length;
      for (let i = 0; i < bits.length; i++) {
        const one = own?.get(k0 + i);
        if (one === undefined) return [`${config.code}: sample ${k0 + i} is there and was never acknowledged`];
        if (one.isOne && one.isSeen) return [`${config.code}: sample ${k0 + i} is there twice`];
        one.isSeen = true;
        if (one.isOne && (one.bits !== bits[i] || one.flag !== (qmask?.[i] ?? 0)))
          return [`${config.code}: sample ${k0 + i} is ${bits[i]} (flag ${qmask?.[i] ?? 0}), sent was ${one.bits} (flag ${one.flag})`];
      }
    }
    if (count !== n) return [`${config.code}: a row says ${n} samples and has ${count}`];
  }
  for (const [channel, own] of expected)
    for (const [k, { isSure, isSeen }] of own) if (isSure && !isSeen) return [`${channel}: sample ${k} was acknowledged and is not there`];
  return [];
}

/** Measurements and events: each once, at its time. */
async function compareItems(stage: FuzzStage, { id, epoch_ns: epochNs }: StreamRow, sent: readonly Sent[]): Promise<string[]> {
  const rows = await stage.sql<{ item: string }>(
    `select concat_ws(' ', 'measurement', ts_ns, encode(float8send(value), 'hex')) as item from measurement where stream_id = $1
     union all select concat_ws(' ', 'event', ts_ns, code || ' ' || content) from device_event where stream_id = $1`,
    [id],
  );
  const there = countsOf(rows.map(({ item }) => item));
  const itemsOf = (states: readonly string[]): string[] =>
    sent.flatMap(({ packet: { t0DeviceNs, measurements, events }, state }) =>
      states.includes(state)
        ? [
            ...measurements.map(({ tOffsetNs, value }) => `measurement ${epochNs + t0DeviceNs + BigInt(tOffsetNs)} ${doubleBits(value)}`),
            ...events.map(({ tOffsetNs, code, text }) => `event ${epochNs + t0DeviceNs + BigInt(tOffsetNs)} ${code} ${text}`),
          ]
        : [],
    );
  const must = countsOf(itemsOf(['accepted']));
  const may = countsOf(itemsOf(['accepted', 'maybe']));
  return [
    ...[...must]
      .filter(([item, n]) => (there.get(item) ?? 0) < n)
      .map(([item, n]) => `${there.get(item) ?? 0} instead of ${n} times: ${item}`),
    ...[...there]
      .filter(([item, n]) => (may.get(item) ?? 0) < n)
      .map(([item, n]) => `${n} times, and ${may.get(item) ?? 0} were acknowledged: ${item}`),
  ].slice(0, 3);
}

function countsOf(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}

function doubleBits(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value === 0 ? 0 : value); // -0 is stored as 0
  return bytes.toString('hex');
}

/** Floats by their 32 bits, so that NaN compares. */
const bitsOf = (samples: Samples): Int32Array =>
  samples instanceof Int32Array ? samples : new Int32Array(Float32Array.from(samples).buffer);

function channelId({ code, kind, rateNanoHz, gain, baseline, unit, lead }: ChannelConfig): string {
  return JSON.stringify([code, kind, rateNanoHz, gain, baseline, unit, lead]);
}
