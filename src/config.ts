/** Settings of the service, read once from the environment into a frozen object. Every limit has its unit in its name and its default
 *  here. */
import { isIP } from 'node:net';
import { PipelineError } from './errors.ts';

type Setting<T> = Readonly<{ env: string; doc: string; fallback: T; parse: (text: string) => T }>;

const text = (value: string): string => value;
const list = (value: string): readonly string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
const networks = (value: string): readonly string[] => {
  const items = list(value);
  for (const item of items) {
    const [net = '', prefix = '', ...rest] = item.split('/');
    const bits = isIP(net) === 6 ? 128 : 32;
    if (isIP(net) === 0 || rest.length > 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > bits) {
      throw new RangeError(`networks such as 10.1.0.0/16 or fd00::/8, not '${item}'`);
    }
  }
  return items;
};
const smtpAddress = (value: string): string => {
  const url = URL.canParse(value) ? new URL(value) : null;
  if (value !== '' && (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === '')) {
    throw new RangeError('an address such as smtp://user:password@mail.example.org:587, or smtps://');
  }
  return value;
};
const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max) throw new RangeError(`an integer from ${min} to ${max}`);
    return number;
  };
const flag = (value: string): boolean => {
  if (value === '1' || value === 'true') return true;
  if (value === '0' || value === 'false' || value === '') return false;
  throw new RangeError('0 or 1');
};
const oneOf =
  <T extends string>(...allowed: readonly T[]) =>
  (value: string): T => {
    const found = allowed.find((item) => item === value);
    if (found === undefined) throw new RangeError(`one of ${allowed.join(', ')}`);
    return found;
  };

const subjectToken = (value: string): string => {
  if (!/^[a-z0-9-]{1,40}$/.test(value)) throw new RangeError('1 to 40 lower-case letters, digits and hyphens');
  return value;
};

const origin = (value: string): string => {
  if (value === '') return '';
  const url = URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || `${url.origin}/` !== url.href)
    throw new RangeError('http:// or https://, host and port, such as https://node-2.example:8080');
  return url.origin;
};

/** Distinct characters a secret needs; random text of 32 hexadecimal digits always has more. */
const SECRET_CHARACTERS_MIN = 8;

const longText = (value: string): string => {
  if (value.length < 32) throw new RangeError('32 characters or more');
  return value;
};

const secretText = (value: string): string => {
  longText(value);
  const repeats = `${value}${value}`.indexOf(value, 1) < value.length;
  if (repeats || new Set(value).size < SECRET_CHARACTERS_MIN) {
    throw new RangeError('a random text, not a repeated one: e.g. the output of openssl rand -base64 32');
  }
  return value;
};

const setting = <T>(env: string, fallback: T, parse: (text: string) => T, doc: string): Setting<T> => ({ env, doc, fallback, parse });

const MiB = 1024 * 1024;

