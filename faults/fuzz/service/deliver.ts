/** Sends the packets of a case as it says, and notes what was acknowledged. */
import { errorTable, isRejected } from '../../../src/errors.ts';
import { defaultPacketLimits } from '../../../src/proto/packet.ts';
import type { DecodedPacket } from '../../../src/proto/packet.ts';
import { decodePacket } from '../../../src/proto/packet-decode.ts';
import { encodeBatch } from '../../../src/proto/packet-encode.ts';
import { decodeReply } from '../../../src/proto/reply-codec.ts';
import type { FuzzStage } from '../stage.ts';
import { coded } from './cases.ts';
import type { Case } from './cases.ts';

/** A packet by its identity. `maybe`: the answer does not say whether it was kept. */
export type Sent = Readonly<{ packet: DecodedPacket; state: 'accepted' | 'maybe' }>;
/** All packets of one boot that may have been kept. */
export type Ledger = Map<string, Sent[]>;

export const bootKey = (deviceId: string, bootId: string): string => `${deviceId} ${bootId}`;
const SETTLE_MS_MAX = 60_000;
/** What a socket takes to refuse it: a MiB beyond the limit of a packet. */
const MESSAGE_BYTES_MAX = defaultPacketLimits.packetBytesMax + 1024 * 1024;

type Told = Readonly<{
  accepted: number;
  duplicates: number;
  /** Codes by position. */
  refused: ReadonlyMap<number, string>;
  /** Why nothing more was told, e.g. a socket that was closed: the packets from `until` on may have been kept. */
  until: number;
}>;

/** @returns what is wrong with the answers */
export async function deliver(
  stage: FuzzStage,
  given: Case,
  packets: readonly Uint8Array[],
  as: string,
  ledger: Ledger,
): Promise<string[]> {
  if (given.transport === 'socket') {
    const { told, complaints } = await overSocket(stage, packets, as);
    return [...complaints, ...enter(ledger, packets, told)];
  }
  if (given.transport === 'batch') return await post(stage, given, packets, encodeBatch(packets), as, ledger);
  const complaints: string[] = [];
  for (const packet of packets) complaints.push(...(await post(stage, given, [packet], packet, as, ledger)));
  return complaints;
}

async function post(
  stage: FuzzStage,
  { transport, coding }: Case,
  packets: readonly Uint8Array[],
  content: Uint8Array,
  as: string,
  ledger: Ledger,
): Promise<string[]> {
  const { body, headers } = coded(content, coding);
  const type = `application/x-protobuf${transport === 'batch' ? '; encoding=delimited' : ''}`;
  const answer = await stage.ask('POST', '/ingest/raw-packet', { as, body, headers: { ...headers, 'content-type': type } });
  const operation = stage.description.operationOf('POST', '/ingest/raw-packet')!;
  const complaints = stage.description.breaches(operation, answer);
  if (answer.status >= 500 && answer.status !== 503) complaints.push(`answered ${answer.status}: ${answer.text.slice(0, 300)}`);
  if (answer.status !== 202) return complaints;
  const reply = JSON.parse(answer.text) as { accepted: number; duplicates: number; rejected: { index: number; code: string }[] };
  const refused = new Map(reply.rejected.map(({ index, code }) => [index, code]));
  return [...complaints, ...enter(ledger, packets, { ...reply, refused, until: packets.length })];
}

async function overSocket(stage: FuzzStage, packets: readonly Uint8Array[], as: string): Promise<{ told: Told; complaints: string[] }> {
  const bearer = Buffer.from(as).toString('base64url');
  const socket = new WebSocket(`${stage.service.url.replace('http', 'ws')}/ingest/stream`, ['bio.v1', `bio.bearer.${bearer}`]);
  socket.binaryType = 'arraybuffer';
  const told = { accepted: 0, duplicates: 0, refused: new Map<number, string>(), until: 0 };
  const complaints: string[] = [];
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      complaints.push(`${told.until} of ${packets.length} messages were settled in ${SETTLE_MS_MAX} ms`);
      socket.close();
      resolve();
    }, SETTLE_MS_MAX);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    socket.addEventListener('open', () => {
      for (const packet of packets) socket.send(Uint8Array.from(packet));
    });
    socket.addEventListener('message', ({ data }) => {
      if (!(data instanceof ArrayBuffer)) return;
      const reply = decodeReply(new Uint8Array(data));
      told.accepted += reply.accepted;
      told.duplicates += reply.duplicates;
      told.until = reply.settled;
      for (const { index, code } of reply.rejected) told.refused.set(index, code);
      if (told.until < packets.length) return;
      socket.close();
      done();
    });
    socket.addEventListener('close', ({ code }) => {
      const isOurs = Object.values(errorTable).some(({ close }) => close === code);
      const isTooLong = packets.some((packet) => packet.length > MESSAGE_BYTES_MAX); // breaks the connection
      if (told.until < packets.length && !isOurs && !isTooLong)
        complaints.push(`the socket was closed with ${code}, which is no code of ours`);
      if (code === errorTable.internal.close) complaints.push('the socket was closed as a fault of the service');
      done();
    });
    socket.addEventListener('error', done);
  });
  return { told, complaints };
}

/** Notes what an answer says, and says where it cannot be true. */
function enter(ledger: Ledger, packets: readonly Uint8Array[], told: Told): string[] {
  const complaints: string[] = [];
  let accepted = 0;
  let duplicates = 0;
  for (const [index, bytes] of packets.entries()) {
    const code = told.refused.get(index);
    if (code !== undefined) {
      if (!Object.hasOwn(errorTable, code) || code === 'internal') complaints.push(`packet ${index} was refused with the code ${code}`);
      continue;
    }
    const packet = decodePacket(bytes, defaultPacketLimits);
    const isTold = index < told.until;
    if (isRejected(packet)) {
      if (isTold) complaints.push(`packet ${index} was acknowledged and is none: ${packet.detail}`);
      continue;
    }
    const key = bootKey(packet.deviceId, packet.bootId);
    const boot = ledger.get(key) ?? [];
    if (!ledger.has(key)) ledger.set(key, boot);
    const before = boot.find((one) => one.packet.seq === packet.seq && one.state === 'accepted');
    if (!isTold) boot.push({ packet, state: 'maybe' });
    else if (before === undefined) {
      boot.push({ packet, state: 'accepted' });
      accepted++;
    } else {
      duplicates++;
      if (before.packet.contentHash !== packet.contentHash)
        complaints.push(`packet ${index}, seq ${packet.seq}, was acknowledged; another one is stored under its number`);
    }
  }
  if (told.accepted !== accepted || told.duplicates !== duplicates)
    complaints.push(`${told.accepted} accepted and ${told.duplicates} duplicates were told, it must be ${accepted} and ${duplicates}`);
  return complaints;
}
