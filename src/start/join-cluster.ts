/** Joins the nodes that share this database. */
import type { Config } from '../config.ts';
import type { Logger } from '../http/logger.ts';
import type { Metrics } from '../metrics.ts';
import type { Database } from '../storage/database/database.ts';
import { Membership } from '../storage/membership.ts';
import type { Instance } from '../storage/log-ownership.ts';

type JoinOptions = Readonly<{ config: Config; logger: Logger; metrics: Metrics; version: string }>;

/** @throws PipelineError conflict while a node alone owns the database's packet log */
export async function joinCluster(ingest: Database, instance: Instance, { logger, metrics, version }: JoinOptions): Promise<Membership> {
  const membership = await Membership.join(ingest, {
    instance,
    version,
    onFault: (message, err) => {
      metrics.errors.inc({ where: 'ownership' });
      logger.warn({ err }, message);
    },
    onMove: (fields, message) => logger.info(fields, message),
  });
  membership.onChange(() => metrics.logOwner.set(membership.fence.held.partitions.length > 0 ? 1 : 0));
  void membership.ended.then((why) => {
    metrics.logOwner.set(0);
    logger.error({}, `cluster: ${why}`);
  });
  return membership;
}
