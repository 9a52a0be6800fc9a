/** Routes of an instance on standby, while another one owns the packet log: health, readiness, metrics; everything else is 503. */
import { PipelineError } from '../errors.ts';
import type { Logger } from './logger.ts';
import { startHttp } from './server.ts';
import type { HttpConfig, HttpServer } from './server.ts';
import { serviceRoutes } from './service-routes.ts';
import type { ServiceDeps } from './service-routes.ts';

/** Retry-After of a waiting instance, s. */
const RETRY_AFTER_SEC = 1;

/** Listens on the port of the service until it is stopped.  @param deps their parts say what the instance is waiting for */
export async function startStandby(config: HttpConfig, logger: Logger, deps: ServiceDeps): Promise<HttpServer> {
  const routes = serviceRoutes(deps);
  const answered = new Set(routes.map(({ path }) => path));
  return await startHttp({
    config,
    routes,
    authenticate: () => ({ kind: 'anonymous' }),
    refuse: (path) =>
      answered.has(path)
        ? null
        : new PipelineError('unavailable', 'This instance waits to take over from another one.', { retryAfterSec: RETRY_AFTER_SEC }),
    logger,
  });
}
