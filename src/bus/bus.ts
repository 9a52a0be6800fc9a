/** Messages between the nodes of a cluster: questions with an answer to one node, and notes to all that listen. At most once, in order from
 *  one node to another; nothing is stored, so nothing here promises that data is kept. One node alone has a bus without neighbours. */
import type { NodeId } from '../cluster/cluster-view.ts';

export interface Bus {
  /** This node. */
  readonly node: NodeId;
  /** Asks a node, and waits for its answer. Asked by its own id, a node answers itself.
   *  @param kind lower-case letters and hyphens
   *  @throws PipelineError unavailable: the node is not there, has not answered in time, or too much waits for it; the error that its answer
   *  threw, by code and detail */
  request(to: NodeId, kind: string, body: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** Answers questions of a kind. @returns ends it */
  handle(kind: string, answer: (from: NodeId, body: Uint8Array) => Promise<Uint8Array> | Uint8Array): () => void;
  /** Tells all nodes that subscribe to the topic, this one included. Dropped where it cannot be taken at once. */
  publish(topic: string, body: Uint8Array): void;
  /** @returns ends it */
  subscribe(topic: string, on: (body: Uint8Array, from: NodeId) => void): () => void;
  /** `away`: questions to others fail at once until it is open again. */
  readonly state: 'open' | 'away';
  /** Answers no more; questions that wait are refused. */
  close(): Promise<void>;
}
