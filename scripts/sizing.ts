/** `npm run sizing`: how many devices machines and nodes carry, computed from what a packet and a device cost. The costs below are those
 *  that docs/sizing.md says were measured; put your own in their place: `npm run sizing -- --main 60 --alone 55`. Prints the tables of
 *  docs/sizing.md ("Machines") and docs/operator.md ("What a node carries"); test/docs/sizing.test.ts holds them.
 *
 *    --main US     main thread, a packet of a device that is watched (bench live-load, P1)
 *    --alone US    main thread, a packet of a device that nobody watches, one node alone (bench cluster)
 *    --second US   the same with one packet a second, 500 samples in it (bench growth, BENCH_FS=500)
 *    --forwarded F main threads of a packet that is passed on, not passed on being 1 (bench cluster)
 *    --wal BYTES   write-ahead log, and
 *    --kept BYTES  what is kept, of a device-second with 500 samples (bench disk) */
import { pathToFileURL } from 'node:url';
import { settings } from '../src/config.ts';
import { numberOption, toolOptions } from './tool-options.ts';

export type Costs = Readonly<{
  mainUs: number;
  aloneUs: number;
  secondUs: number;
  forwarded: number;
  walBytes: number;
  keptBytes: number;
}>;

/** As in docs/sizing.md, the highest of several runs. */
export const measured: Costs = {
  mainUs: 115,
  aloneUs: 78,
  secondUs: 100,
  forwarded: 1.5,
  walBytes: 1976,
  keptBytes: 838,
};

/** Share of a main thread beyond which latency grows. */
const BUSY = 0.7;
const CELL_NODES = 16;
const CELLS = 14;
const DAY_SEC = 86_400;

/** How many times what one node carries, with devices at a node by chance: (n - 1) / n of the packets are passed on. */
const timesOf = (nodes: number, forwarded: number): number => nodes / (1 + ((forwarded - 1) * (nodes - 1)) / nodes);
/** Rounded down to two digits: a plan, not a measurement. */
const plan = (value: number): number => {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return Math.floor(value / unit) * unit;
};
const perNode = (packetUs: number, packetsPerSec: number): number => (BUSY * 1e6) / packetUs / packetsPerSec;
const shown = (value: number): string => value.toLocaleString('en-US');
const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

/** Table of docs/operator.md, "What a node carries". */
export function nodesTable({ aloneUs, secondUs, forwarded, walBytes, keptBytes }: Costs = measured): string {
  const line = (nodes: number): readonly (string | number)[] => {
    const times = timesOf(nodes, forwarded);
    const seconds = plan(times * perNode(secondUs, 1));
    const wal = `${Math.round((seconds * walBytes) / 1e6)} MB/s`;
    const kept = `${((seconds * keptBytes * DAY_SEC) / 1e12).toFixed(1)} TB`;
    return [shown(plan(times * perNode(aloneUs, 10))), shown(seconds), wal, kept, nodes * settings.dbConnectionsMax.fallback];
  };
  const [tens, seconds, ...cell] = line(CELL_NODES);
  const cells = (text: string | number | undefined): string => shown(plan(CELLS * Number(String(text).replaceAll(',', ''))));
  return [
    row(
      'nodes of two cores',
      'devices of 10 packets/s, 4 channels of 250 Hz',
      'devices of 1 packet/s, 500 samples',
      'of the latter: write-ahead log',
      'kept a day',
      'connections',
    ),
    '|---|---|---|---|---|---|',
    ...[1, 3, 8].map((nodes) => row(nodes, ...line(nodes))),
    row(`${CELL_NODES}: a [cell](#cells)`, tens!, seconds!, ...cell),
    row(`${CELLS} cells of ${CELL_NODES}`, cells(tens), cells(seconds), ...cell.map((text) => `${text} each`)),
  ].join('\n');
}

/** Table of docs/sizing.md, "Machines": devices of ten packets a second, each watched. A node for every two cores. */
export function machinesTable({ mainUs, forwarded }: Costs = measured): string {
  const one = perNode(mainUs, 10);
  const nodes = (count: number): string => shown(plan(timesOf(count, forwarded) * one));
  return [
    row('machine', 'devices, watched', 'what is full first', 'source'),
    '|---|---|---|---|',
    row(
      '2 cores, 4 GiB, everything',
      shown(300),
      'both cores: main thread, PostgreSQL and a worker share them',
      '`bench/live-load.bench.ts full p1`',
    ),
    row('2 cores for the node, PostgreSQL elsewhere', shown(plan(one)), 'the main thread', 'computed'),
    row('8 cores, 16 GiB for `--processes 4`, PostgreSQL elsewhere', nodes(4), 'the main threads', 'computed'),
    row('3 machines of 2 cores, PostgreSQL elsewhere', nodes(3), 'the main threads', 'computed'),
    row('more', '[what a node carries](operator.md#what-a-node-carries)', '', 'computed'),
  ].join('\n');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const option = (fallback: number) => ({ type: 'string', default: String(fallback) }) as const;
  const { values } = toolOptions({
    options: {
      main: option(measured.mainUs),
      alone: option(measured.aloneUs),
      second: option(measured.secondUs),
      forwarded: option(measured.forwarded),
      wal: option(measured.walBytes),
      kept: option(measured.keptBytes),
    },
  });
  const costs: Costs = {
    ...measured,
    mainUs: numberOption('main', values.main),
    aloneUs: numberOption('alone', values.alone),
    secondUs: numberOption('second', values.second),
    forwarded: numberOption('forwarded', values.forwarded),
    walBytes: numberOption('wal', values.wal),
    keptBytes: numberOption('kept', values.kept),
  };
  console.log(`${machinesTable(costs)}\n\n${nodesTable(costs)}`);
}
