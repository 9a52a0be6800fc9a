/** Composition root: configuration, database, modules, listen. Everything started returns how to stop it; parts are stopped in reverse
 *  order, within a deadline. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { Auth } from './auth/auth.ts';
import { conflictAudit } from './tenancy/conflict-audit.ts';
import { watchConsent } from './auth/consent-watch.ts';
import { startReadAudit } from './tenancy/read-audit.ts';
import { connectRevocation } from './auth/revocation.ts';
import { isExposed, linkBase, needMailFrom, needSecret } from './config.ts';
import type { Config } from './config.ts';
import { PipelineError } from './errors.ts';
import type { Logger } from './http/logger.ts';
import { logRefusedCredentials } from './http/refused-credentials.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import type { RunningPipeline } from './pipeline/running-pipeline.ts';
import { startRecordsWork } from './records/background.ts';
import { WebhookNetworks } from './webhooks/webhook-networks.ts';
import { startRuleEmails } from './webhooks/rule-emails.ts';
import { startWebhookDeliverer } from './webhooks/webhooks.ts';
import type { Database } from './storage/database/database.ts';
import { onceAnOutage } from './storage/database/once-an-outage.ts';
import { tagOf } from './storage/log-ownership.ts';
import type { Instance } from './storage/log-ownership.ts';
import { serviceSecret } from './storage/service-secret.ts';
import { connectPipeline } from './start/connect-pipeline.ts';
import { createLogger } from './start/create-logger.ts';
import { DiskPart } from './start/disk-part.ts';
import { startDatabases } from './start/databases.ts';
import { firstStart } from './start/first-start.ts';
import { SharedTries } from './http/shared-tries.ts';
import { joinCluster } from './start/join-cluster.ts';
import { listen } from './start/listen.ts';
import { readiness } from './start/readiness.ts';
import { refuseFewFiles, refuseTakenPort } from './start/refuse.ts';
import { apiRoutesOf } from './start/routes.ts';
import { startSealing } from './start/sealing.ts';
import { Stops, whyOf } from './start/stops.ts';
import { takeLog } from './start/take-log.ts';
import { watchMaintenance } from './start/watch-maintenance.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };

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
  /** Stops in reverse order: sockets drain, accepted data becomes durable, the database closes last. Idempotent.
   *  @param why for the log, e.g. the signal */
  stop: (why?: string) => Promise<void>;
  /** Resolves with a reason when an essential part has ended by itself. */
  failed: Promise<string>;
}>;

/** Starts everything; while another instance owns the packet log, waits and answers 503.
 *  @throws PipelineError or Error with a sentence that says what to change; nothing keeps running */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, signal } = options;
  const logger: Logger = options.logger ?? createLogger(config.logLevel, config.nodeName);
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
    if (signal.aborted) await stops.all(whyOf(signal));
  }
}

async function startParts(options: ServiceOptions, logger: Logger, stops: Stops): Promise<Service> {
  try {
    return await startInOrder(options, logger, stops);
  } catch (error) {
    await stops.all('the start failed');
    throw error;
  }
}

