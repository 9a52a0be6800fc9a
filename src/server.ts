/** Composition root: configuration, database, modules, listen. Everything that is started says how to stop it; it is stopped in reverse
 *  order, within a deadline. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import { apiTags, authApi } from './auth/api.ts';
import { Auth } from './auth/auth.ts';
import { idempotencyStore } from './auth/idempotency.ts';
import { routesByOrganization } from './auth/organization-routes.ts';
import { watchConsent } from './auth/consent-watch.ts';
import { createOrganization } from './auth/organizations.ts';
import { ownSubject } from './auth/ownership.ts';
import { startReadAudit } from './auth/read-audit.ts';
import { connectRevocation } from './auth/revocation.ts';
import type { Config } from './config.ts';
import { prepareDemo } from './demo.ts';
import type { Demo } from './demo.ts';
import { methodDescriptions } from './dsp/method-descriptions.ts';
import { PipelineError } from './errors.ts';
import { Cursors } from './http/cursor.ts';
import { docsAssets, docsRoutes } from './http/docs-routes.ts';
import { describeError } from './http/logger.ts';
import type { Logger } from './http/logger.ts';
import type { Caller, Route } from './http/route.ts';
import { openFilesMax } from './http/open-files.ts';
import { startHttp } from './http/server.ts';
import type { HttpServer } from './http/server.ts';
import { serviceRoutes } from './http/service-routes.ts';
import type { Part } from './http/service-routes.ts';
import { PAGE_CSP, redirects, staticFolder } from './http/static-files.ts';
import type { StaticMount } from './http/static-files.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { startPipeline } from './pipeline.ts';
import type { Pipeline } from './pipeline.ts';
import { queryApi } from './query/api.ts';
import { recordsApi } from './records/api.ts';
import { startRecordsWork } from './records/background.ts';
import type { SubjectId } from './signal.ts';
import { openDatabase } from './storage/database.ts';
import type { Database } from './storage/database.ts';
import { startEmbeddedPostgres } from './storage/embedded-postgres.ts';
import { startMaintenance } from './storage/maintenance.ts';
import type { MaintenanceState } from './storage/maintenance.ts';
import { migrate } from './storage/migrate.ts';
import { organizationPool } from './storage/organization-pool.ts';
import { connectionRoom, fewConnections, openRoles, poolSizes } from './storage/roles.ts';
import { serviceSecret } from './storage/service-secret.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

/** Whoever asks /readyz hears within this time whether the database answers, ms. */
const READY_TIMEOUT_MS = 2000;

export type ServiceOptions = Readonly<{
  config: Config;
  logger?: Logger;
  /** Folder with cdn/ and dashboard/ as built by scripts/build-web.ts; absent: those paths answer 404. */
  webDir?: string;
  /** Hears what is being done when it takes longer than a moment. */
  onProgress?: (message: string) => void;
}>;

export type Service = Readonly<{
  port: number;
  /** http(s)://host:port */
  baseUrl: string;
  database: Database;
  auth: Auth;
  metrics: Metrics;
  pipeline: Pipeline;
  /** The first key of a new installation: known now and never again. */
  firstKey: string | null;
  /** Fragment of the live page's address in a demo. */
  demoSecret: string | null;
  /** Stops in reverse order: sockets drain, what was accepted becomes durable, the database last. Idempotent. */
  stop: () => Promise<void>;
  /** Resolves with a reason when a part without which nothing works has gone by itself. */
  failed: Promise<string>;
}>;

