/** Names, units and buckets of all metrics. Counters are incremented per packet or batch, never per sample. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

/** A counter that costs one addition; prom-client's `inc` builds a label string on every call. */
export class Tally {
  #count = 0;

  inc(by = 1): void {
    this.#count += by;
  }

  take(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }
}

/** A counter incremented per packet or frame through tallies, which it adds up when read. */
class TalliedCounter extends Counter {
  readonly #tallies: (readonly [labels: Readonly<Record<string, string>>, tally: Tally])[] = [];

  /** Makes a tally for one place that counts; keep it. */
  tally(labels: Readonly<Record<string, string>>): Tally {
    const tally = new Tally();
    this.#tallies.push([labels, tally]);
    this.inc(labels, 0);
    return tally;
  }

  /** Called by get(). */
  collect(): void {
    for (const [labels, tally] of this.#tallies) {
      const count = tally.take();
      if (count > 0) this.inc(labels, count);
    }
  }
}

/** A gauge that is read when it is asked for. */
class ReadGauge extends Gauge {
  /** Replaced by the part that knows. */
  read: () => number;

  constructor(config: Readonly<{ name: string; help: string; registers: Registry[] }>, read: () => number) {
    super(config);
    this.read = read;
  }

  /** Called by get(). */
  collect(): void {
    this.set(this.read());
  }
}

const startedSec = Math.round(Date.now() / 1000 - process.uptime());

