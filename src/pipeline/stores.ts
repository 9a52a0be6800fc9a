/** Destinations of packets, samples, rows and frames: opens the writers, the feature pool and the hub. */
import type { FeatureOutput } from '../dsp/rows/feature-rows.ts';
import type { LoadRuns } from '../dsp/pool/options.ts';
import { FeaturePool } from '../dsp/pool/pool.ts';
import { beatMethods, featureMethods, featureUnits, methodSteps } from '../dsp/rows/methods.ts';
import { Hub } from '../live/hub.ts';
import { BlockWriter } from '../storage/block-writer.ts';
import { DerivedWriter } from '../storage/derived-writer.ts';
import { PacketHashes } from '../storage/packet-hashes.ts';
import type { PacketLog } from '../storage/packet-log.ts';
import type { Letter } from '../storage/set-aside.ts';
import type { StreamRegistry } from '../storage/stream-registry.ts';
import type { Write } from '../storage/database/transaction.ts';
import type { Faults } from './faults.ts';
import type { PipelineOptions } from './options.ts';
import type { StreamTable } from './stream-table.ts';

export type Stores = Readonly<{
  registry: StreamRegistry;
  log: PacketLog;
  hashes: PacketHashes;
  blocks: BlockWriter;
  rows: DerivedWriter;
  pool: FeaturePool;
  hub: Hub;
}>;

export type StoreParts = Readonly<{
  registry: StreamRegistry;
  log: PacketLog;
  /** Runs transactions of the data path that no writer covers. */
  write: Write;
  streams: StreamTable;
  faults: Faults;
  publish: (topic: string, bytes: Uint8Array) => void;
  onOutput: (output: FeatureOutput) => void;
}>;

export function openStores(options: PipelineOptions, parts: StoreParts): Stores {
  const { config, database, derived, ownership, metrics } = options;
  const { registry, log, write, streams, faults, publish, onOutput } = parts;
  const onFault = (message: string, cause: unknown): void => faults.note(message, cause);
  const onSetAside = (letters: readonly Letter[]): void => faults.noteSetAside(letters);
  const hashes = new PacketHashes(database, {
    write,
    onRefused: (streamIds, err) => faults.sayOnce({ err, streamIds }, 'packet hashes: rows were refused; their packets cannot be compared'),
  });
  const blocks = new BlockWriter(ownership.fence.fenced(database), {
    queueBytesMax: config.blockQueueBytesMax,
    onFault,
    onSetAside,
    onDamaged: (rows) => void faults.noteDamaged(rows),
  });
  const rows = new DerivedWriter(ownership.fence.fenced(derived), {
    currentMethods: [...Object.values(beatMethods).map((method) => method.code), ...featureMethods.map((method) => method.code)],
    cadences: Object.fromEntries(featureMethods.map(({ feature, cadenceSec }) => [feature, 1 / cadenceSec])),
    valueSteps: methodSteps,
    units: featureUnits,
    onFault,
    onSetAside,
  });
  const pool = openPool(options, { onOutput, onFault, loadRuns: everythingAccepted(streams, registry, blocks) });
  return { registry, log, hashes, blocks, rows, pool, hub: new Hub(config, publish, metrics) };
}

type PoolParts = Readonly<{
  onOutput: (output: FeatureOutput) => void;
  onFault: (message: string, cause: unknown) => void;
  loadRuns: LoadRuns;
}>;

function openPool({ config, metrics, logger }: PipelineOptions, parts: PoolParts): FeaturePool {
  return new FeaturePool({
    workerCount: config.dspWorkers,
    queueBytesMax: config.dspQueueBytesMax,
    taskTimeoutMs: config.dspTaskTimeoutMs,
    idleFlushMs: config.dspIdleFlushMs,
    ...parts,
    onQuarantine: ({ streamId, runs, reason }) => {
      metrics.quarantined.inc();
      if (runs.length === 0) logger.error({ streamId, reason }, 'dsp: a stream is not computed; its samples stay stored');
      else
        logger.error(
          { streamId, reason, samples: runs.map(({ channelNo, k0, samples }) => ({ channelNo, fromK: k0, toK: k0 + samples.length })) },
          'dsp: samples that stopped a worker three times were left out; they stay stored',
        );
    },
  });
}

/** Loads all accepted samples of a channel, stored or not. */
function everythingAccepted(streams: StreamTable, registry: StreamRegistry, blocks: BlockWriter): LoadRuns {
  return async (streamId, channelNo, fromNs, toNs) => {
    const stream = streams.get(streamId) ?? (await registry.findStream(streamId));
    const rateNanoHz = stream?.channels[channelNo]?.rateNanoHz;
    if (stream === null || rateNanoHz === undefined) return [];
    const runs = await blocks.loadRuns(streamId, channelNo, stream.epochNs, rateNanoHz, fromNs, toNs);
    return runs.map((run) => ({ channelNo, k0: run.k0, samples: run.samples, qmask: run.qmask }));
  };
}
