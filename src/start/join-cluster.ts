/** Joins the nodes that share this database: ownership of partitions, messages, and what is asked of and answered to the others. */
import { SocketBus } from '../bus/socket-bus.ts';
import type { Bus } from '../bus/bus.ts';
import type { NodeId } from '../cluster/cluster-view.ts';
import { epochsUsed } from '../cluster/epochs.ts';
import { HUNG_MS } from '../cluster/takeover.ts';
import type { Config } from '../config.ts';
import { metricsOfPort } from '../forward/node-metrics.ts';
import { openDoor } from '../forward/owner-door.ts';
import { Questions } from '../forward/questions.ts';
import { Reach } from '../forward/reach.ts';
import { RemoteFeeds } from '../forward/remote-feeds.ts';
import { RoutedSink } from '../forward/routed-sink.ts';
import { shareTries } from '../forward/tries.ts';
import type { Logger } from '../http/logger.ts';
import type { Part } from '../http/service-routes.ts';
import type { SharedTries } from '../http/shared-tries.ts';
import type { Metrics } from '../metrics.ts';
import type { PipelineOptions } from '../pipeline/options.ts';
import type { RunningPipeline } from '../pipeline/running-pipeline.ts';
import type { SubjectId } from '../signal.ts';
import type { Database } from '../storage/database/database.ts';
import { Membership } from '../storage/membership.ts';
import type { Instance } from '../storage/log-ownership.ts';
import { NodeClock } from './node-clock.ts';
import { logBusFaults } from './bus-faults.ts';

/** Nodes of one name live next to each other for so long before it is said, ms: longer than one that was killed counts as living. */
const SAME_NAME_MS = HUNG_MS + 2000;

type JoinOptions = Readonly<{ config: Config; logger: Logger; metrics: Metrics; version: string }>;

export type Nodes = Readonly<{
  membership: Membership;
  /** For the pipeline. */
  routing: Required<Pick<PipelineOptions, 'route' | 'fetchFrames' | 'reachesFrames'>>;
  /** Answers the others from now on. */
  answer: (pipeline: RunningPipeline, database: Database) => Readonly<{ questions: Questions }>;
  /** Failures at this node count at the others. */
  shareTries: (tries: SharedTries) => void;
  /** For /readyz. */
  parts: () => readonly Part[];
  /** Text of /metrics. */
  metrics: () => Promise<string>;
  /** Ends the talk with the others. */
  stop: () => Promise<void>;
}>;

/** @throws PipelineError conflict while a node alone owns the database's packet log */
export async function joinCluster(ingest: Database, instance: Instance, options: JoinOptions): Promise<Nodes> {
  const bus = await openBus(instance, options);
  const membership = await join(ingest, instance, options).catch(async (error: unknown) => {
    await bus.close();
    throw error;
  });
  tellMoves(bus, membership);
  const { reach, clock } = watchOthers(bus, membership, options.logger);
  countPartitions(options.metrics, bus, membership, reach);
  const forwarded = options.metrics.packetsForwarded.tally({});
  let feeds: RemoteFeeds | null = null;
  return {
    membership,
    routing: {
      route: (local, subjectOf) => new RoutedSink({ local, view: membership, bus, subjectOf, forwarded }),
      fetchFrames: (subjectId, selection, after) => feeds?.fetch(subjectId, selection, after) ?? null,
      reachesFrames: (subjectId) => feeds?.reaches(subjectId) ?? true,
    },
    answer: (pipeline, database) => {
      openDoor(bus, pipeline.ingest, pipeline.local);
      feeds = new RemoteFeeds(bus, membership, pipeline.hub, reach);
      const questions = new Questions({
        bus,
        view: membership,
        recent: (streamId, channelNo, fromNs, toNs) => pipeline.recentRuns(streamId, channelNo, fromNs, toNs),
        eraseSubject: (subjectId) => pipeline.eraseSubject(subjectId),
        subjectOfStream: (streamId) => subjectOfStream(database, streamId),
      });
      return { questions };
    },
    shareTries: (tries) => shareTries(bus, membership, tries),
    parts: () => [busPart(bus, membership, reach), ...clock.parts()],
    metrics: options.config.sharePort
      ? metricsOfPort({ bus, view: membership, metrics: options.metrics, self: instance.name })
      : () => options.metrics.registry.metrics(),
    stop: async () => {
      feeds?.stop();
      reach.stop();
      clock.stop();
      await bus.close();
    },
  };
}

