/** Brings packets to the service until each has its answer, over HTTP or a socket, and tells the oracle which. */
import { SocketSender } from '../faults/lib/socket-sender.ts';
import { errorTable } from '../src/errors.ts';
import type { ErrorCode } from '../src/errors.ts';
import type { Packet } from '../src/proto/packet.ts';
import { encodeBatch } from '../src/proto/packet-encode.ts';
import { packetEndNs } from '../src/ingest/admit.ts';
import type { Boot, Oracle } from './oracle.ts';
import { encode } from './recorder.ts';

export type Via = 'http' | 'socket';

const BATCH_PACKETS = 40;
const SOCKET_WAIT_MS = 120_000;
/** Of clocks that are read one after the other. */
const SLACK_NS = 50_000_000n;
/** A clock this close to the service's is right. */
const SYNCED_NS = 2_000_000_000n;

/** @param packets as they leave the device, in this order */
export async function deliver(oracle: Oracle, boot: Boot, packets: readonly Packet[], via: Via = 'http'): Promise<void> {
  const leftNs = BigInt(Date.now()) * 1_000_000n;
  const bytes = packets.map(encode);
  // The sockets of a person who has not consented are closed, again and again.
  const byHttp = via === 'http' || oracle.required.includes('recording');
  const answers = byHttp ? await overHttp(oracle, bytes) : await overSocket(oracle, bytes);
  const missing = oracle.isMissing(boot.person, 'recording');
  const unsure = oracle.isConsentSettling;
  for (const [i, packet] of packets.entries()) {
    const answer = answers[i] ?? 'none';
    boot.sent.push({ packet, bytes: bytes[i]!, accepted: answer === 'accepted' });
    const isRight =
      answer === (missing ? 'consent_missing' : 'accepted') || (unsure && (answer === 'accepted' || answer === 'consent_missing'));
    oracle.expect(
      'answers',
      isRight,
      () => `packet ${packet.seq} of ${boot.deviceId} ${boot.bootId} was answered ${answer}${missing ? ' without consent' : ''}`,
    );
  }
  if (boot.epoch === null && answers.includes('accepted')) boot.epoch = epochOf(packets, leftNs, BigInt(Date.now()) * 1_000_000n);
  boot.answeredMs = Date.now();
}

/** Where device time 0 may be put by whichever of them came first: where its clock says, if that is right; by its age on its own clock; or,
 *  without a clock, as if it had just ended. */
function epochOf(packets: readonly Packet[], leftNs: bigint, answeredNs: bigint): NonNullable<Boot['epoch']> {
  const zeros = packets.map((packet) =>
    packet.t0UnixNs > 0n ? packet.t0DeviceNs + packet.sentUnixNs - packet.t0UnixNs : packetEndNs(packet),
  );
  const least = zeros.reduce((a, b) => (a < b ? a : b));
  const most = zeros.reduce((a, b) => (a > b ? a : b));
  const said = packets
    .filter(({ sentUnixNs }) => sentUnixNs <= leftNs && leftNs - sentUnixNs < SYNCED_NS)
    .map(({ t0UnixNs, t0DeviceNs }) => t0UnixNs - t0DeviceNs);
  const fromNs = said.reduce((a, b) => (a < b ? a : b), leftNs - most);
  return { fromNs: fromNs - SLACK_NS, toNs: answeredNs - least + SLACK_NS };
}

/** @returns by packet: `accepted`, or the code of the refusal */
async function overHttp(oracle: Oracle, packets: readonly Uint8Array[]): Promise<string[]> {
  const answers: string[] = packets.map(() => '');
  for (let waiting = packets.map((_, i) => i); waiting.length > 0;) {
    const batch = waiting.slice(0, BATCH_PACKETS);
    const again: number[] = [];
    const answer = await oracle.ask('POST', '/ingest/raw-packet', { packets: encodeBatch(batch.map((i) => packets[i]!)), delimited: true });
    const reply = answer.json as { rejected?: { index: number; code: ErrorCode }[]; code?: string } | null;
    const refused = new Map(reply?.rejected?.map(({ index, code }) => [index, code]));
    for (const [at, i] of batch.entries()) {
      const code = refused.get(at);
      if (code !== undefined && errorTable[code].retry) again.push(i);
      else answers[i] = answer.status === 202 ? (code ?? 'accepted') : (reply?.code ?? String(answer.status));
    }
    waiting = [...again, ...waiting.slice(BATCH_PACKETS)];
  }
  return answers;
}

async function overSocket(oracle: Oracle, packets: readonly Uint8Array[]): Promise<string[]> {
  const answers: string[] = packets.map(() => 'no answer');
  const sender = new SocketSender({ url: oracle.stage.url, credential: oracle.key, onSettled: (tag, code) => void (answers[tag] = code) });
  try {
    for (const [i, bytes] of packets.entries()) sender.send(bytes, i);
    const timeout = new Promise((resolve) => setTimeout(resolve, SOCKET_WAIT_MS).unref());
    await Promise.race([sender.flush(), timeout]);
  } finally {
    sender.close();
  }
  return answers;
}