/** The table of settings; `.env.example` and the docs are written from it. */
export const settings = {
  host: setting('BIO_HOST', '127.0.0.1', text, 'Address to listen on. Plain HTTP is served on loopback only.'),
  port: setting('PORT', 8080, integer(0, 65_535), 'Port to listen on; 0 picks a free one.'),
  databaseUrl: setting('DATABASE_URL', '', text, 'PostgreSQL or TimescaleDB to use. Empty: an embedded PostgreSQL in BIO_DATA_DIR.'),
  dbConnectionsMax: setting(
    'BIO_DB_CONNECTIONS_MAX',
    30,
    integer(14, 10_000),
    'Total database connections of this node. Three nodes of 30 fit into the 100 that a server allows by default.',
  ),
  plainPostgres: setting(
    'BIO_PLAIN_POSTGRES',
    false,
    flag,
    'Create a new database without TimescaleDB although the server offers it; the database stays that way. Unset, TimescaleDB is used where the server has it, or the server is refused.',
  ),
  dataDir: setting('BIO_DATA_DIR', '.data', text, 'Folder for the embedded database and generated keys.'),
  busDir: setting(
    'BIO_BUS_DIR',
    '',
    text,
    'Folder of the sockets by which several processes of one machine share a database and a port; the same for each. Empty: this process is alone. `biosignal start --processes` sets it.',
  ),
  natsUrl: setting(
    'BIO_NATS_URL',
    '',
    text,
    'NATS servers by which nodes of several machines share a database, such as tls://user:password@nats-1:4222, with commas; the same for each. Empty: this process is alone, or BIO_BUS_DIR.',
  ),
  natsCa: setting(
    'BIO_NATS_CA',
    '',
    text,
    'Path of the certificates that may have signed those of the NATS servers (PEM). Empty: those of the system.',
  ),
  natsPlain: setting(
    'BIO_NATS_PLAIN',
    false,
    flag,
    'Messages between nodes may travel in plain text to other machines: only in a network that nobody else is in.',
  ),
  cluster: setting(
    'BIO_CLUSTER',
    'biosignal',
    subjectToken,
    'Name of the nodes that share one database, on a NATS server that serves several: the beginning of each subject.',
  ),
  sharePort: setting('BIO_SHARE_PORT', false, flag, 'Several processes listen on the same port; the kernel gives each connection to one.'),
  nodeName: setting('BIO_NODE_NAME', '', text, 'Name of this node for people, in logs and `biosignal cluster status`. Empty: host:port.'),
  nodeAddress: setting(
    'BIO_NODE_ADDRESS',
    '',
    origin,
    'Where devices reach this node directly, such as https://node-2.example:8080: they are told it by the other nodes. Empty: over the common address only.',
  ),
  tlsCert: setting('BIO_TLS_CERT', '', text, 'Path of the TLS certificate chain (PEM).'),
  tlsKey: setting('BIO_TLS_KEY', '', text, 'Path of the TLS private key (PEM).'),
  trustProxy: setting(
    'BIO_TRUST_PROXY',
    [] as readonly string[],
    list,
    'Addresses of trusted proxies, comma-separated; their X-Forwarded-Proto and X-Forwarded-For headers are believed.',
  ),
  allowedOrigins: setting(
    'ALLOWED_ORIGINS',
    [] as readonly string[],
    list,
    'Origins (scheme://host:port) from which direct mode is accepted, comma-separated.',
  ),
  secret: setting(
    'BIO_SECRET',
    '',
    secretText,
    'Encrypts journals and the keys that sign user tokens in the database; 32 characters or more, the same on every node. Empty: a secret stored in the database itself is used, ' +
      'so anyone with a whole backup can read journals and sign tokens. Journals can only be read with the value they were written with: keep it, and change it with BIO_SECRET_PREVIOUS.',
  ),
  secretPrevious: setting(
    'BIO_SECRET_PREVIOUS',
    '',
    longText, // it must be possible to move away from a weak value
    'The previous value of BIO_SECRET: what it encrypted can still be read, and is re-encrypted while the service runs.',
  ),
  sessionIdleMin: setting(
    'BIO_SESSION_IDLE_MIN',
    30,
    integer(1, 720),
    'A dashboard session ends after this long without a request, minutes; after 12 hours it ends in any case.',
  ),
  publicUrl: setting(
    'BIO_PUBLIC_URL',
    '',
    text,
    'Address that clients use; also the issuer of user tokens. If empty: http://host:port; with several nodes the issuer is the cluster, and FHIR links use the Host of the request.',
  ),
  logLevel: setting('BIO_LOG_LEVEL', 'info', oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent'), 'Lowest level that is logged.'),
  retentionPeriodSec: setting('BIO_RETENTION_PERIOD_SEC', 600, integer(1, 86_400), 'Interval between deletions of expired rows, seconds.'),
  dspWorkers: setting('BIO_DSP_WORKERS', 1, integer(1, 64), 'Worker threads for signal processing.'),
  dspQueueBytesMax: setting(
    'BIO_DSP_QUEUE_BYTES_MAX',
    64 * MiB,
    integer(MiB, 4096 * MiB),
    'Samples waiting for the workers, bytes; above this, packets are answered busy.',
  ),
  dspTaskTimeoutMs: setting(
    'BIO_DSP_TASK_TIMEOUT_MS',
    10_000,
    integer(100, 600_000),
    'A worker that does not finish a batch within this time is replaced, ms. A few ms is normal.',
  ),
  dspIdleFlushMs: setting(
    'BIO_DSP_IDLE_FLUSH_MS',
    20_000,
    integer(100, 600_000),
    'A stream that has sent nothing for this long, ms, is treated as ended: its last beats are computed, and computed again if it continues.',
  ),
  packetBytesMax: setting('BIO_PACKET_BYTES_MAX', 256 * 1024, integer(1024, 16 * MiB), 'Size of one packet after decompression, bytes.'),
  batchBytesMax: setting('BIO_BATCH_BYTES_MAX', 8 * MiB, integer(1024, 64 * MiB), 'Size of one batch body after decompression, bytes.'),
  packetLogQueueBytesMax: setting(
    'BIO_PACKET_LOG_QUEUE_BYTES_MAX',
    64 * MiB,
    integer(MiB, 4096 * MiB),
    'Packets waiting to become durable, bytes; above this, devices are answered busy.',
  ),
  packetLogLingerMs: setting(
    'BIO_PACKET_LOG_LINGER_MS',
    10,
    integer(0, 200),
    'How long a group commit waits for more packets while an HTTP request depends on it, ms.',
  ),
  packetLogCalmLingerMs: setting(
    'BIO_PACKET_LOG_CALM_LINGER_MS',
    40,
    integer(0, 200),
    'How long a group commit of fewer than 128 packets waits when only WebSockets depend on it, ms; those are answered every 180 ms.',
  ),
  blockQueueBytesMax: setting(
    'BIO_BLOCK_QUEUE_BYTES_MAX',
    128 * MiB,
    integer(MiB, 4096 * MiB),
    'Samples that are not stored in sample_block yet, bytes.',
  ),
  reorderWindowMs: setting(
    'BIO_REORDER_WINDOW_MS',
    10_000,
    integer(0, 600_000),
    'How late a packet may be and still be used to measure the clock of its device, ms of device time. It is stored and computed however late it is.',
  ),
  frameDeadlineMs: setting('BIO_FRAME_DEADLINE_MS', 250, integer(0, 10_000), 'How long a live frame waits for its slowest channel, ms.'),
  viewerQueueBytesMax: setting(
    'BIO_VIEWER_QUEUE_BYTES_MAX',
    256 * 1024,
    integer(4096, 64 * MiB),
    'Unsent live frames of one viewer, bytes; above this, frames are merged.',
  ),
  viewerSlowSecMax: setting(
    'BIO_VIEWER_SLOW_SEC_MAX',
    30,
    integer(1, 3600),
    'A viewer that stays above its bound for this long is disconnected, seconds.',
  ),
  devicePacketsPerSecMax: setting(
    'BIO_DEVICE_PACKETS_PER_SEC_MAX',
    2000,
    integer(1, 1_000_000),
    'Packets per second from one ingest socket, or from one address with one key; above this, 429.',
  ),
  userIngestSocketsMax: setting(
    'BIO_USER_INGEST_SOCKETS_MAX',
    16,
    integer(1, 1_000_000),
    "Open ingest sockets of one user, over all of the person's tokens; above this, 429.",
  ),
  keyIngestSocketsMax: setting(
    'BIO_KEY_INGEST_SOCKETS_MAX',
    100_000,
    integer(1, 1_000_000),
    'Open ingest sockets of one key; above this, 429.',
  ),
  userLiveSocketsMax: setting(
    'BIO_USER_LIVE_SOCKETS_MAX',
    32,
    integer(1, 1_000_000),
    "Open live sockets of one user, over all of the person's tokens; above this, 429.",
  ),
  keyLiveSocketsMax: setting(
    'BIO_KEY_LIVE_SOCKETS_MAX',
    100_000,
    integer(1, 1_000_000),
    'Open live sockets of one key or one operator; above this, 429.',
  ),
  userStreamsPerMinMax: setting(
    'BIO_USER_STREAMS_PER_MIN_MAX',
    60,
    integer(1, 1_000_000),
    'Streams (boots of devices) that one user may open per minute, both new ones and idle ones that resume; above this, 429.',
  ),
  keyStreamsPerMinMax: setting(
    'BIO_KEY_STREAMS_PER_MIN_MAX',
    200_000,
    integer(1, 10_000_000),
    'Streams that one key may open per minute; above this, 429. After a restart a fleet reopens all of its streams.',
  ),
  requestsPerSecMax: setting(
    'BIO_REQUESTS_PER_SEC_MAX',
    100,
    integer(1, 1_000_000),
    'API requests per second of one credential (bursts of up to 4 s).',
  ),
  readsAtOnceMax: setting(
    'BIO_READS_AT_ONCE_MAX',
    5,
    integer(1, 1000),
    'Concurrent reads of charts, samples, features and beats; one credential gets at most half. Lowered where BIO_DB_CONNECTIONS_MAX would leave ' +
      'no connection for quick requests besides these and two exports: its default allows 5.',
  ),
  largeReadsAtOnceMax: setting(
    'BIO_LARGE_READS_AT_ONCE_MAX',
    1,
    integer(1, 1000),
    'Concurrent reads of charts of more than 20,000 rows; one credential gets one. Each takes about one core of the database.',
  ),
  chartRowsMax: setting(
    'BIO_CHART_ROWS_MAX',
    1_000_000,
    integer(1000, 1_000_000_000),
    'Database rows that one chart may read; the chart becomes coarser until it fits, or is refused. A million rows take about 10 s.',
  ),
  bodyTimeoutMs: setting('BIO_BODY_TIMEOUT_MS', 10_000, integer(100, 600_000), 'Time within which a request body must arrive, ms.'),
  unsentAnswerBytesMax: setting(
    'BIO_UNSENT_ANSWER_BYTES_MAX',
    256 * MiB,
    integer(MiB, 64 * 1024 * MiB),
    'Long answers that their peers have not read yet, bytes in all; above this, the caller who holds most loses the oldest of its answers.',
  ),
  stopTimeoutMs: setting('BIO_STOP_TIMEOUT_MS', 8000, integer(100, 600_000), 'Longest duration of an orderly stop, ms.'),
  smtpUrl: setting(
    'BIO_SMTP_URL',
    '',
    smtpAddress,
    'Mail server for e-mail of rules: smtp://user:password@host:587 or smtps://host. Without TLS only on this machine. Empty: rules send no e-mail.',
  ),
  mailFrom: setting('BIO_MAIL_FROM', '', text, 'Address that e-mail of rules is from; needed with BIO_SMTP_URL.'),
  mailLanguage: setting('BIO_MAIL_LANGUAGE', 'en', oneOf('en', 'de', 'fr', 'es'), 'Language of e-mail of rules: en, de, fr or es.'),
  webhookNetworks: setting(
    'BIO_WEBHOOK_NETWORKS',
    [] as readonly string[],
    networks,
    'Private networks (CIDR, comma-separated) that webhooks may call, also over plain HTTP, e.g. 10.1.0.0/16. Empty: none.',
  ),
  metricsToken: setting(
    'BIO_METRICS_TOKEN',
    '',
    text,
    'Bearer token that lets other machines read /metrics, and the details of /readyz. Empty: loopback only.',
  ),
  demo: setting('BIO_DEMO', false, flag, 'Create a demo organization and stream a simulated device into it.'),
} as const;

export type Config = Readonly<{
  [K in keyof typeof settings]: (typeof settings)[K]['fallback'] extends boolean ? boolean : (typeof settings)[K]['fallback'];
}>;

/** Reads the configuration. @throws PipelineError validation_failed naming the variable, its value's problem and its meaning */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const config: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(settings)) {
    const value = env[row.env];
    try {
      config[name] = value === undefined || value === '' ? row.fallback : row.parse(value);
    } catch (error) {
      const need = error instanceof Error ? error.message : 'another value';
      throw new PipelineError('validation_failed', `${row.env} must be ${need}. ${row.doc}`, { cause: error });
    }
  }
  return Object.freeze(config) as Config;
}

