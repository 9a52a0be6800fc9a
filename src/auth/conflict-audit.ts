/** Enters into the audit log that packets were refused because others have their numbers: a device that reuses numbers, or two with one id. */
import type { Pool } from 'pg';
import type { Caller } from '../http/route.ts';
import { audit } from './audit.ts';

/** Entries that wait for the database; more are not made. */
const WAITING_MAX = 1000;

export type RefusedPackets = Readonly<{
  caller: Caller;
  streamId: number;
  deviceId: string;
  bootId: string;
  /** Of the newest one. */
  seq: number;
  /** Refused since the entry before. */
  count: number;
}>;

export type ConflictAudit = Readonly<{
  /** Makes an entry, one after the other: a fleet that starts to conflict takes one connection. */
  note: (refused: RefusedPackets) => void;
  /** Ends when what was noted is written. */
  stop: () => Promise<void>;
}>;

export function conflictAudit(pool: Pool, onError: (error: unknown) => void): ConflictAudit {
  let waitingCount = 0;
  let last: Promise<void> = Promise.resolve();
  const write = async ({ caller, streamId, deviceId, bootId, seq, count }: RefusedPackets): Promise<void> => {
    const { rows } = await pool.query<{ uuid: string; subject_id: string; project_id: string }>(
      'select uuid, xuser_id as subject_id, project_id from stream where id = $1',
      [streamId],
    );
    const stream = rows[0];
    if (stream === undefined) return; // erased meanwhile
    await audit(
      pool,
      { caller, remoteAddress: '', requestId: '' },
      {
        action: 'packet.conflict',
        targetKind: 'stream',
        targetId: stream.uuid,
        subjectId: stream.subject_id,
        projectId: stream.project_id,
        detail: { device_id: deviceId, boot_id: bootId, seq, count },
      },
    );
  };
  const note = (refused: RefusedPackets): void => {
    if (waitingCount >= WAITING_MAX) return;
    waitingCount++;
    last = last
      .then(() => write(refused))
      .catch(onError)
      .finally(() => (waitingCount -= 1));
  };
  return { note, stop: () => last };
}