/** One registry per service: two services in one process (tests) do not share counts. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  const seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
  const queueBytes = new Gauge({
    name: 'bio_queue_bytes',
    help: 'Bytes waiting, by queue: packet_log, blocks, dsp, rows (derived and reported values).',
    labelNames: ['queue'],
    registers,
  });
  for (const queue of ['packet_log', 'blocks', 'dsp', 'rows']) queueBytes.set({ queue }, 0);
  return {
    registry,
    // The usual names, so that ready-made dashboards find them.
    residentBytes: new Gauge({
      name: 'process_resident_memory_bytes',
      help: 'Resident memory, bytes.',
      registers,
      collect() {
        this.set(process.memoryUsage.rss());
      },
    }),
    heapBytes: new Gauge({
      name: 'nodejs_heap_size_used_bytes',
      help: 'JavaScript heap in use by the main thread, bytes.',
      registers,
      collect() {
        this.set(process.memoryUsage().heapUsed);
      },
    }),
    cpuSeconds: new Counter({
      name: 'process_cpu_seconds_total',
      help: 'User and system time of all threads, s.',
      registers,
      collect() {
        const { user, system } = process.cpuUsage();
        this.reset();
        this.inc((user + system) / 1e6);
      },
    }),
    startTime: new Gauge({
      name: 'process_start_time_seconds',
      help: 'When the process was started, Unix time, s.',
      registers,
      collect() {
        this.set(startedSec);
      },
    }),
    packets: new TalliedCounter({
      name: 'bio_packets_total',
      help: 'Packets by outcome: accepted, duplicate, rejected, busy.',
      labelNames: ['outcome'],
      registers,
    }),
    packetsForwarded: new TalliedCounter({
      name: 'bio_packets_forwarded_total',
      help: 'Packets that this node took and passed on to the node that owns their person, which counts them too.',
      registers,
    }),
    packetsRejected: fromZero(
      new Counter({ name: 'bio_packets_rejected_total', help: 'Rejected packets by error code.', labelNames: ['code'], registers }),
      'code',
      packetCodes,
    ),
    samples: new Counter({ name: 'bio_samples_total', help: 'Admitted samples.', registers }),
    ackSeconds: new Histogram({
      name: 'bio_ack_seconds',
      help: 'Packet received to acknowledged (durable), s; every 16th.',
      buckets: seconds,
      registers,
    }),
    frames: new TalliedCounter({
      name: 'bio_live_frames_total',
      help: 'Live frames by outcome: built, delivered, merged.',
      labelNames: ['outcome'],
      registers,
    }),
    frameSeconds: new Histogram({
      name: 'bio_live_frame_seconds',
      help: 'Last packet of a frame received to frame published, s.',
      buckets: seconds,
      registers,
    }),
    viewers: new Gauge({ name: 'bio_viewers', help: 'Open viewer sockets.', registers }),
    ingestSockets: new Gauge({ name: 'bio_ingest_sockets', help: 'Open device sockets.', registers }),
    degraded: new Gauge({
      name: 'bio_degraded',
      help: '1 while the database takes nothing, such as on a full disk, and devices are answered 503.',
      registers,
    }),
    logOwner: new Gauge({
      name: 'bio_log_owner',
      help: '1 while this instance owns the packet log or partitions of it and takes packets, 0 while it waits for another one.',
      registers,
    }),
    partitions: new ReadGauge(
      { name: 'bio_partitions', help: 'Partitions that this node of a cluster owns; 0 for an instance alone.', registers },
      () => 0,
    ),
    partitionsWithoutOwner: new ReadGauge(
      {
        name: 'bio_partitions_without_owner',
        help: 'Partitions of the cluster that no living node owns, as this node sees it; 0 for an instance alone.',
        registers,
      },
      () => 0,
    ),
    epochs: new ReadGauge(
      {
        name: 'bio_epochs_used_ratio',
        help: 'Share of the epochs that the database can give which were given: one for each time that the packet log, or partitions of it, were taken.',
        registers,
      },
      () => 0,
    ),
    clockOff: new ReadGauge(
      {
        name: 'bio_clock_off_seconds',
        help: "How far this node's clock is ahead of the database's, s; negative: behind; 0 for an instance alone.",
        registers,
      },
      () => 0,
    ),
    busOpen: new ReadGauge(
      { name: 'bio_bus_open', help: '1 while this node reaches every other node of its cluster, and for an instance alone.', registers },
      () => 1,
    ),
    nodesSilent: new Gauge({
      name: 'bio_nodes_silent',
      help: 'Nodes on the same port that did not answer this scrape within 1 s; their values are missing from it.',
      registers,
    }),
    openStreams: new Gauge({ name: 'bio_open_streams', help: 'Streams in memory: those with packets in the last ten minutes.', registers }),
    queueBytes,
    features: new Counter({ name: 'bio_features_total', help: 'Feature values stored.', registers }),
    beats: new Counter({ name: 'bio_beats_total', help: 'Beats stored.', registers }),
    recomputes: fromZero(
      new Counter({ name: 'bio_recomputes_total', help: 'Ranges recomputed, by reason: late, resume.', labelNames: ['reason'], registers }),
      'reason',
      ['late', 'resume'],
    ),
    quarantined: new Counter({ name: 'bio_quarantined_batches_total', help: 'Batches left out after three worker crashes.', registers }),
    setAside: new Counter({
      name: 'bio_set_aside_total',
      help: 'Rows and packets that could not be stored and were set aside, by kind: packet, log, samples, derived, measurement, event.',
      labelNames: ['kind'],
      registers,
    }),
    retentionAge: new Gauge({
      name: 'bio_retention_age_seconds',
      help: 'Time since the retention of every project was last applied in full, by any node, s; 0 when no project has one.',
      registers,
    }),
    jobsFailing: new Gauge({
      name: 'bio_timescale_jobs_failing',
      help: 'Jobs of TimescaleDB whose last run failed or that do not run; 0 on other servers.',
      registers,
    }),
    requests: registered(registry, new RequestCounter('bio_http_requests_total', 'API requests by operation and status.')),
    requestSeconds: registered(registry, new RequestTimes('bio_http_request_seconds', 'API request duration, s.', seconds)),
    credentialsRefused: fromZero(
      new Counter({
        name: 'bio_credentials_refused_total',
        help: 'Refused credentials: by error code, rate_limited for those that were not looked up any more, sign_in for passwords.',
        labelNames: ['reason'],
        registers,
      }),
      'reason',
      ['credential_missing', 'credential_invalid', 'credential_kind', 'token_expired', 'rate_limited', 'sign_in'],
    ),
    errors: fromZero(
      new Counter({
        name: 'bio_errors_total',
        help: 'Faults of the service by where they were noticed.',
        labelNames: ['where'],
        registers,
      }),
      'where',
      ['ingest', 'pipeline', 'checkpoint', 'query', 'maintenance', 'ownership'],
    ),
  };
}

/** Codes of refused packets, as in errors.ts; any other code is counted too. */
const packetCodes = [
  'packet_malformed',
  'packet_too_large',
  'packet_schema_version',
  'packet_invalid',
  'packet_clock',
  'packet_conflict',
  'channel_limit',
  'consent_missing',
  'credential_kind',
  'not_found',
  'rate_limited',
];