/** Starts everything. @throws PipelineError or Error with a sentence that says what to change */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config } = options;
  const logger: Logger = options.logger ?? createLogger(config.logLevel);
  const stops: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => (stopping ??= stopAll(stops, logger));
  try {
    refuseFewFiles(config);
    await refuseTakenPort(config.host, config.port);
    const failures: Promise<string>[] = [];
    let url = config.databaseUrl;
    if (url === '') {
      const embedded = await startEmbeddedPostgres({
        dataDir: config.dataDir,
        ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
      });
      stops.push(() => embedded.stop());
      failures.push(embedded.exited.then(() => 'the embedded database has stopped'));
      url = embedded.socketUrl;
    }
    const schema = await migrate(url, { plain: config.plainPostgres });
    const sizes = poolSizes(config.dbConnectionsMax);
    const onError = (err: Error): void => logger.warn({ err }, 'database: an idle connection failed');
    const database = await openDatabase(url, { poolSizeMax: sizes.owner, onError });
    stops.push(() => database.close());
    logger.info({ server: database.kind, schema: schema.version, applied: schema.applied }, `database: ${serverWords[database.kind]}`);

    const room = await connectionRoom(database);
    if (room.limit - room.used < config.dbConnectionsMax) logger.warn(room, `database: ${fewConnections(room, config.dbConnectionsMax)}`);

    const roles = await openRoles(database, { onError }, sizes);
    stops.push(() => roles.close());
    if (roles.without !== null)
      logger.warn({ why: roles.without }, 'database: everything acts as the owner, not as the roles of its parts');

    const metrics = createMetrics();
    let maintenance: MaintenanceState = { retentionAgeSec: 0, jobs: [] };
    stops.push(
      startMaintenance(database, {
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
      }),
    );
    const scheme = config.tlsCert === '' ? 'http' : 'https';
    const auth = new Auth({
      database,
      issuer: config.publicUrl === '' ? `${scheme}://${config.host}:${config.port}` : config.publicUrl,
      secret: config.secret === '' ? await serviceSecret(database, 'signing keys') : Buffer.from(config.secret),
      allowedOrigins: config.allowedOrigins,
    });
    await auth.start();
    stops.push(() => auth.stop());
    const reads = startReadAudit(database.pool, (err) => logger.warn({ err }, 'audit: reads could not be written'));
    stops.push(() => reads.stop());
    stops.push(startRecordsWork({ pool: database.pool, onError: (err) => logger.warn({ err }, 'records: background work failed') }));
    const cursors = new Cursors(await serviceSecret(database, 'cursors'));

    const { firstKey, demo } = await firstStart(database, auth, config, logger);
    const pipeline = await startPipeline({
      config,
      database: roles.ingest,
      derived: roles.worker,
      metrics,
      logger,
      resolveSubject: (caller, subject) => findSubject(roles.api, caller, subject),
    });
    stops.push(() => pipeline.stop());

    const apiRoutes: readonly Route[] = [
      ...pipeline.routes,
      ...routesByOrganization(
        (db) => [
          ...authApi({ pool: db, auth, cursors, secureCookies: !isLoopbackHost(config.host) }),
          ...queryApi({
            db,
            cursors,
            version,
            config,
            flowingStreams: () => pipeline.flowingStreams(),
            recentSamples: (streamId, channelNo, fromNs, toNs) => pipeline.recentRuns(streamId, channelNo, fromNs, toNs),
            methods: methodDescriptions(),
          }),
          ...recordsApi({
            db,
            owner: database.pool,
            cursors,
            flowingStreams: () => pipeline.flowingStreams(),
            endSubject: (subjectId) => pipeline.forgetSubject(subjectId),
            journalSecret: config.secret === '' ? null : Buffer.from(config.secret),
          }),
        ],
        database.pool,
        roles.api,
      ),
      ...serviceRoutes({
        version,
        metricsToken: config.metricsToken,
        metrics: () => metrics.registry.metrics(),
        parts: () => readiness(database, pipeline, maintenance),
      }),
      ...(demo?.routes ?? []),
    ];
    const { sockets } = pipeline;
    const http: HttpServer = await startHttp({
      config,
      routes: [...apiRoutes, ...docsRoutes(apiRoutes, sockets, { version, tags: apiTags })],
      sockets,
      statics: [docsAssets(), redirects({ '/api-docs/': '/api-docs' }), ...webMounts(options.webDir)],
      authenticate: auth.authenticate,
      originAllowed: auth.originAllowed,
      idempotency: idempotencyStore(database.pool),
      logger,
      observe: (exchange) => {
        const { route, status, durationMs } = exchange;
        reads.observe(exchange);
        if (status < 300) notePathKey(auth, exchange.path);
        const operation = route?.operationId ?? 'none';
        metrics.requests.inc({ operation, status });
        metrics.requestSeconds.observe({ operation }, durationMs / 1000);
      },
    });
    pipeline.attach(http);
    const disconnect = connectRevocation(auth, http);
    const unwatch = watchConsent({
      auth,
      pool: database.pool,
      http,
      endSubject: (subjectId, code) => pipeline.forgetSubject(subjectId, code),
      endProject: (projectId) => pipeline.ingest.sessions.drop((session) => session.projectId === projectId),
      onError: (err) => logger.warn({ err }, 'consent: what is open could not be ended'),
    });
    stops.push(async () => {
      unwatch();
      disconnect();
      await pipeline.drain(performance.now() + config.stopTimeoutMs / 2);
      await http.stop();
    });
    const baseUrl = `${scheme}://${config.host}:${http.port}`;
    if (demo !== null) stops.push(await demo.startDevice(baseUrl));
    return {
      port: http.port,
      baseUrl,
      database,
      auth,
      metrics,
      pipeline,
      firstKey,
      demoSecret: demo?.secret ?? null,
      stop,
      failed: Promise.race([...failures, new Promise<never>(() => {})]).then(async (reason) =>
        stopping === null ? reason : new Promise<never>(() => {}),
      ),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const serverWords = {
  timescale: 'TimescaleDB, community licence',
  timescale_apache: 'TimescaleDB, Apache licence: no columnstore, no continuous aggregates; portable rollups instead',
  postgres: 'plain PostgreSQL: no hypertables, no columnstore, no continuous aggregates; native partitions and portable rollups instead',
} as const;

/** @param destination default: standard output */
export function createLogger(level: Config['logLevel'], destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/** An installation without any organization gets one, with its first key; a demo also gets its user and device. */
async function firstStart(
  database: Database,
  auth: Auth,
  config: Config,
  logger: Logger,
): Promise<{ firstKey: string | null; demo: Demo | null }> {
  if (!config.demo) return { firstKey: null, demo: null };
  const { rows: organizations } = await database.pool.query('select 1 from organization limit 1');
  const firstKey = organizations.length > 0 ? null : (await createOrganization(database.pool, 'Demo')).apiKey.key;
  const { rows } = await database.pool.query<{ org_id: string; project_id: string }>(
    `select p.organization_id as org_id, p.id as project_id from project p join organization o on o.id = p.organization_id
     where o.name = 'Demo' and p.archived_at is null order by p.created_at limit 1`,
  );
  const project = rows[0];
  if (project === undefined) {
    logger.warn({}, 'demo: the organization Demo has no project any more, so nothing is shown; create one, or start without BIO_DEMO');
    return { firstKey, demo: null };
  }
  const demo = await prepareDemo(database, auth, { orgId: project.org_id, projectId: project.project_id }, logger);
  return { firstKey, demo };
}

/** Files that a service without devices has open (measured: 32, and 5 a worker), and a few sockets. */
const OPEN_FILES = 40;
const OPEN_FILES_PER_WORKER = 6;

/** Says so before a worker thread fails for want of one, which ends the process with a stack. */
function refuseFewFiles({ dspWorkers, dbConnectionsMax }: Config): void {
  const limit = openFilesMax();
  const needed = OPEN_FILES + OPEN_FILES_PER_WORKER * dspWorkers + dbConnectionsMax;
  if (limit === null || limit >= needed) return;
  throw new PipelineError(
    'conflict',
    `This process may open ${limit} files, and needs ${needed} before the first device connects: raise it (ulimit -n 65536, or LimitNOFILE= of systemd).`,
  );
}

/** Says so before anything is started. */
async function refuseTakenPort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program uses it' : error.message;
      reject(new PipelineError('conflict', `Cannot listen on ${host}:${port}: ${why}. Set PORT to another one, e.g. PORT=${port + 1}.`));
    });
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}

