/** Connects the pipeline to organizations and people: whose a packet is, consent, the audit log. */
import { mayBeRecorded } from '../tenancy/consents.ts';
import { ownSubject } from '../tenancy/record-ownership.ts';
import type { Config } from '../config.ts';
import { PipelineError } from '../errors.ts';
import type { Logger } from '../http/logger.ts';
import type { Metrics } from '../metrics.ts';
import type { PipelineOptions } from '../pipeline/options.ts';
import { startPipeline } from '../pipeline/running-pipeline.ts';
import type { RunningPipeline } from '../pipeline/running-pipeline.ts';
import type { SubjectId } from '../signal.ts';
import type { Database } from '../storage/database/database.ts';
import { organizationPool } from '../storage/database/organization-pool.ts';
import type { LogOwner } from '../storage/log-ownership.ts';
import type { Caller } from '../caller.ts';
import type { ConflictAudit } from '../tenancy/conflict-audit.ts';
import type { ReadAudit } from '../tenancy/read-audit.ts';
import { keepScope } from '../tenancy/request-scope.ts';
import type { RoleDatabases } from '../storage/database/roles.ts';

type PipelineParts = Readonly<{
  config: Config;
  roles: RoleDatabases;
  ownership: LogOwner;
  metrics: Metrics;
  logger: Logger;
  conflicts: ConflictAudit;
  reads: ReadAudit;
  route?: PipelineOptions['route'];
  fetchFrames?: PipelineOptions['fetchFrames'];
  reachesFrames?: PipelineOptions['reachesFrames'];
}>;

/** Starts the pipeline, which knows no tenancy: here it gets whose a packet is, what may be recorded, and where to note what. */
export async function connectPipeline(parts: PipelineParts): Promise<RunningPipeline> {
  const { config, roles, ownership, metrics, logger, conflicts, reads, route, fetchFrames, reachesFrames } = parts;
  return await startPipeline({
    config,
    database: roles.ingest,
    derived: roles.worker,
    ownership,
    metrics,
    logger,
    resolveSubject: (caller, subject) => findSubject(roles.api, caller, subject),
    mayRecord: (subjectIds) => mayBeRecorded(roles.ingest.pool, subjectIds),
    onConflict: ({ sender: { caller, remoteAddress, requestId }, session: { streamId, deviceId, bootId }, seq }) =>
      conflicts.note({ caller, remoteAddress, requestId, streamId, deviceId, bootId, seq }),
    ...(route === undefined ? {} : { route }),
    ...(fetchFrames === undefined ? {} : { fetchFrames }),
    ...(reachesFrames === undefined ? {} : { reachesFrames }),
    watched: (caller, subjectId, from, foundBy) => {
      keepScope(foundBy, caller);
      return caller.kind === 'anonymous' ? () => undefined : reads.watch(caller, subjectId, from);
    },
  });
}

/** Finds the user that a viewer names; null when there is none or the caller may not see it. */
async function findSubject(api: Database, caller: Caller, subject: string): Promise<SubjectId | null> {
  if (caller.kind === 'anonymous') return null;
  try {
    return (await ownSubject(organizationPool(api, caller.orgId), caller, subject)).id;
  } catch (error) {
    if (error instanceof PipelineError && error.code === 'not_found') return null;
    throw error;
  }
}