/** A node without its bus still takes its own devices, so it counts as ready. */
function busPart(bus: Bus, membership: Membership, { unreached }: Reach): Part {
  if (unreached.length > 0) return { name: 'bus', ok: false, detail: `open, but ${notReached(unreached)}`, needed: false };
  const others = membership.nodes().filter(({ id }) => id !== membership.self).length;
  if (bus.state === 'open')
    return { name: 'bus', ok: true, detail: `open, to ${others} other node${others === 1 ? '' : 's'}`, needed: false };
  return { name: 'bus', ok: false, detail: `${bus.why}; devices and viewers of people of other nodes are refused`, needed: false };
}

const notReached = (names: readonly string[]): string =>
  `${names.join(', ')} ${names.length === 1 ? 'does' : 'do'} not answer: BIO_NATS_URL and BIO_CLUSTER, or BIO_BUS_DIR, must be the same on every node`;

function watchOthers(bus: Bus, membership: Membership, logger: Logger): { reach: Reach; clock: NodeClock } {
  const clock = new NodeClock(membership, logger);
  const onChange = (unreached: readonly string[]): void => {
    if (unreached.length === 0) logger.info({}, 'cluster: every other node answers again');
    else logger.warn({}, `cluster: ${notReached(unreached)}; packets of their people that come here are refused`);
  };
  const reach = new Reach(bus, membership, onChange, () => clock.agree(reach.startsMs));
  membership.onChange(() => void reach.ask());
  warnOfSameName(membership, logger);
  return { reach, clock };
}

/** As where settings were copied from one machine to another. Of each that lives next to this one: a killed predecessor, which still
 *  counts as living for a while, is none, and does not use the warning up. */
function warnOfSameName(membership: Membership, logger: Logger): void {
  const seen = new Set<NodeId>();
  membership.onChange(() => {
    const nodes = membership.nodes();
    const mine = nodes.find(({ id }) => id === membership.self)?.name;
    for (const { id, name } of nodes) {
      if (name !== mine || id === membership.self || seen.has(id)) continue;
      seen.add(id);
      setTimeout(() => {
        if (membership.nodes().every((node) => node.id !== id)) return;
        logger.warn({}, `cluster: another node is called ${mine}, too: give each a BIO_NODE_NAME of its own`);
      }, SAME_NAME_MS).unref();
    }
  });
}

/** The library of NATS is loaded only where it is used. */
async function openBus({ id }: Instance, { config, logger, metrics }: JoinOptions): Promise<Bus> {
  const logFault = logBusFaults(logger);
  const onFault = (err: unknown): void => {
    metrics.errors.inc({ where: 'cluster' });
    logFault(err);
  };
  if (config.natsUrl === '') return await SocketBus.open(config.busDir, id, onFault);
  const { NatsBus } = await import('../bus/nats-bus.ts');
  const options = { url: config.natsUrl, ca: config.natsCa, cluster: config.cluster, mayBePlain: config.natsPlain };
  const onState = (state: 'open' | 'away', why: string): void => {
    if (state === 'open') logger.info({}, 'cluster: the message server is there again');
    else logger.warn({}, `cluster: ${why}; packets and viewers of other nodes' people are refused until it is there again`);
  };
  return await NatsBus.open({ ...options, onState, onFault }, id);
}

async function join(ingest: Database, instance: Instance, { config, logger, metrics, version }: JoinOptions): Promise<Membership> {
  const membership = await Membership.join(ingest, {
    instance,
    version,
    address: config.nodeAddress,
    cluster: config.natsUrl === '' ? '' : config.cluster,
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

function countPartitions(metrics: Metrics, bus: Bus, membership: Membership, reach: Reach): void {
  const { partitions, partitionsWithoutOwner, epochs, clockOff, busOpen } = metrics;
  partitions.read = () => membership.fence.held.partitions.length;
  partitionsWithoutOwner.read = () => membership.withoutOwner;
  epochs.read = () => epochsUsed(membership.newestEpoch);
  clockOff.read = () => membership.clockOffMs / 1000;
  busOpen.read = () => (bus.state === 'open' && reach.unreached.length === 0 ? 1 : 0);
}

/** The others hear at once what this node has taken or given back: they look every second anyway. */
function tellMoves(bus: Bus, membership: Membership): void {
  let before = '';
  bus.handle('moved', () => {
    membership.lookAgain();
    return new Uint8Array(0);
  });
  membership.onChange(() => {
    const mine = membership.fence.held.partitions.join();
    if (mine === before) return;
    before = mine;
    for (const { id } of membership.nodes()) if (id !== membership.self) bus.send(id, 'moved', new Uint8Array(0));
  });
}

async function subjectOfStream({ pool }: Database, streamId: number): Promise<SubjectId | null> {
  const { rows } = await pool.query<{ xuser_id: string }>('select xuser_id from stream where id = $1', [streamId]);
  return (rows[0]?.xuser_id as SubjectId | undefined) ?? null;
}
