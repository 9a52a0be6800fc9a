/** `biosignal verify`: checks a ledger of sent packets against the database, key by key and sample by sample. */
import { gridIndex } from '../signal.ts';
import type { ChannelConfig, Samples } from '../signal.ts';
import { isRejected } from '../errors.ts';
import { defaultPacketLimits } from '../proto/packet.ts';
import { decodePacket } from '../proto/packet-decode.ts';
import { decodeBlock } from '../storage/block-codec.ts';
import { SeqRanges } from '../storage/seq-ranges.ts';
import type { Database } from '../storage/database/database.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_UNAVAILABLE, UsageError } from './command.ts';
import { waitForBacklog } from './backlog.ts';
import { Ledger } from './client/ledger.ts';
import type { LedgerEntry } from './client/ledger.ts';
import { withDatabase } from './open-database.ts';
import { startProgress } from './progress.ts';

const LIMITS = { ...defaultPacketLimits, packetBytesMax: 16 * 1024 * 1024, samplesMax: 4_194_304 };
const BLOCKS_PER_QUERY = 5000;
/** Most samples from the first to the last of one channel, kept in memory at 5 bytes each. */
const SPAN_MAX = 400_000_000;

export type StreamVerdict = {
  deviceId: string;
  bootId: string;
  /** Packets of the ledger by their answer. */
  accepted: number;
  refused: number;
  unanswered: number;
  /** Acknowledged, but the key is not in the database. */
  missingKeys: number;
  /** Acknowledged samples. */
  samples: number;
  /** Of them: not in the database; with another value or quality; more than once. */
  missingSamples: number;
  differentSamples: number;
  doubledSamples: number;
  /** In the database but never sent. */
  unexpectedSamples: number;
  firstFault: string;
};

/** Values that one channel must or may have: a dense stretch of its grid. */
type Expected = Readonly<{
  config: ChannelConfig;
  kFrom: number;
  /** Bit pattern of the value; floats by their 32 bits. */
  values: Int32Array;
  /** flag | SENT | ACCEPTED | SEEN | AMBIGUOUS */
  marks: Uint8Array;
}>;

const FLAG = 0x03;
const SENT = 0x04;
const ACCEPTED = 0x08;
const SEEN = 0x10;
/** Two packets of the ledger give this sample different values: either is right. */
const AMBIGUOUS = 0x20;

export const verify: Command = {
  name: 'verify',
  summary: 'Check a ledger of sent packets against the database.',
  positionals: 'LEDGER...',
  description: `LEDGER is the name given to 'simulate --ledger' (NAME.jsonl and NAME.packets). For every stream it counts acknowledged packets that
are missing, samples that are missing, different or stored twice, and samples that were never sent. Packets without an answer may be stored
or not. Exit code 1 if anything acknowledged is not in the database exactly once.`,
  options: {
    wait: {
      type: 'string',
      value: 'SEC',
      fallback: '120',
      doc: 'How long to wait until the service has moved every packet to the tables.',
    },
  },
  examples: ['biosignal simulate --devices 20 --speed max --drop 2 --duplicate 5 --ledger run1 && biosignal verify run1'],
  run: async ({ console, options, positionals, json }) => {
    if (positionals.length === 0) throw new UsageError('name a ledger');
    const ledgers = positionals.map((name) => new Ledger(name.replace(/\.jsonl$/, '')));
    return await withDatabase(console, async (database) => {
      if (!(await waitForBacklog(database, options.number('wait', 0, 86_400) * 1000, console))) {
        console.err('biosignal verify: some packets have not reached the tables yet; is the service running? Try again.');
        return EXIT_UNAVAILABLE;
      }
      const verdicts: StreamVerdict[] = [];
      for (const ledger of ledgers) verdicts.push(...(await verifyLedger(database, ledger, console)));
      const faulty = verdicts.filter(isFaulty);
      const sum = (pick: (verdict: StreamVerdict) => number): number => verdicts.reduce((total, verdict) => total + pick(verdict), 0);
      const total = {
        streams: verdicts.length,
        accepted: sum((v) => v.accepted),
        refused: sum((v) => v.refused),
        unanswered: sum((v) => v.unanswered),
        missing_packets: sum((v) => v.missingKeys),
        samples: sum((v) => v.samples),
        missing_samples: sum((v) => v.missingSamples),
        different_samples: sum((v) => v.differentSamples),
        doubled_samples: sum((v) => v.doubledSamples),
        unexpected_samples: sum((v) => v.unexpectedSamples),
      };
      if (json) console.out(JSON.stringify({ ok: faulty.length === 0, ...total, faulty }, null, 2));
      else {
        for (const [name, value] of Object.entries(total)) console.out(`${name.replaceAll('_', ' ').padEnd(18)} ${value}`);
        for (const verdict of faulty.slice(0, 20)) console.out(`FAULT ${verdict.deviceId} boot ${verdict.bootId}: ${verdict.firstFault}`);
        console.out(
          faulty.length === 0
            ? 'everything acknowledged is stored exactly once'
            : `${faulty.length} streams differ from what was acknowledged`,
        );
      }
      return faulty.length === 0 ? EXIT_OK : EXIT_FAILED;
    });
  },
};

