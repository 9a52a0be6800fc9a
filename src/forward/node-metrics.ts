/** Metrics of the nodes that share a port: the kernel gives a scrape to any of them, so each answers for all, by the label `node`. */
import { AggregatorRegistry } from 'prom-client';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Bus } from '../bus/bus.ts';
import type { ClusterNode, ClusterView } from '../cluster/cluster-view.ts';
import type { Metrics } from '../metrics.ts';
import { decodeObject, encodeObject } from './wire.ts';

/** How long a scrape waits for another node, ms; it is left out of the answer then, and counted. */
const ANSWER_MS = 1000;

/** metrics.ts nodesSilent */
const SILENT = 'bio_nodes_silent';

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
    await bus.request(id, 'metrics', new Uint8Array(0), ANSWER_MS).then(decodeObject<OfNode>, () => null);
  return async () => {
    const others = view.nodes().filter(({ id, name }) => id !== view.self && portOf(name) === portOf(self));
    const answers = await Promise.all(others.map(ask));
    const answered = answers.filter((answer) => answer !== null);
    metrics.nodesSilent.set(answers.length - answered.length);
    return await merged([await mine(), ...answered]);
  };
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
