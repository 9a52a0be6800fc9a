/** Maintenance of the database, with its state in metrics and log. */
import type { Config } from '../config.ts';
import type { Logger } from '../http/logger.ts';
import type { Metrics } from '../metrics.ts';
import type { Database } from '../storage/database/database.ts';
import { startMaintenance } from '../storage/maintenance.ts';
import type { MaintenanceState } from '../storage/maintenance.ts';

/** Starts the background jobs of the database. @returns what they last found, and how to stop them */
export function watchMaintenance(
  database: Database,
  config: Config,
  metrics: Metrics,
  logger: Logger,
): Readonly<{ state: () => MaintenanceState; stop: () => Promise<void> }> {
  let maintenance: MaintenanceState = { retentionAgeSec: 0, jobs: [] };
  const stop = startMaintenance(database, {
    retentionMs: config.retentionPeriodSec * 1000,
    onWatched: (found) => {
      maintenance = found;
      metrics.retentionAge.set(found.retentionAgeSec);
      metrics.jobsFailing.set(found.jobs.length);
    },
    onFault: (message, err) => {
      metrics.errors.inc({ where: 'maintenance' });
      logger.warn({ err }, `maintenance: ${message}`);
    },
  });
  return { state: () => maintenance, stop };
}
