/** Faults of a network, and R2: the stored set is the sent set, and beats and features are those of the same packets sent in order, bit for
 *  bit. A round is one person recorded once and sent twice: in order by device a; doubled 5 %, overtaken within 60 s, and 3 % held back to
 *  the end by device b. 2 % of the packets reach neither. The recording is a week old. */
import { setTimeout as sleep } from 'node:timers/promises';
import { HttpSender } from '../src/cli/client/http-sender.ts';
import { LedgerWriter } from '../src/cli/client/ledger.ts';
import { createSimulatedDevice } from '../src/cli/simulator/device.ts';
import { createFaultyPath, noFaults } from '../src/cli/simulator/faults.ts';
import { createPacketSource } from '../src/cli/simulator/packets.ts';
import type { Packet } from '../src/proto/packet.ts';
import { encodePacket } from '../src/proto/packet-encode.ts';
import { World } from './lib/world.ts';
import { resultOf, withoutRecovery } from './report.ts';
import type { Runnable, RunOptions } from './report.ts';

const RECORDING_SEC = 150;
const PACKET_MS = 500;
const WEEK_NS = 7n * 86_400n * 1_000_000_000n;
/** The last beats of a stream come after 20 s without data. */
const QUIET_MS = 12_000;
const WAIT_MS_MAX = 600_000;

export const networkScenario: Runnable = {
  name: 'network',
  about: 'duplicates 5 %, reordered within 60 s, 3 % held to the end, 2 % lost, a week late; features = in-order run, bit for bit',
  run: async (options) => {
    const startedMs = performance.now();
    const world = await World.start({ name: 'network', seed: options.seed, deviceCount: 1 });
    const complaints: string[] = [];
    const rounds: number[] = [];
    let verdict = null;
    try {
      await sendAll(world, options, rounds);
      verdict = await world.verdict();
      await untilComputed(world, options.rounds);
      for (let round = 1; round <= options.rounds; round++) complaints.push(...(await compare(world, round)));
      for (const { deviceId, firstFault } of verdict.faulty.slice(0, 5)) complaints.push(`${deviceId}: ${firstFault}`);
    } catch (error) {
      complaints.push(error instanceof Error ? error.message : String(error));
    }
    await world.close();
    return { ...resultOf(networkScenario, options.seed, verdict, rounds, complaints, startedMs), ...withoutRecovery };
  },
};

/** Besides the fleet's ledger: what the two devices of each round send goes into it too. */
async function sendAll(world: World, { rounds, seed }: RunOptions, done: number[]): Promise<void> {
  await world.fleet.stop();
  const ledger = new LedgerWriter(world.ledger);
  for (let round = 1; round <= rounds; round++) {
    const since = performance.now();
    const startUnixNs = BigInt(Date.now()) * 1_000_000n - WEEK_NS;
    for (const order of ['a', 'b'] as const) await sendOne(world, ledger, round, seed, order, startUnixNs);
    done.push(performance.now() - since);
  }
  ledger.close();
}

async function sendOne(
  world: World,
  ledger: LedgerWriter,
  round: number,
  seed: number,
  order: 'a' | 'b',
  startUnixNs: bigint,
): Promise<void> {
  const deviceId = `${order}${round}`;
  const bootId = Buffer.from(deviceId.padEnd(16, '.')).toString('hex');
  const personSeed = (seed * 7919 + round) >>> 0;
  const person = createSimulatedDevice({ seed: personSeed, channels: ['ecg.ii', 'ppg.ir', 'acc.x'], pvcPercent: 2 });
  const next = createPacketSource(person, { deviceId, bootId, subject: deviceId, startUnixNs, packetMs: PACKET_MS });
  // The same draws for both: what is lost is lost to both.
  const loss = createFaultyPath<Packet>({ ...noFaults, seed: personSeed, dropPercent: 2 });
  const faults = { duplicatePercent: 5, reorderPercent: 10, reorderMs: 60_000, latePercent: 3, lateMs: 1e9 };
  const path = createFaultyPath<Packet>({ ...noFaults, ...(order === 'b' ? faults : {}), seed: personSeed + 1 });
  const leaving: Packet[] = [];
  for (let at = 0; at < RECORDING_SEC * 1000; at += PACKET_MS) {
    for (const packet of loss.push(next().packet, at)) leaving.push(...path.push(packet, at));
  }
  leaving.push(...path.drain());
  const keys: { deviceId: string; bootId: string; seq: number }[] = [];
  const sender = new HttpSender({
    url: world.service.url,
    credential: world.credential,
    signal: new AbortController().signal,
    batchPacketsMax: order === 'a' ? 100 : 17,
    onSettled: (tag, code) => ledger.settled(keys[tag]!, code),
  });
  for (const [tag, packet] of leaving.entries()) {
    // Sent now, recorded a week ago: that is how the service knows how late it is.
    const bytes = encodePacket({ ...packet, sentUnixNs: startUnixNs + WEEK_NS });
    keys.push({ deviceId, bootId, seq: packet.seq });
    ledger.sent(keys[tag]!, bytes);
    await sender.send(bytes, tag);
  }
  await sender.flush();
}

