/** Records in the audit log that packets were refused because their sequence numbers were taken: a device reuses numbers, or two share an
 *  id. */
import type { Pool } from 'pg';
import { build, run } from '../storage/database/build.ts';
import type { Actor } from './audit.ts';
import { actorId, inetOf } from './audit.ts';
import type { AuditBatch } from './audit-batch.ts';

/** Window in which conflicts of one stream become one entry with a count, ms. */
const WINDOW_MS = 60_000;
/** Streams whose uuid is cached. */
const STREAMS_MAX = 10_000;
/** Conflicts waiting for the database to name their stream; any more are not counted. */
const WAITING_MAX = 10_000;

type Stream = Readonly<{ uuid: string; subject_id: string; project_id: string }>;

export type RefusedPacket = Actor & Readonly<{ streamId: number; deviceId: string; bootId: string; seq: number }>;

export type ConflictAudit = Readonly<{
  note: (refused: RefusedPacket) => void;
  /** Resolves when everything noted has been handed to the batch. */
  stop: () => Promise<void>;
}>;

export function conflictAudit(pool: Pool, batch: Pick<AuditBatch, 'count'>, onError: (error: unknown) => void): ConflictAudit {
  const streams = new Map<number, Promise<Stream | null>>();
  let waitingCount = 0;
  let last: Promise<unknown> = Promise.resolve();

  /** One at a time, so that a whole fleet in conflict takes one connection. */
  const find = (streamId: number): Promise<Stream | null> => {
    const before = last.catch(() => undefined);
    const found = before.then(async () => {
      const stream = build.selectFrom('stream').select(['uuid', 'xuser_id as subject_id', 'project_id']).where('id', '=', streamId);
      return (await run(pool, stream)).rows[0] ?? null; // erased meanwhile
    });
    last = found;
    found.catch(() => streams.delete(streamId));
    return found;
  };

  const count = ({ caller, remoteAddress, requestId, deviceId, bootId, seq }: RefusedPacket, stream: Stream): void => {
    if (caller.kind === 'anonymous') return;
    const entryOf = () => ({
      orgId: caller.orgId,
      actorKind: caller.kind,
      actorId: actorId(caller),
      action: 'packet.conflict',
      targetKind: 'stream',
      targetId: stream.uuid,
      subjectId: stream.subject_id,
      projectId: stream.project_id,
      ip: inetOf(remoteAddress),
      requestId,
      detail: { device_id: deviceId, boot_id: bootId, seq },
    });
    batch.count(`conflict ${stream.uuid} ${actorId(caller)} ${remoteAddress}`, entryOf, WINDOW_MS);
  };

  return {
    note: (refused) => {
      if (waitingCount >= WAITING_MAX) return;
      if (streams.size >= STREAMS_MAX) streams.clear();
      let stream = streams.get(refused.streamId);
      if (stream === undefined) streams.set(refused.streamId, (stream = find(refused.streamId)));
      waitingCount += 1;
      stream
        .then((found) => void (found !== null && count(refused, found)))
        .catch(onError)
        .finally(() => (waitingCount -= 1));
    },
    stop: async () => {
      await last.catch(() => undefined);
      await new Promise(setImmediate); // lets those that waited for it be counted
    },
  };
}