export function isFaulty(verdict: StreamVerdict): boolean {
  const { missingKeys, missingSamples, differentSamples, doubledSamples, unexpectedSamples } = verdict;
  return missingKeys + missingSamples + differentSamples + doubledSamples + unexpectedSamples > 0;
}

/** Verifies every stream of a ledger. */
export async function verifyLedger(database: Database, ledger: Ledger, console: Console): Promise<StreamVerdict[]> {
  const verdicts: StreamVerdict[] = [];
  const progress = startProgress(console, 'verify', ledger.streams.size);
  const startedMs = performance.now();
  let samples = 0;
  try {
    for (const entries of ledger.streams.values()) {
      console.signal.throwIfAborted();
      const verdict = await verifyStream(database, ledger, entries);
      verdicts.push(verdict);
      samples += verdict.samples;
      progress.update(verdicts.length, `${Math.round((1000 * samples) / (performance.now() - startedMs))} samples/s`);
    }
  } finally {
    progress.end();
  }
  return verdicts;
}

async function verifyStream(database: Database, ledger: Ledger, entries: readonly LedgerEntry[]): Promise<StreamVerdict> {
  const { deviceId, bootId } = entries[0]!.key;
  const verdict: StreamVerdict = {
    deviceId,
    bootId,
    accepted: entries.filter(({ answer }) => answer === 'accepted').length,
    refused: entries.filter(({ answer }) => answer !== 'accepted' && answer !== null).length,
    unanswered: entries.filter(({ answer }) => answer === null).length,
    missingKeys: 0,
    samples: 0,
    missingSamples: 0,
    differentSamples: 0,
    doubledSamples: 0,
    unexpectedSamples: 0,
    firstFault: '',
  };
  const fault = (text: string): void => {
    if (verdict.firstFault === '') verdict.firstFault = text;
  };
  const { rows } = await database.pool.query<{ id: number; seqs: string }>(
    `select s.id, s.seqs::text as seqs from stream s join device d on d.id = s.device_id
     where d.external_id = $1 and s.boot_id = decode($2, 'hex')`,
    [deviceId, bootId],
  );
  const stream = rows[0];
  const expected = expectedSamples(ledger, entries);
  for (const { marks } of expected.values()) for (const mark of marks) if ((mark & ACCEPTED) !== 0) verdict.samples++;
  if (stream === undefined) {
    verdict.missingKeys = verdict.accepted;
    verdict.missingSamples = verdict.samples;
    if (verdict.accepted > 0) fault('the stream does not exist');
    return verdict;
  }
  const ranges = SeqRanges.parse(stream.seqs).ranges();
  for (const { key, answer } of entries) {
    if (answer !== 'accepted' || ranges.some(([first, last]) => key.seq >= first && key.seq <= last)) continue;
    verdict.missingKeys++;
    fault(`packet ${key.seq} was acknowledged but is missing`);
  }
  await compareSamples(database, stream.id, expected, verdict, fault);
  for (const { config, kFrom, marks } of expected.values()) {
    for (let i = 0; i < marks.length; i++) {
      if ((marks[i]! & (ACCEPTED | SEEN)) !== ACCEPTED) continue;
      verdict.missingSamples++;
      fault(`${config.code}: sample ${kFrom + i} was acknowledged but is missing`);
    }
  }
  return verdict;
}

