/** Metrics of the nodes that share a port: the kernel gives a scrape to any of them, so each answers for all, by the label `node`. */
import { AggregatorRegistry } from 'prom-client';
import type { Aggregator, MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Bus } from '../bus/bus.ts';
import type { ClusterNode, ClusterView } from '../cluster/cluster-view.ts';
import type { Metrics } from '../metrics.ts';
import { checkSaid, decodeObject, encodeObject } from './wire.ts';

/** How long a scrape waits for another node, ms; it is left out of the answer then, and counted, as one is whose answer is damaged. */
const ANSWER_MS = 1000;

/** metrics.ts nodesSilent */
const SILENT = 'bio_nodes_silent';

const aggregators: ReadonlySet<unknown> = new Set<Aggregator>(['sum', 'first', 'min', 'max', 'average', 'omit']);

type Metric = MetricObjectWithValues<MetricValue<string>>;
type OfNode = Readonly<{ node: string; metrics: readonly Metric[] }>;
export type NodeMetricsParts = Readonly<{ bus: Bus; view: ClusterView; metrics: Metrics; self: string }>;

/** Answers the others' scrapes from now on. @returns what /metrics says, for this node and those on the same port */
export function metricsOfPort({ bus, view, metrics, self }: NodeMetricsParts): () => Promise<string> {
  const { registry } = metrics;
  const mine = async (): Promise<OfNode> => ({ node: self, metrics: (await registry.getMetricsAsJSON()) as Metric[] });
  // Who was silent is of one scrape: it is said by the node that is asked, and not again when that node answers another.
  const forAnother = async (): Promise<OfNode> => {
    const { node, metrics: all } = await mine();
    return { node, metrics: all.filter(({ name }) => name !== SILENT) };
  };
  bus.handle('metrics', async () => encodeObject(await forAnother()));
  const ask = async ({ id }: ClusterNode): Promise<OfNode | null> =>
    await bus
      .request(id, 'metrics', new Uint8Array(0), ANSWER_MS)
      .then(decodeMetrics)
      .catch(() => null);
  return async () => {
    const others = view.nodes().filter(({ id, name }) => id !== view.self && portOf(name) === portOf(self));
    const answers = await Promise.all(others.map(ask));
    const answered = answers.filter((answer) => answer !== null);
    metrics.nodesSilent.set(answers.length - answered.length);
    return await merged([await mine(), ...answered]);
  };
}

/** @throws Error: one node's damaged answer would fail the scrape of all */
function decodeMetrics(answer: Buffer): OfNode {
  const said = decodeObject<OfNode | null>(answer);
  checkSaid(typeof said?.node === 'string' && Array.isArray(said.metrics) && said.metrics.every(isMetric));
  return said!;
}

function isMetric(said: Partial<Metric> | null): boolean {
  if (said === null || ![said.name, said.help, said.type].every((text) => typeof text === 'string')) return false;
  return aggregators.has(said.aggregator) && Array.isArray(said.values) && said.values.every(isValue);
}

/** JSON has no NaN: null is one. */
function isValue(said: Partial<MetricValue<string>> | null): boolean {
  if (said === null || typeof said.labels !== 'object' || said.labels === null) return false;
  const isNumber = said.value === null || typeof said.value === 'number';
  return isNumber && Object.values(said.labels).every((label) => typeof label === 'string' || typeof label === 'number');
}

/** Nodes that share a port are called NAME/1, NAME/2. */
const portOf = (name: string): string => name.replace(/\/\d+$/, '');

/** With a label for its node no value has the labels of another one, so nothing is added up. */
async function merged(nodes: readonly OfNode[]): Promise<string> {
  const labelled = nodes.map(({ node, metrics }) =>
    metrics.map((metric) => ({
      ...metric,
      values: metric.values.map((sample) => ({ ...sample, value: sample.value ?? NaN, labels: { ...sample.labels, node } })),
    })),
  );
  return await AggregatorRegistry.aggregate(labelled).metrics();
}
