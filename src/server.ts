/** Composition root: configuration, database, modules, listen. Everything started returns how to stop it; parts are stopped in reverse
 *  order, within a deadline. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import { authApi } from './auth/api.ts';
import { apiTags } from './http/api-tags.ts';
import { webhookMessages } from './tenancy/events.ts';
import { Auth } from './auth/auth.ts';
import { conflictAudit } from './tenancy/conflict-audit.ts';
import { mayBeRecorded } from './tenancy/consents.ts';
import { idempotencyStore } from './tenancy/idempotency.ts';
import { routesByOrganization } from './tenancy/organization-routes.ts';
import { watchConsent } from './auth/consent-watch.ts';
import { createOrganization } from './auth/organizations.ts';
import { ownSubject } from './tenancy/ownership.ts';
import { startReadAudit } from './tenancy/read-audit.ts';
import { connectRevocation } from './auth/revocation.ts';
import { isExposed, needSecret } from './config.ts';
import type { Config } from './config.ts';
import { prepareDemo } from './demo.ts';
import type { Demo } from './demo.ts';
import { methodDescriptions } from './dsp/catalog/method-descriptions.ts';
import { PipelineError } from './errors.ts';
import { Cursors } from './http/cursor.ts';
import { docsAssets, docsRoutes } from './http/docs-routes.ts';
import { describeError } from './http/logger.ts';
import type { Logger } from './http/logger.ts';
import type { Route } from './http/route.ts';
import { openFilesMax } from './http/open-files.ts';
import { logRefusedCredentials } from './http/refused-credentials.ts';
import { startHttp } from './http/server.ts';
import type { HttpServer } from './http/server.ts';
import { serviceRoutes } from './http/service-routes.ts';
import type { Part } from './http/service-routes.ts';
import { startStandby } from './http/standby.ts';
import { DASHBOARD_CSP, redirects, staticFolder } from './http/static-files.ts';
import type { StaticMount } from './http/static-files.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import { startPipeline } from './pipeline/running-pipeline.ts';
import type { RunningPipeline } from './pipeline/running-pipeline.ts';
import { queryApi } from './query/api.ts';
import { serviceTurns } from './query/turns.ts';
import { recordsApi } from './records/api.ts';
import { startRecordsWork } from './records/background.ts';
import type { JournalSeals } from './records/journal-seals.ts';
import { inspectSecret, journalSealsOf, noteFirst, reseal, resealKeys } from './records/secret-change.ts';
import type { SecretState } from './records/secret-change.ts';
import { WebhookNetworks } from './records/webhook-networks.ts';
import type { SubjectId } from './signal.ts';
import { openDatabase } from './storage/database/database.ts';
import type { Database } from './storage/database/database.ts';
import { startEmbeddedPostgres } from './storage/database/embedded-postgres.ts';
import { startMaintenance } from './storage/maintenance.ts';
import type { MaintenanceState } from './storage/maintenance.ts';
import { migrate } from './storage/schema/migrate.ts';
import { organizationPool } from './storage/database/organization-pool.ts';
import { Ownership, tagOf } from './storage/ownership.ts';
import type { Instance } from './storage/ownership.ts';
import { connectionRoom, fewConnections, openRoles, poolSizes } from './storage/database/roles.ts';
import { serviceSecret } from './storage/service-secret.ts';
import type { Caller } from './caller.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

/** How long /readyz waits for the database to answer, ms. */
const READY_TIMEOUT_MS = 2000;
/** Extra time for a part to close what is open after the stop deadline, ms. */
const STOP_MOMENT_MS = 300;

export type ServiceOptions = Readonly<{
  config: Config;
  logger?: Logger;
  /** Folder with cdn/ and dashboard/ as built by scripts/build-web.ts; absent: those paths answer 404. */
  webDir?: string;
  /** Called with progress messages when a step is slow. */
  onProgress?: (message: string) => void;
  /** Abort it to give up the start; everything already started is stopped. */
  signal?: AbortSignal;
}>;

export type Service = Readonly<{
  port: number;
  /** http(s)://host:port */
  baseUrl: string;
  database: Database;
  auth: Auth;
  metrics: Metrics;
  pipeline: RunningPipeline;
  /** The first key of a new installation; never shown again. */
  firstKey: string | null;
  /** Fragment of the live page's address in a demo. */
  demoSecret: string | null;
  /** Stops in reverse order: sockets drain, accepted data becomes durable, the database closes last. Idempotent. */
  stop: () => Promise<void>;
  /** Resolves with a reason when an essential part has ended by itself. */
  failed: Promise<string>;
}>;