const counts = `select (select count(*) from beat)::int as beats, (select count(*) from feature)::int as features,
  (select count(distinct stream_id) from feature)::int as streams`;

/** Until nothing has been computed for a while, 25 s after the last packet at the earliest. */
async function untilComputed(world: World, rounds: number): Promise<void> {
  await sleep(25_000);
  let before = '';
  let sinceMs = performance.now();
  for (const deadline = performance.now() + WAIT_MS_MAX; performance.now() < deadline; await sleep(1000)) {
    const rows = await world.sql<{ streams: number }>(counts);
    const now = JSON.stringify(rows);
    if (now !== before || rows[0]!.streams < 2 * rounds) sinceMs = performance.now();
    before = now;
    if (performance.now() - sinceMs > QUIET_MS) return;
  }
  throw new Error(`beats and features were still being computed after ${WAIT_MS_MAX / 1000} s`);
}

const rowsOf = (table: 'beat' | 'feature'): string => `
  select (r.ts_ns - s.epoch_ns)::text as t, r.channel_no, m.name, m.code, r.qmask,
    ${table === 'beat' ? "encode(float8send(r.interval_ms), 'hex') as v, r.kind, r.reason" : "encode(float8send(r.value), 'hex') as v"}
  from ${table} r join stream s on s.id = r.stream_id join device d on d.id = s.device_id join method m on m.id = r.method_id
  where d.external_id = $1 order by 3, 4, 2, r.ts_ns`;

async function compare(world: World, round: number): Promise<string[]> {
  const complaints: string[] = [];
  for (const table of ['beat', 'feature'] as const) {
    const [a, b] = await Promise.all(['a', 'b'].map((order) => world.sql(rowsOf(table), [`${order}${round}`])));
    const [left, right] = [a!.map((row) => JSON.stringify(row)), b!.map((row) => JSON.stringify(row))];
    if (left.length < 50) complaints.push(`round ${round}: only ${left.length} rows of ${table}`);
    complaints.push(...differences(left, right).map((text) => `round ${round}: ${table}: ${text}`));
  }
  return complaints;
}

/** Rows that one has and the other has not, by method: how many, and the first of each. */
function differences(left: readonly string[], right: readonly string[]): string[] {
  const [inLeft, inRight] = [new Set(left), new Set(right)];
  const only = [...left.filter((row) => !inRight.has(row)), ...right.filter((row) => !inLeft.has(row))];
  const byMethod = Map.groupBy(only, (row) => (JSON.parse(row) as { code: string }).code);
  return [...byMethod].map(([code, rows]) => {
    const seconds = rows.map((row) => Number((JSON.parse(row) as { t: string }).t) / 1e9);
    const [first, other] = [rows.find((row) => inLeft.has(row)), rows.find((row) => inRight.has(row))];
    return `${code}: ${rows.length} of ${left.length} and ${right.length} differ, from ${Math.min(...seconds)} to ${Math.max(...seconds)} s: in order ${first}, else ${other}`;
  });
}
