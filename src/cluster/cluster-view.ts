/** A node's view of the cluster: who owns which partition now, as the database last said. It may be outdated by a second: the owner
 *  itself refuses what is no longer its own, and then the view is asked again. */

/** A node's id, new at every start (uuid). */
export type NodeId = string;

export type ClusterNode = Readonly<{
  id: NodeId;
  /** What operators call it. */
  name: string;
  /** Where devices and viewers reach it directly, such as https://node-2:8080; empty: through the common address only. */
  address: string;
  draining: boolean;
}>;

export interface ClusterView {
  readonly self: NodeId;
  /** Number of partitions of the database. */
  readonly partitionCount: number;
  /** The owner of a subject's partition; null: nobody at the moment. */
  ownerOf(subjectId: string): NodeId | null;
  nodes(): readonly ClusterNode[];
  /** What this node knows seems to be outdated: a node did not answer, or said that something has moved. */
  lookAgain(): void;
  /** Resolves when the view is of now: after a node was suspended, its view is of before.
   *  @throws PipelineError unavailable: the database does not answer */
  lookNow(): Promise<void>;
  /** Called after owners or nodes have changed. @returns ends it */
  onChange(changed: () => void): () => void;
}
