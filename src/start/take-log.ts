/** Waits until this instance owns the packet log; meanwhile a standby listens on the port. */
import { epochsUsed } from '../cluster/epochs.ts';
import type { Config } from '../config.ts';
import type { Logger } from '../http/logger.ts';
import type { HttpServer } from '../http/server.ts';
import type { Part } from '../http/service-routes.ts';
import { startStandby } from '../http/standby.ts';
import type { Metrics } from '../metrics.ts';
import type { Database } from '../storage/database/database.ts';
import { Ownership } from '../storage/log-ownership.ts';
import type { Instance } from '../storage/log-ownership.ts';
import { databasePart, waitingSecret } from './readiness.ts';

export type LogOptions = Readonly<{ config: Config; logger: Logger; signal?: AbortSignal; version: string }>;

/** Claims the packet log. While another instance owns it, a standby listens on the port; if it cannot, the start fails.
 *  @returns also the standby, to be stopped when the service itself can listen */
export async function takeLog(
  database: Database,
  ingest: Database,
  instance: Instance,
  metrics: Metrics,
  { config, logger, signal, version }: LogOptions,
): Promise<{ ownership: Ownership; standby: HttpServer | null }> {
  let ownership: Ownership | null = null;
  const standby: { http: Promise<HttpServer> | null } = { http: null };
  const deaf = new AbortController();
  const logPart = (): Part => {
    const detail = ownership === null ? 'standby: another instance has the log; this one waits to take over' : 'taking over';
    return { name: 'packet_log', ok: false, detail };
  };
  const listen = async (): Promise<HttpServer> =>
    await startStandby(config, logger, {
      version,
      node: instance.name,
      metricsToken: config.metricsToken,
      metrics: () => metrics.registry.metrics(),
      parts: async () => [await databasePart(ingest, null), logPart(), ...(await waitingSecret(database, config))],
      standby: () => true,
    });
  try {
    ownership = await Ownership.claim(ingest, {
      instance,
      signal: signal === undefined ? deaf.signal : AbortSignal.any([signal, deaf.signal]),
      onStandby: (owner) => {
        logger.warn({ owner }, 'packet log: another instance has it; this one waits to take over');
        void waitingSecret(database, config).then((parts) => {
          for (const { ok, detail } of parts) if (!ok) logger.error({}, `secret: ${detail}`);
        });
        standby.http = listen();
        standby.http.catch((error: unknown) => deaf.abort(error)); // fail now, not when it is needed
      },
      onFault: (message, err) => {
        metrics.errors.inc({ where: 'ownership' });
        logger.warn({ err }, message);
      },
    });
  } catch (error) {
    await standby.http?.then((http) => http.stop()).catch(() => undefined);
    throw deaf.signal.aborted ? deaf.signal.reason : error;
  }
  const http = await standby.http?.catch(async (error: unknown) => {
    await ownership?.release();
    throw error;
  });
  metrics.logOwner.set(1);
  const { epoch } = ownership;
  metrics.epochs.read = () => epochsUsed(epoch);
  void ownership.ended.then((why) => {
    metrics.logOwner.set(0);
    logger.error({ epoch: ownership.epoch.toString() }, `packet log: ${why}`);
  });
  logger.info({ epoch: ownership.epoch.toString() }, 'packet log: this instance owns it');
  return { ownership, standby: http ?? null };
}
