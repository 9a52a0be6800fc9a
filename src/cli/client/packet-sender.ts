/** The two ways in which the commands send packets, behind one interface: POST /ingest/raw-packet in batches, or WebSocket
 *  /ingest/stream. */
import { HttpSender } from './http-sender.ts';
import type { SenderOptions, SenderTotals } from './http-sender.ts';
import { SocketSender } from './socket-sender.ts';

export const transports = ['http', 'websocket'] as const;
export type Transport = (typeof transports)[number];

export type PacketSender = Readonly<{
  totals: SenderTotals;
  /** Takes a packet; waits while much is queued already. @throws what ended the sending */
  send: (bytes: Uint8Array, tag: number) => Promise<void>;
  /** Waits until everything is settled. @throws what ended the sending */
  flush: () => Promise<void>;
  /** Gives the connection back. What is not settled stays unsettled. */
  close: () => void;
}>;

/** Containers started together need some seconds to find each other. */
const FIRST_ANSWER_MS = 8000;

export function openSender(transport: Transport, given: SenderOptions): PacketSender {
  const options = { firstAnswerMs: FIRST_ANSWER_MS, ...given };
  if (transport === 'websocket') return new SocketSender(options);
  const sender = new HttpSender(options);
  return { totals: sender.totals, send: (bytes, tag) => sender.send(bytes, tag), flush: () => sender.flush(), close: () => undefined };
}