/** The user that a viewer names; null when there is none or the caller may not see it. */
async function findSubject(api: Database, caller: Caller, subject: string): Promise<SubjectId | null> {
  if (caller.kind === 'anonymous') return null;
  try {
    return (await ownSubject(organizationPool(api, caller.orgId), caller, subject)).id;
  } catch (error) {
    if (error instanceof PipelineError && error.code === 'not_found') return null;
    throw error;
  }
}

async function readiness(database: Database, pipeline: Pipeline, { jobs }: MaintenanceState): Promise<readonly Part[]> {
  const silence = sleep(READY_TIMEOUT_MS, `no answer within ${READY_TIMEOUT_MS} ms`, { ref: false });
  const asked = database.pool.query('select 1').then(
    () => '',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const answered = await Promise.race([asked, silence]);
  // Packets are taken while a job fails, so it is said and does not count. Why it fails may name rows: that is for the log.
  const failing = jobs.map(({ job }) => `; a job fails: ${job}`).join('');
  const detail = answered === '' ? serverWords[database.kind] + failing : answered;
  return [{ name: 'database', ok: answered === '', detail }, ...pipeline.parts()];
}

/** A project may be named by its key in a path. */
function notePathKey(auth: Auth, path: string): void {
  const at = path.indexOf('/proj_');
  if (at >= 0) auth.notePublicKey(path.slice(at + 1).split('/', 1)[0] ?? '');
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function webMounts(webDir: string | undefined): readonly StaticMount[] {
  if (webDir === undefined) return [];
  return [
    staticFolder({ prefix: '/cdn/', folder: join(webDir, 'cdn'), csp: "default-src 'none'", audience: 'cdn', immutable: /^v1\/\d[^/]*\// }),
    staticFolder({ prefix: '/dashboard/', folder: join(webDir, 'dashboard'), csp: PAGE_CSP, audience: 'page' }),
    redirects({ '/': '/dashboard/' }),
  ];
}

async function stopAll(stops: readonly (() => Promise<void>)[], logger: Logger): Promise<void> {
  for (const stop of stops.toReversed()) {
    await stop().catch((err: unknown) => logger.error({ err }, 'stop: a part did not stop cleanly'));
  }
}