/** Starts everything; while another instance owns the packet log, waits and answers 503.
 *  @throws PipelineError or Error with a sentence that says what to change; nothing keeps running */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, signal } = options;
  const logger: Logger = options.logger ?? createLogger(config.logLevel);
  const stops = new Stops(logger, config.stopTimeoutMs);
  if (signal === undefined) return await startParts(options, logger, stops);
  const givenUp = new Promise<never>((_, reject) => {
    const give = (): void => reject(new PipelineError('shutting_down', 'told to stop while it was starting'));
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
  givenUp.catch(() => undefined); // after the start no one awaits it
  try {
    return await Promise.race([startParts(options, logger, stops), givenUp]);
  } finally {
    if (signal.aborted) await stops.all();
  }
}

async function startParts(options: ServiceOptions, logger: Logger, stops: Stops): Promise<Service> {
  const { config } = options;
  const instance: Instance = { id: randomUUID(), name: `${hostname()}:${config.port}` };
  const applicationName = `biosignal ${tagOf(instance)}`;
  try {
    refuseFewFiles(config);
    needSecret(config);
    await refuseTakenPort(config.host, config.port);
    const networks = new WebhookNetworks(config.webhookNetworks);
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
    const database = await openDatabase(url, { applicationName, poolSizeMax: sizes.owner, onError });
    stops.push(() => database.close());
    logger.info({ server: database.kind, schema: schema.version, applied: schema.applied }, `database: ${serverWords[database.kind]}`);

    const room = await connectionRoom(database);
    if (room.limit - room.used < config.dbConnectionsMax) logger.warn(room, `database: ${fewConnections(room, config.dbConnectionsMax)}`);

    const roles = await openRoles(database, { tag: tagOf(instance), onError }, sizes);
    stops.push(() => roles.close());
    if (roles.without !== null)
      logger.warn({ why: roles.without }, 'database: everything acts as the owner, not as the roles of its parts');

    const metrics = createMetrics();
    const { ownership, standby } = await takeLog(database, roles.ingest, instance, metrics, { ...options, logger });
    stops.push(() => ownership.release());
    if (standby !== null) stops.push(() => standby.stop());
    failures.push(ownership.ended);
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
    const sealing = await startSealing(database, config, logger);
    stops.push(sealing.stop);
    const scheme = config.tlsCert === '' ? 'http' : 'https';
    const secureCookies = scheme === 'https' || config.publicUrl.startsWith('https:') || isExposed(config);
    const auth = new Auth({
      database,
      issuer: config.publicUrl === '' ? `${scheme}://${config.host}:${config.port}` : config.publicUrl,
      secret: config.secret === '' ? await serviceSecret(database, 'signing keys') : Buffer.from(config.secret),
      allowedOrigins: config.allowedOrigins,
      secureCookies,
      sessionIdleSec: 60 * config.sessionIdleMin,
    });
    await auth.start();
    stops.push(() => auth.stop());
    const reads = startReadAudit(database.pool, (err) => logger.warn({ err }, 'audit: reads could not be written'));
    stops.push(() => reads.stop());
    stops.push(
      startRecordsWork({ pool: database.pool, networks, onError: (err) => logger.warn({ err }, 'records: background work failed') }),
    );
    const cursors = new Cursors(await serviceSecret(database, 'cursors'));
    const deviceSecret = await serviceSecret(database, 'device cookies');

    const conflicts = conflictAudit(database.pool, reads.batch, (err) => logger.warn({ err }, 'audit: a conflict could not be written'));
    stops.push(() => conflicts.stop());
    const { firstKey, demo } = await firstStart(database, auth, config, logger);
    const pipeline = await startPipeline({
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
      watched: (caller, subjectId, from) => (caller.kind === 'anonymous' ? () => undefined : reads.watch(caller, subjectId, from)),
    });
    stops.push((leftMs) => pipeline.stop(0.8 * leftMs)); // the rest is for the parts below it

    const refused = logRefusedCredentials(logger);
    stops.push(async () => refused.stop());
    const signInRefused: typeof reads.signInRefused = (account, from) => {
      metrics.credentialsRefused.inc({ reason: 'sign_in' });
      reads.signInRefused(account, from);
    };
    const readers = serviceTurns(config);
    const apiRoutes: readonly Route[] = [
      ...pipeline.routes,
      ...routesByOrganization(
        (db) => [
          ...authApi({ pool: db, auth, cursors, secureCookies, deviceSecret, signInRefused, flushReads: reads.flush }),
          ...queryApi({
            db,
            cursors,
            version,
            config,
            ...readers,
            flowingStreams: () => pipeline.flowingStreams(),
            recentSamples: (streamId, channelNo, fromNs, toNs) => pipeline.recentRuns(streamId, channelNo, fromNs, toNs),
            methods: methodDescriptions(),
            openJournal: (sealed, subjectId, entryId) => sealing.journal.open(sealed, subjectId, entryId),
          }),
          ...recordsApi({
            db,
            owner: database.pool,
            cursors,
            flowingStreams: () => pipeline.flowingStreams(),
            endSubject: (subjectId) => pipeline.eraseSubject(subjectId),
            networks,
            journal: sealing.journal,
          }),
        ],
        database.pool,
        roles.api,
      ),
      ...serviceRoutes({
        version,
        metricsToken: config.metricsToken,
        metrics: () => metrics.registry.metrics(),
        parts: async () => [...(await readiness(database, pipeline, ownership, maintenance)), ...sealing.parts()],
      }),
      ...(demo?.routes ?? []),
    ];
    const { sockets } = pipeline;
    await standby?.stop();
    const http: HttpServer = await startHttp({
      config: standby === null ? config : { ...config, port: standby.port },
      routes: [...apiRoutes, ...docsRoutes(apiRoutes, sockets, { version, tags: apiTags, webhooks: webhookMessages })],
      sockets,
      statics: [docsAssets(), redirects({ '/api-docs/': '/api-docs' }), ...webMounts(options.webDir)],
      authenticate: auth.authenticate,
      isVerified: auth.isVerified,
      originAllowed: auth.originAllowed,
      onRefused: (code, address) => {
        metrics.credentialsRefused.inc({ reason: code });
        refused.note(code, address);
      },
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
      openSubjects: () => pipeline.openSubjects(),
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
      stop: () => stops.all(),
      failed: Promise.race([...failures, new Promise<never>(() => {})]).then(async (reason) =>
        stops.begun ? new Promise<never>(() => {}) : reason,
      ),
    };
  } catch (error) {
    await stops.all();
    throw error;
  }
}

type Sealing = Readonly<{ journal: JournalSeals; parts: () => readonly Part[]; stop: () => Promise<void> }>;

/** Parts for /readyz. Signals are served even with a wrong secret, so it does not count for readiness. */
function secretParts({ state, sentence }: SecretState): readonly Part[] {
  return state === 'same' ? [] : [{ name: 'secret', ok: state === 'rotating', detail: sentence, needed: false }];
}

/** Checks whether BIO_SECRET has changed, and starts to reseal what the old value sealed. A lost secret does not stop the service from
 *  serving signals: the log, /readyz and doctor report it, and journals wait. */
async function startSealing(database: Database, config: Config, logger: Logger): Promise<Sealing> {
  const { state: found, sentence } = await inspectSecret(database, config);
  let state = found;
  const journal = journalSealsOf(database.pool, config, () => (state === 'lost' ? 'the secret that seals them was changed.' : ''));
  if (state === 'lost') logger.error({}, `secret: ${sentence}`);
  if (state === 'same') await noteFirst(database, config);
  let stopped = false;
  let working: Promise<void> = Promise.resolve();
  if (state === 'rotating') {
    const first = await resealKeys(database, config); // must precede reading them
    working = reseal(database, config, { goesOn: () => !stopped }).then(
      (done) => {
        if (done === null) return;
        state = 'same';
        logger.info(
          { ...done, keys: first + done.keys },
          'secret: everything is sealed with the new value; BIO_SECRET_PREVIOUS is not needed any more',
        );
      },
      (err: unknown) => logger.error({ err }, 'secret: sealing anew failed; it goes on at the next start'),
    );
  }
  return {
    journal,
    parts: () => secretParts({ state, sentence }),
    stop: async () => {
      stopped = true;
      await working;
    },
  };
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

/** Open files of a service without devices (measured: 32, and 5 per worker), and a few sockets. */
const OPEN_FILES = 40;
const OPEN_FILES_PER_WORKER = 6;

/** Refuses to start with too few file descriptors; otherwise a worker thread would fail and end the process with a stack trace. */
function refuseFewFiles({ dspWorkers, dbConnectionsMax }: Config): void {
  const limit = openFilesMax();
  const needed = OPEN_FILES + OPEN_FILES_PER_WORKER * dspWorkers + dbConnectionsMax;
  if (limit === null || limit >= needed) return;
  throw new PipelineError(
    'conflict',
    `This process may open ${limit} files, and needs ${needed} before the first device connects: raise it (ulimit -n 65536, or LimitNOFILE= of systemd).`,
  );
}

/** Refuses a port in use before anything is started. */
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

async function readiness(
  database: Database,
  pipeline: RunningPipeline,
  ownership: Ownership,
  { jobs }: MaintenanceState,
): Promise<readonly Part[]> {
  const part = await databasePart(database, ownership);
  // Packets are accepted while a job fails, so it is reported but does not count. The reason may name rows, so only the log has it.
  const failing = jobs.map(({ job }) => `; a job fails: ${job}`).join('');
  return [{ ...part, detail: part.detail + failing }, ...pipeline.parts()];
}

/** Checks who owns the packet log, so that an instance paused for a while reports a loss with its first answer. */
async function databasePart(database: Database, ownership: Ownership | null): Promise<Part> {
  const silence = sleep(READY_TIMEOUT_MS, `no answer within ${READY_TIMEOUT_MS} ms`, { ref: false });
  const asked = database.pool.query<{ epoch: bigint }>('select epoch from packet_log_checkpoint').then(
    ({ rows }) => {
      if (ownership !== null && rows[0]!.epoch !== ownership.epoch) ownership.lose();
      return '';
    },
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const answered = await Promise.race([asked, silence]);
  return { name: 'database', ok: answered === '', detail: answered === '' ? serverWords[database.kind] : answered };
}

/** Checks the secret of a waiting instance. With a wrong one it would accept no journals after a takeover, which is too late to find
 *  out. */
async function waitingSecret(database: Database, config: Config): Promise<readonly Part[]> {
  const silence = sleep(READY_TIMEOUT_MS, [], { ref: false });
  const asked = inspectSecret(database, config).then(secretParts, () => []); // an unavailable database is reported as a part of its own
  return await Promise.race([asked, silence]);
}

/** Claims the packet log. While another instance owns it, a standby listens on the port; if it cannot, the start fails.  @returns also the
 *  standby, to be stopped when the service itself can listen */
async function takeLog(
  database: Database,
  ingest: Database,
  instance: Instance,
  metrics: Metrics,
  { config, logger, signal }: ServiceOptions & Readonly<{ logger: Logger }>,
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
  void ownership.ended.then((why) => {
    metrics.logOwner.set(0);
    logger.error({ epoch: ownership.epoch.toString() }, `packet log: ${why}`);
  });
  logger.info({ epoch: ownership.epoch.toString() }, 'packet log: this instance owns it');
  return { ownership, standby: http ?? null };
}

/** Notes the use of a project key that a path names. */
function notePathKey(auth: Auth, path: string): void {
  const at = path.indexOf('/proj_');
  if (at >= 0) auth.notePublicKey(path.slice(at + 1).split('/', 1)[0] ?? '');
}

function webMounts(webDir: string | undefined): readonly StaticMount[] {
  if (webDir === undefined) return [];
  return [
    staticFolder({ prefix: '/cdn/', folder: join(webDir, 'cdn'), csp: "default-src 'none'", audience: 'cdn', immutable: /^v1\/\d[^/]*\// }),
    staticFolder({ prefix: '/dashboard/', folder: join(webDir, 'dashboard'), csp: DASHBOARD_CSP, audience: 'page' }),
    redirects({ '/': '/dashboard/' }),
  ];
}

/** Stops what was started, newest first. Each part gets the rest of the deadline and a moment more; one that does not end is abandoned, so
 *  that an unavailable database cannot keep the process alive. */
class Stops {
  readonly #logger: Logger;
  readonly #timeoutMs: number;
  readonly #stops: ((leftMs: number) => Promise<void>)[] = [];
  #stopping: Promise<void> | null = null;

  constructor(logger: Logger, timeoutMs: number) {
    this.#logger = logger;
    this.#timeoutMs = timeoutMs;
  }

  get begun(): boolean {
    return this.#stopping !== null;
  }

  /** @param stop receives the time it may take, ms. Called at once when the stop has already begun */
  push(stop: (leftMs: number) => Promise<void>): void {
    if (this.#stopping === null) this.#stops.push(stop);
    else void this.#one(stop, STOP_MOMENT_MS);
  }

  all(): Promise<void> {
    return (this.#stopping ??= this.#all());
  }

  async #all(): Promise<void> {
    const deadlineMs = performance.now() + this.#timeoutMs;
    for (const stop of this.#stops.toReversed()) await this.#one(stop, Math.max(STOP_MOMENT_MS, deadlineMs - performance.now()));
  }

  async #one(stop: (leftMs: number) => Promise<void>, leftMs: number): Promise<void> {
    const timer = new AbortController();
    const late = sleep(leftMs + STOP_MOMENT_MS, true, { signal: timer.signal }).catch(() => false);
    const stopped = stop(leftMs).then(
      () => false,
      (err: unknown) => {
        this.#logger.error({ err }, 'stop: a part did not stop cleanly');
        return false;
      },
    );
    if (await Promise.race([stopped, late])) this.#logger.error({ leftMs }, 'stop: a part did not stop in time');
    timer.abort();
  }
}