async function startInOrder(options: ServiceOptions, logger: Logger, stops: Stops): Promise<Service> {
  const { config } = options;
  const instance: Instance = { id: randomUUID(), name: config.nodeName === '' ? `${hostname()}:${config.port}` : config.nodeName };
  refuseFewFiles(config);
  needSecret(config);
  needMailFrom(config);
  if (!config.sharePort) await refuseTakenPort(config.host, config.port);
  const networks = new WebhookNetworks(config.webhookNetworks);
  const { database, roles, exited } = await startDatabases(options, tagOf(instance), logger, stops);

  const metrics = createMetrics();
  const nodes =
    config.busDir === '' && config.natsUrl === '' ? null : await joinCluster(roles.ingest, instance, { config, logger, metrics, version });
  const { ownership, standby } =
    nodes === null
      ? await takeLog(database, roles.ingest, instance, metrics, { ...options, logger, version })
      : { ownership: nodes.membership, standby: null };
  stops.push(() => ownership.release());
  if (nodes !== null) stops.push(() => nodes.stop());
  if (standby !== null) stops.push(() => standby.stop());
  const maintenance = watchMaintenance(database, config, metrics, logger);
  stops.push(maintenance.stop);
  const sealing = await startSealing(database, config, logger);
  stops.push(sealing.stop);
  const scheme = config.tlsCert === '' ? 'http' : 'https';
  const secureCookies = scheme === 'https' || config.publicUrl.startsWith('https:') || isExposed(config);
  const address = config.publicUrl === '' ? `${scheme}://${config.host}:${config.port}` : config.publicUrl;
  const auth = new Auth({
    database,
    // Each node has an address of its own, and takes the tokens of all.
    issuer: config.publicUrl === '' && nodes !== null ? `urn:biosignal:${config.cluster}` : address,
    secret: config.secret === '' ? await serviceSecret(database, 'signing keys') : Buffer.from(config.secret),
    allowedOrigins: config.allowedOrigins,
    secureCookies,
    sessionIdleSec: 60 * config.sessionIdleMin,
  });
  await auth.start();
  stops.push(() => auth.stop());
  const reads = startReadAudit(database.pool, (err) => logger.warn({ err }, 'audit: reads could not be written'));
  stops.push(() => reads.stop());
  const notDelivered = onceAnOutage((err) => logger.warn({ err }, 'webhooks: deliveries could not be read or noted'));
  stops.push(startWebhookDeliverer({ pool: database.pool, networks, onError: notDelivered }));
  if (config.smtpUrl !== '') {
    const notSent = onceAnOutage((err) => logger.warn({ err }, 'rules: e-mail could not be read or noted'));
    const mail = { smtpUrl: config.smtpUrl, from: config.mailFrom, language: config.mailLanguage, publicUrl: linkBase(address) };
    const mailFailed = onceAnOutage((err) => logger.warn({ err }, 'rules: the mail server took no e-mail'));
    stops.push(startRuleEmails({ pool: database.pool, ...mail, onError: notSent, onServerFault: mailFailed }));
  }
  const workFailed = onceAnOutage((err) => logger.warn({ err }, 'records: background work failed'));
  stops.push(startRecordsWork({ pool: database.pool, isTurn: () => nodes === null || nodes.membership.isFirst, onError: workFailed }));

  const conflicts = conflictAudit(database.pool, reads.batch, (err) => logger.warn({ err }, 'audit: a conflict could not be written'));
  stops.push(() => conflicts.stop());
  const { firstKey, demo } = await firstStart(database, auth, config, logger);
  const pipeline = await connectPipeline({ config, roles, ownership, metrics, logger, conflicts, reads, ...nodes?.routing });
  stops.push((leftMs) => pipeline.stop(0.8 * leftMs)); // the rest is for the parts below it
  const asked = nodes?.answer(pipeline, database) ?? null;
  const tries = new SharedTries();
  nodes?.shareTries(tries);

  const refused = logRefusedCredentials(logger);
  stops.push(async () => refused.stop());
  const signInRefused: typeof reads.signInRefused = (account, from) => {
    metrics.credentialsRefused.inc({ reason: 'sign_in' });
    reads.signInRefused(account, from);
  };
  const disk = new DiskPart(database, config, logger);
  disk.parts();
  const apiRoutes = await apiRoutesOf({
    config,
    version,
    node: instance.name,
    database,
    roles,
    auth,
    networks,
    metrics,
    logger,
    reads,
    sealing,
    pipeline,
    questions: asked?.questions ?? null,
    metricsText: nodes?.metrics ?? (() => metrics.registry.metrics()),
    secureCookies,
    signInRefused,
    tries,
    parts: async () => [
      ...(await readiness(database, pipeline, ownership, maintenance.state())),
      ...sealing.parts(),
      ...(nodes?.parts() ?? []),
      ...disk.parts(),
    ],
    demoRoutes: demo?.routes ?? [],
  });
  await standby?.stop();
  const http = await listen({
    config,
    port: standby?.port ?? null,
    version,
    webDir: options.webDir,
    apiRoutes,
    pipeline,
    auth,
    database,
    reads,
    metrics,
    logger,
    onRefused: refused.note,
    tries,
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
    onError: onceAnOutage((err) => logger.warn({ err }, 'consent: what is open could not be ended; the database is asked again')),
  });
  stops.push(async () => {
    unwatch();
    disconnect();
    await pipeline.drain(performance.now() + config.stopTimeoutMs / 2);
    await http.stop();
  });
  if (nodes !== null) {
    nodes.membership.begin(pipeline);
    stops.push((leftMs) => nodes.membership.leave(0.4 * leftMs));
  }
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
    stop: (why) => stops.all(why),
    failed: Promise.race([...(exited === null ? [] : [exited]), ownership.ended, new Promise<never>(() => {})]).then(async (reason) =>
      stops.begun ? new Promise<never>(() => {}) : reason,
    ),
  };
}
