/** Every advisory lock that the service takes, in TypeScript and in SQL: two tasks that share a number exclude each other. No other file of
 *  src has a lock number; the files of sql/ cannot import, so they repeat theirs. test/storage/locks.int.test.ts checks both against this
 *  table, and that no number is used twice. */

/** Locks with a number of their own, as the one-argument functions take it. */
export const locks = {
  /** One migration at a time per database, however many services start at once. */
  migration: 8_031_447_120_943n,
  /** Creation of the template database that tests clone. */
  testTemplate: 8_031_447_120_944n,
  /** Held by the owner of the packet log as long as it runs (sql/000011-log-ownership.sql); shared by the nodes of a cluster. */
  packetLog: 8_031_447_120_945n,
  /** The service that applies the retention of projects. */
  projectRetention: 8_031_447_120_946n,
} as const;

/** Locks of two numbers, as the two-argument functions take them (a space of their own). */
export const pairLocks = {
  /** And the partition: held shared by every write of the data path to its commit, alone by a claim (sql/000063-partitions.sql). */
  logHold: [803_145, 0],
  /** And a number of the node's own: held as long as a node of a cluster runs (sql/000080-cluster-nodes.sql). */
  clusterNode: [803_146, 0],
  /** Held shared by writers of features from their note to their commit, alone by the refresh while it takes its list
   *  (sql/000058-rollups.sql). */
  noted: [803_144, 1],
  /** The refresh, from its list to its last commit; erasure keeps it out. */
  refresh: [803_144, 2],
} as const;

/** Locks by name, hashed by the server; one that ends with a space has a name behind it. */
export const namedLocks = {
  signingKey: 'biosignal signing key',
  episodeRules: 'biosignal episode rules',
  /** And the table: one maker of its partitions at a time (sql/000008-partitions.sql). */
  partition: 'biosignal partition ',
  /** And the stream: one replacement of its beats and values after the other, by the service or by reprocess. */
  derived: 'biosignal derived ',
  /** And the organization: it is moved by one command at a time, and not sent back or removed by another. */
  move: 'biosignal move ',
  /** And the person: held shared while they are erased, alone while an erasure that was interrupted is finished. */
  erasure: 'biosignal erasure ',
  /** And the recording: corrections of its beats are made and taken up again one after the other. */
  corrections: 'biosignal corrections ',
  /** And the person: the quality of their measurements is corrected by one request after the other. */
  measurements: 'biosignal measurements ',
  /** And the organization: entries of its audit chain one after the other (sql/000016-audit.sql). */
  audit: 'biosignal audit ',
} as const;

/** A lock by name as the argument of an advisory lock function. */
export const derivedLock = (streamId: number): string => `hashtextextended('${namedLocks.derived}${streamId}', 0)`;
export const correctionsLock = (streamId: number): string => `hashtextextended('${namedLocks.corrections}${streamId}', 0)`;
export const hashedLock = (name: (typeof namedLocks)['signingKey' | 'episodeRules']): string => `hashtextextended('${name}', 0)`;
export const measurementsLock = (personId: string): string => `hashtextextended('${namedLocks.measurements}${personId}', 0)`;
export const moveLock = (orgId: string): string => `hashtextextended('${namedLocks.move}${orgId}', 0)`;
export const erasureLock = (personId: string): string => `hashtextextended('${namedLocks.erasure}${personId}', 0)`;