/** A series that begins at its first event hides that event from rate() and increase(): known ones exist from the start. */
function fromZero<T extends string>(counter: Counter<T>, label: T, values: readonly string[]): Counter<T> {
  for (const value of values) counter.inc({ [label]: value } as Record<T, string>, 0);
  return counter;
}

type Sample = Readonly<{ metricName?: string; labels: Readonly<Record<string, string | number>>; value: number }>;
type Exposed<T extends string> = Promise<Readonly<{ name: string; help: string; type: T; values: readonly Sample[]; aggregator: 'sum' }>>;

/** A counter incremented per request with two map look-ups. prom-client sorts and joins the labels each time: 1.2 us per request, with its
 *  histogram. */
class RequestCounter {
  readonly name: string;
  readonly help: string;
  readonly type = 'counter';
  readonly aggregator = 'sum';
  readonly #counts = new Map<string, Map<number, number>>();

  constructor(name: string, help: string) {
    this.name = name;
    this.help = help;
  }

  inc({ operation, status }: Readonly<{ operation: string; status: number }>): void {
    let counts = this.#counts.get(operation);
    // Starts with the status that alerts watch: see fromZero.
    if (counts === undefined) this.#counts.set(operation, (counts = new Map([[500, 0]])));
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }

  async get(): Exposed<'counter'> {
    const values = [...this.#counts].flatMap(([operation, counts]) =>
      [...counts].map(([status, value]) => ({ labels: { operation, status }, value })),
    );
    return { name: this.name, help: this.help, type: this.type, values, aggregator: 'sum' };
  }

  reset(): void {
    this.#counts.clear();
  }
}

/** The same for durations. */
class RequestTimes {
  readonly name: string;
  readonly help: string;
  readonly type = 'histogram';
  readonly aggregator = 'sum';
  readonly #bounds: readonly number[];
  /** By operation: counts per bucket (the last is above every bound), and the sum. */
  readonly #times = new Map<string, { counts: Float64Array; sum: number }>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.help = help;
    this.#bounds = bounds;
  }

  observe({ operation }: Readonly<{ operation: string }>, sec: number): void {
    let times = this.#times.get(operation);
    if (times === undefined) this.#times.set(operation, (times = { counts: new Float64Array(this.#bounds.length + 1), sum: 0 }));
    let bucket = 0;
    while (bucket < this.#bounds.length && sec > this.#bounds[bucket]!) bucket++;
    times.counts[bucket] = times.counts[bucket]! + 1;
    times.sum += sec;
  }

  async get(): Exposed<'histogram'> {
    const values: Sample[] = [];
    for (const [operation, { counts, sum }] of this.#times) {
      let below = 0;
      for (const [i, count] of counts.entries()) {
        below += count;
        const le = this.#bounds[i] ?? '+Inf';
        values.push({ metricName: `${this.name}_bucket`, labels: { operation, le }, value: below });
      }
      values.push({ metricName: `${this.name}_sum`, labels: { operation }, value: sum });
      values.push({ metricName: `${this.name}_count`, labels: { operation }, value: below });
    }
    return { name: this.name, help: this.help, type: this.type, values, aggregator: 'sum' };
  }

  reset(): void {
    this.#times.clear();
  }
}

function registered<T extends RequestCounter | RequestTimes>(registry: Registry, metric: T): T {
  registry.registerMetric(metric as unknown as Counter);
  return metric;
}
