/** Parts of the service as /readyz lists them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import type { Caller } from '../caller.ts';
import type { Auth } from '../auth/auth.ts';
import type { AuthRequest } from '../http/route.ts';
import type { Part } from '../http/service-routes.ts';
import type { RunningPipeline } from '../pipeline/running-pipeline.ts';
import { inspectSecret } from '../records/secret-change.ts';
import type { SecretState } from '../records/secret-change.ts';
import type { Database } from '../storage/database/database.ts';
import type { MaintenanceState } from '../storage/maintenance.ts';
import type { LogOwner } from '../storage/log-ownership.ts';

/** How long /readyz waits for the database to answer, ms. */
const READY_TIMEOUT_MS = 2000;

export const serverWords = {
  timescale: 'TimescaleDB, community licence',
  timescale_apache: 'TimescaleDB, Apache licence: no columnstore',
  postgres: 'plain PostgreSQL: no hypertables, no columnstore; native partitions instead',
} as const;

/** Parts for /readyz. Signals are served even with a wrong secret, so it does not count for readiness. */
export function secretParts({ state, sentence }: SecretState): readonly Part[] {
  return state === 'same' ? [] : [{ name: 'secret', ok: state === 'rotating', detail: sentence, needed: false }];
}

export async function readiness(
  database: Database,
  pipeline: RunningPipeline,
  ownership: LogOwner,
  { jobs }: MaintenanceState,
): Promise<readonly Part[]> {
  const part = await databasePart(database, ownership);
  // Packets are accepted while a job fails, so it is reported but does not count. The reason may name rows, so only the log has it.
  const failing = jobs.map(({ job }) => `; a job fails: ${job}`).join('');
  return [{ ...part, detail: part.detail + failing }, ...pipeline.parts()];
}

/** Checks who owns the packet log, so that an instance paused for a while reports a loss with its first answer. */
export async function databasePart(database: Database, ownership: LogOwner | null): Promise<Part> {
  const silence = sleep(READY_TIMEOUT_MS, `no answer within ${READY_TIMEOUT_MS} ms`, { ref: false });
  const asked = database.pool.query<{ partition: number; epoch: bigint }>('select partition, epoch from packet_log_checkpoint').then(
    ({ rows }) => {
      if (ownership?.fence.isBehind(rows) === true) ownership.lose();
      return '';
    },
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const answered = await Promise.race([asked, silence]);
  return { name: 'database', ok: answered === '', detail: answered === '' ? serverWords[database.kind] : answered };
}

/** Checks the secret of a waiting instance. With a wrong one it would accept no journals after a takeover, which is too late to find
 *  out. */
export async function waitingSecret(database: Database, config: Config): Promise<readonly Part[]> {
  const silence = sleep(READY_TIMEOUT_MS, [], { ref: false });
  const asked = inspectSecret(database, config).then(secretParts, () => []); // an unavailable database is reported as a part of its own
  return await Promise.race([asked, silence]);
}

/** May the sender of a request read the details of /readyz? Sessions of the dashboard may, and keys of scope admin. Only a credential that
 *  this process has verified before is looked at: others are counted elsewhere, against guessing. */
export async function mayReadDetails(auth: Auth, request: Omit<AuthRequest, 'access'>): Promise<boolean> {
  const asked: AuthRequest = { ...request, access: { operator: 'viewer', key: 'admin' } };
  if (!auth.isVerified(asked)) return false;
  const authenticate = async (): Promise<Caller> => await auth.authenticate(asked); // throws at once what it knows to have ended
  const verified = authenticate().then(
    (caller) => caller.kind === 'operator' || (caller.kind === 'key' && caller.scopes.includes('admin')),
    () => false, // ended, or the database is away
  );
  return await Promise.race([verified, sleep(READY_TIMEOUT_MS, false, { ref: false })]);
}
