/** Messages between the nodes of a cluster: questions with an answer, and notes without. At most once, in order from one node to another;
 *  nothing is stored, so nothing here promises that data is kept. A node alone has no bus. */
import type { NodeId } from '../cluster/cluster-view.ts';
import { noAnswer } from './failures.ts';

export type Answer = (from: NodeId, body: Buffer) => Promise<Uint8Array> | Uint8Array;

export interface Bus {
  /** This node. */
  readonly node: NodeId;
  /** Asks a node, and waits for its answer.
   *  @param kind lower-case letters and hyphens
   *  @param body up to MESSAGE_BYTES_MAX; must not change afterwards, as it may wait to be sent
   *  @throws PipelineError what the answer threw, by code and message, as a ToldFailure; unavailable: the node is not there, has not
   *  answered in time, or too much waits for it */
  request(to: NodeId, kind: string, body: Uint8Array, timeoutMs: number): Promise<Buffer>;
  /** Tells a node something. Dropped where it cannot be sent at once. */
  send(to: NodeId, kind: string, body: Uint8Array): void;
  /** Answers questions of a kind, or takes its notes. One handler a kind. */
  handle(kind: string, answer: Answer): void;
  /** `away`: questions fail until it is open again. */
  readonly state: 'open' | 'away';
  /** Why it is away, for people; '' while it is open. */
  readonly why: string;
  /** Answers no more; questions that wait are refused. */
  close(): Promise<void>;
}

/** Size of a question or an answer, bytes. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024;

/** @throws PipelineError unavailable: an answer that no transport takes */
export function refuseLarge(answer: Uint8Array): Uint8Array {
  if (answer.length > MESSAGE_BYTES_MAX) throw noAnswer(`its answer of ${answer.length} bytes is too large`);
  return answer;
}