/** What paths are put behind in links. The issuer of tokens is the address as it is set, which those who verify them compare whole. */
export const linkBase = (address: string): string => address.replace(/\/+$/, '');

/** Says whether other machines can reach the service, directly or through a proxy. */
export function isExposed(config: Pick<Config, 'host' | 'trustProxy'>): boolean {
  return !isLoopbackHost(config.host) || config.trustProxy.length > 0;
}

/** Refuses to send e-mail from nobody.  @throws PipelineError validation_failed */
export function needMailFrom({ smtpUrl, mailFrom }: Pick<Config, 'smtpUrl' | 'mailFrom'>): void {
  if (smtpUrl === '' || mailFrom !== '') return;
  throw new PipelineError('validation_failed', 'BIO_MAIL_FROM must be set with BIO_SMTP_URL: the address that e-mail of rules is from.');
}

/** Refuses to serve other machines with the secret that is stored in the database: a stolen backup would be enough to sign tokens and read
 *  journals.
 *  @throws PipelineError validation_failed */
export function needSecret(config: Pick<Config, 'host' | 'trustProxy' | 'secret' | 'demo'>): void {
  if (config.secret !== '' || config.demo || !isExposed(config)) return;
  const why = isLoopbackHost(config.host) ? 'BIO_TRUST_PROXY names a proxy' : `BIO_HOST is ${config.host}`;
  throw new PipelineError(
    'validation_failed',
    `BIO_SECRET is needed: ${why}, so other machines can reach the service. 'biosignal init' generates one, and so does openssl rand -base64 32; keep it safe.`,
  );
}

/** Recognises the names and addresses of this machine itself, IPv6 also in brackets; by RFC 6761 no DNS server answers for `localhost` and
 *  below. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || isLoopbackAddress(host.replace(/^\[|\]$/g, ''));
}

export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^127(\.\d{1,3}){3}$/.test(address);
}