/** All samples of the packets, by channel configuration. */
function expectedSamples(ledger: Ledger, entries: readonly LedgerEntry[]): Map<string, Expected> {
  const pieces = new Map<
    string,
    { config: ChannelConfig; runs: { k0: number; samples: Samples; qmask: Uint8Array | null; accepted: boolean }[] }
  >();
  const bytesOf = ledger.readPackets(entries);
  for (const [index, bytes] of bytesOf.entries()) {
    const packet = decodePacket(bytes, LIMITS);
    if (isRejected(packet)) continue; // sent malformed on purpose: nothing to expect
    const accepted = entries[index]!.answer === 'accepted';
    for (const { channel, tOffsetNs, samples, qmask } of packet.blocks) {
      const id = channelId(channel);
      let piece = pieces.get(id);
      if (piece === undefined) pieces.set(id, (piece = { config: channel, runs: [] }));
      const k0 = gridIndex(packet.t0DeviceNs + BigInt(tOffsetNs), channel.rateNanoHz);
      piece.runs.push({ k0, samples, qmask, accepted });
    }
  }
  const expected = new Map<string, Expected>();
  for (const [id, { config, runs }] of pieces) {
    const kFrom = runs.reduce((least, { k0 }) => Math.min(least, k0), Infinity);
    const kTo = runs.reduce((most, { k0, samples }) => Math.max(most, k0 + samples.length), -Infinity);
    if (kTo - kFrom > SPAN_MAX) throw new RangeError(`${config.code}: ${kTo - kFrom} samples between first and last, limit ${SPAN_MAX}`);
    const values = new Int32Array(kTo - kFrom);
    const marks = new Uint8Array(kTo - kFrom);
    for (const { k0, samples, qmask, accepted } of runs) {
      const bits = bitsOf(samples);
      for (let i = 0; i < bits.length; i++) {
        const at = k0 - kFrom + i;
        const flag = qmask === null ? 0 : qmask[i]!;
        const before = marks[at]!;
        const differs = (before & SENT) !== 0 && (values[at] !== bits[i] || (before & FLAG) !== flag);
        values[at] = bits[i]!;
        marks[at] = flag | SENT | (before & (ACCEPTED | AMBIGUOUS)) | (accepted ? ACCEPTED : 0) | (differs ? AMBIGUOUS : 0);
      }
    }
    expected.set(id, { config, kFrom, values, marks });
  }
  return expected;
}

async function compareSamples(
  database: Database,
  streamId: number,
  expected: ReadonlyMap<string, Expected>,
  verdict: StreamVerdict,
  fault: (text: string) => void,
): Promise<void> {
  const { rows: channels } = await database.pool.query<ChannelRow>(
    'select channel_no, code, kind, rate_nhz, gain, baseline, unit, lead from stream_channel where stream_id = $1',
    [streamId],
  );
  for (const row of channels) {
    const { rate_nhz: rate, channel_no: channelNo, ...rest } = row;
    const channel = expected.get(channelId({ ...rest, rateNanoHz: Number(rate) } as ChannelConfig));
    let after = '-infinity';
    for (;;) {
      const { rows } = await database.pool.query<{ time: string; codec: Buffer; n: number }>(
        `select time::text as time, codec, n from sample_block
         where stream_id = $1 and channel_no = $2 and time > $3::timestamptz order by time limit ${BLOCKS_PER_QUERY}`,
        [streamId, channelNo, after],
      );
      for (const block of rows) compareBlock(block, row.code, channel, verdict, fault);
      if (rows.length < BLOCKS_PER_QUERY) break;
      after = rows.at(-1)!.time;
    }
  }
}

type ChannelRow = Omit<ChannelConfig, 'rateNanoHz'> & { channel_no: number; rate_nhz: bigint };

function compareBlock(
  block: Readonly<{ codec: Buffer; n: number; time: string }>,
  code: string,
  channel: Expected | undefined,
  verdict: StreamVerdict,
  fault: (text: string) => void,
): void {
  let count = 0;
  const runs = decodeBlock(block.codec);
  if (isRejected(runs)) return fault(`${code}: the block of ${block.time} cannot be read: ${runs.detail}`);
  for (const { k0, samples, qmask } of runs) {
    const bits = bitsOf(samples);
    count += bits.length;
    for (let i = 0; i < bits.length; i++) {
      const at = channel === undefined ? -1 : k0 + i - channel.kFrom;
      const mark = channel === undefined || at < 0 ? 0 : (channel.marks[at] ?? 0);
      if (channel === undefined || (mark & SENT) === 0) {
        verdict.unexpectedSamples++;
        fault(`${code}: sample ${k0 + i} is stored but was never sent`);
        continue;
      }
      const flag = qmask === null ? 0 : qmask[i]!;
      const same = channel.values[at] === bits[i] && (mark & FLAG) === flag;
      if (!same && (mark & AMBIGUOUS) === 0) {
        verdict.differentSamples++;
        fault(`${code}: sample ${k0 + i} is ${bits[i]} (flag ${flag}), but ${channel.values[at]} (flag ${mark & FLAG}) was sent`);
      }
      if ((mark & SEEN) !== 0 && (mark & AMBIGUOUS) === 0) {
        verdict.doubledSamples++;
        fault(`${code}: sample ${k0 + i} is stored twice`);
      }
      channel.marks[at] = mark | SEEN;
    }
  }
  if (count !== block.n) {
    verdict.differentSamples += Math.abs(count - block.n);
    fault(`${code}: the block of ${block.time} states ${block.n} samples but holds ${count}`);
  }
}

/** Values as 32 bits, so that floats (NaN too) compare exactly. */
function bitsOf(samples: Samples): Int32Array {
  return samples instanceof Int32Array ? samples : new Int32Array(Float32Array.from(samples).buffer);
}

function channelId({ code, kind, rateNanoHz, gain, baseline, unit, lead }: ChannelConfig): string {
  return JSON.stringify([code, kind, rateNanoHz, gain, baseline, unit, lead]);
}
