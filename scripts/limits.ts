/** Writes docs/limits.md: every limit of the service with its unit, its value, where it is set, and the answer beyond it. Values are read
 *  from the table of settings and from the source of the constants, so the page cannot say something else than the code. */
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { settings } from '../src/config.ts';
import { errorTable } from '../src/errors.ts';
import type { ErrorCode } from '../src/errors.ts';

type Setting = keyof typeof settings;
type Limit = Readonly<{
  what: string;
  unit: string;
  /** A setting, or a constant (or member of a literal) of a file. */
  at: Setting | readonly [path: string, name: string];
  /** Units of the constant in one unit of the table. */
  per?: number;
  /** The answer when it is exceeded: a code of the table, or words. */
  beyond: ErrorCode | readonly [words: string];
}>;

const admit = 'src/ingest/admit.ts';
const ingestSocket = 'src/ingest/ingest-socket.ts';
const liveSocket = 'src/live/live-socket.ts';
const incoming = 'src/http/incoming.ts';

export const limitGroups: Readonly<Record<string, readonly Limit[]>> = {
  'Packets and batches': [
    { what: 'one packet, decompressed', unit: 'bytes', at: 'packetBytesMax', beyond: 'packet_too_large' },
    { what: 'one batch, decompressed', unit: 'bytes', at: 'batchBytesMax', beyond: 'payload_too_large' },
    {
      what: 'packets in one batch',
      unit: 'packets',
      at: ['src/ingest/post-raw-packet.ts', 'BATCH_PACKETS_MAX'],
      beyond: 'packet_too_large',
    },
    { what: 'channel configurations of one stream', unit: 'configurations', at: [admit, 'channelsMax'], beyond: 'channel_limit' },
    { what: 'gaps in the sequence numbers of one stream', unit: 'ranges', at: [admit, 'seqRangesMax'], beyond: 'packet_invalid' },
    { what: 'device time covered by one block', unit: 's', at: [admit, 'blockSpanSecMax'], beyond: 'packet_invalid' },
    { what: 'offset of a block within its packet', unit: 's', at: [admit, 'offsetSecMax'], beyond: 'packet_invalid' },
    { what: 'end of a packet after the clock of the service', unit: 's', at: [admit, 'futureSecMax'], beyond: 'packet_clock' },
    { what: 'lowest sampling rate', unit: 'Hz', at: [admit, 'RATE_MIN'], per: 1e9, beyond: 'packet_invalid' },
    { what: 'highest sampling rate', unit: 'Hz', at: [admit, 'RATE_MAX'], per: 1e9, beyond: 'packet_invalid' },
    {
      what: 'external id of a user',
      unit: 'characters',
      at: ['src/storage/stream-opening.ts', 'EXTERNAL_ID_MAX'],
      beyond: 'packet_invalid',
    },
    {
      what: 'delay of a packet that still measures the clock of its device',
      unit: 'ms',
      at: 'reorderWindowMs',
      beyond: ['stored and computed, not used for the clock'],
    },
  ],
  'Rates and connections': [
    { what: 'API requests of one credential', unit: 'per second', at: 'requestsPerSecMax', beyond: 'rate_limited' },
    {
      what: 'packets of one ingest socket, or of one address with one key',
      unit: 'per second',
      at: 'devicePacketsPerSecMax',
      beyond: 'rate_limited',
    },
    { what: 'burst of both, as time at the sustained rate', unit: 's', at: ['src/http/server.ts', 'BURST_SEC'], beyond: 'rate_limited' },
    { what: 'open ingest sockets of one user', unit: 'sockets', at: 'userIngestSocketsMax', beyond: 'rate_limited' },
    { what: 'open ingest sockets of one key', unit: 'sockets', at: 'keyIngestSocketsMax', beyond: 'rate_limited' },
    { what: 'open live sockets of one user', unit: 'sockets', at: 'userLiveSocketsMax', beyond: 'rate_limited' },
    { what: 'open live sockets of one key or operator', unit: 'sockets', at: 'keyLiveSocketsMax', beyond: 'rate_limited' },
    { what: 'streams opened by one user', unit: 'per minute', at: 'userStreamsPerMinMax', beyond: 'rate_limited' },
    { what: 'streams opened by one key', unit: 'per minute', at: 'keyStreamsPerMinMax', beyond: 'rate_limited' },
    {
      what: 'days before yesterday that one user begins to send data of',
      unit: 'per minute',
      at: ['src/ingest/past-days.ts', 'USER_DAYS_PER_MIN_MAX'],
      beyond: 'rate_limited',
    },
    {
      what: 'days before yesterday that one key begins to send data of',
      unit: 'per minute',
      at: ['src/ingest/past-days.ts', 'KEY_DAYS_PER_MIN_MAX'],
      beyond: 'rate_limited',
    },
    {
      what: 'days before yesterday that one user begins to send data of',
      unit: 'per day',
      at: ['src/ingest/past-days.ts', 'USER_DAYS_PER_DAY_MAX'],
      beyond: 'rate_limited',
    },
    {
      what: 'days before yesterday that one organization begins to send data of',
      unit: 'per day',
      at: ['src/ingest/past-days.ts', 'ORGANIZATION_DAYS_PER_DAY_MAX'],
      beyond: 'rate_limited',
    },
    {
      what: 'months of the past (28 days) that one user begins to enter measurements of',
      unit: 'per day',
      at: ['src/tenancy/past-months.ts', 'USER_MONTHS_PER_DAY_MAX'],
      beyond: 'rate_limited',
    },
    {
      what: 'months of the past (28 days) that one organization begins to enter measurements of',
      unit: 'per day',
      at: ['src/tenancy/past-months.ts', 'ORGANIZATION_MONTHS_PER_DAY_MAX'],
      beyond: 'rate_limited',
    },
    { what: 'streams in memory', unit: 'streams', at: ['src/ingest/ingest.ts', 'SESSIONS_MAX'], beyond: 'busy' },
    {
      what: 'unsettled messages of one ingest socket',
      unit: 'messages',
      at: [ingestSocket, 'WINDOW'],
      beyond: ['tolerated up to the next row'],
    },
    {
      what: 'unsettled messages before the socket is closed',
      unit: 'messages',
      at: [ingestSocket, 'UNSETTLED_MAX'],
      beyond: 'rate_limited',
    },
    { what: 'waiting messages of one ingest socket', unit: 'bytes', at: [ingestSocket, 'QUEUE_BYTES_MAX'], beyond: 'rate_limited' },
    { what: 'messages of one viewer at once', unit: 'messages', at: [liveSocket, 'MESSAGES_BURST'], beyond: 'rate_limited' },
    { what: 'messages of one viewer, sustained', unit: 'per second', at: [liveSocket, 'MESSAGES_PER_SEC'], beyond: 'rate_limited' },
    { what: 'database connections of one node', unit: 'connections', at: 'dbConnectionsMax', beyond: ['requests wait'] },
  ],
  'Requests and pages': [
    { what: 'JSON body', unit: 'bytes', at: [incoming, 'JSON_BYTES_MAX'], beyond: 'payload_too_large' },
    {
      what: 'questionnaire of a project',
      unit: 'bytes',
      at: ['src/records/questionnaire-routes.ts', 'BODY_BYTES_MAX'],
      beyond: 'payload_too_large',
    },
    {
      what: 'answers to a questionnaire',
      unit: 'bytes',
      at: ['src/records/response-routes.ts', 'BODY_BYTES_MAX'],
      beyond: 'payload_too_large',
    },
    {
      what: 'document of an episode',
      unit: 'bytes',
      at: ['src/records/episode-routes.ts', 'ARTIFACT_BYTES_MAX'],
      beyond: 'validation_failed',
    },
    { what: 'nesting of a JSON body', unit: 'levels', at: ['src/http/validate.ts', 'JSON_DEPTH_MAX'], beyond: 'bad_request' },
    { what: 'request headers together', unit: 'bytes', at: ['src/http/uws.ts', 'HEADER_BYTES_MAX'], beyond: 'headers_too_large' },
    { what: 'header fields', unit: 'fields', at: ['src/http/hygiene.ts', 'HEADER_COUNT_MAX'], beyond: 'headers_too_large' },
    { what: 'arrival of a request body', unit: 'ms', at: 'bodyTimeoutMs', beyond: 'request_timeout' },
    {
      what: 'long answers that their peers have not read, all together',
      unit: 'bytes',
      at: 'unsentAnswerBytesMax',
      beyond: ['the caller who holds most loses the oldest of its answers'],
    },
    { what: 'time range of a chart', unit: 'days', at: ['src/query/chart-routes.ts', 'RANGE_DAYS_MAX'], beyond: 'range_too_large' },
    { what: 'points of a series of a chart', unit: 'points', at: ['src/query/chart-routes.ts', 'POINTS_MAX'], beyond: 'validation_failed' },
    { what: 'database rows read by one chart', unit: 'rows', at: 'chartRowsMax', beyond: 'range_too_large' },
    {
      what: 'samples on one page',
      unit: 'samples',
      at: ['src/query/sample-routes.ts', 'SAMPLES_MAX'],
      beyond: ['the next page has the rest'],
    },
    {
      what: 'devices asked for by their ids',
      unit: 'devices',
      at: ['src/query/device-routes.ts', 'IDS_MAX'],
      beyond: 'validation_failed',
    },
    {
      what: 'buckets of a channel of an overview',
      unit: 'buckets',
      at: ['src/query/overview-routes.ts', 'BUCKETS_MAX'],
      beyond: 'validation_failed',
    },
    {
      what: 'buckets of all channels of an overview',
      unit: 'buckets',
      at: ['src/query/overview.ts', 'CELLS_MAX'],
      beyond: ['the step becomes coarser; [`range_too_large`](errors/range_too_large.md) when hours are too fine'],
    },
    {
      what: 'samples decoded for an overview',
      unit: 'samples',
      at: ['src/query/overview.ts', 'DECODE_SAMPLES_MAX'],
      beyond: ['the step becomes coarser'],
    },
    {
      what: 'concurrent reads of charts, samples, features and beats',
      unit: 'reads',
      at: 'readsAtOnceMax',
      beyond: ['requests wait, within the next rows'],
    },
    {
      what: 'concurrent reads of large charts',
      unit: 'reads',
      at: 'largeReadsAtOnceMax',
      beyond: ['requests wait, within the next rows'],
    },
    { what: 'waiting reads of one credential', unit: 'requests', at: ['src/query/turns.ts', 'WAITING_MAX'], beyond: 'rate_limited' },
    { what: 'wait of a read', unit: 'ms', at: ['src/query/turns.ts', 'WAIT_MS_MAX'], beyond: 'rate_limited' },
    {
      what: 'results of a search, of each kind',
      unit: 'results',
      at: ['src/query/search-routes.ts', 'FOUND_MAX'],
      beyond: 'validation_failed',
    },
    { what: 'groups of a project', unit: 'groups', at: ['src/tenancy/groups.ts', 'GROUPS_MAX'], beyond: 'conflict' },
    { what: 'rules of a project', unit: 'rules', at: ['src/records/rules.ts', 'RULES_MAX'], beyond: 'conflict' },
    {
      what: 'range on which a rule is tried',
      unit: 'days',
      at: ['src/records/rule-trial-routes.ts', 'RANGE_DAYS_MAX'],
      beyond: 'range_too_large',
    },
    {
      what: 'work of a round of rules',
      unit: 'ms',
      at: ['src/records/rule-turns.ts', 'ROUND_MS_MAX'],
      beyond: ['the rest is first in the next round'],
    },
    {
      what: 'turn of an organization in a round of rules',
      unit: 'ms',
      at: ['src/records/rule-turns.ts', 'TURN_MS_MAX'],
      beyond: ['the others have their turns before its next'],
    },
    {
      what: 'recording that rules look at at once, to its newest value',
      unit: 'days',
      at: ['src/records/rule-looks.ts', 'LOOK_SEC_MAX'],
      per: 86_400,
      beyond: ['what is older opens no episode'],
    },
    {
      what: 'time since the last packet of a recording in which rules look at values that come late',
      unit: 's',
      at: ['src/records/rule-looks.ts', 'RECENT_SEC'],
      beyond: ['those values open no episode'],
    },
    {
      what: 'episodes of an organization that a round ends because their rule is gone',
      unit: 'episodes',
      at: ['src/records/project-rules.ts', 'ORPHANS_MAX'],
      beyond: ['the next round ends others'],
    },
    { what: 'rules tried at once', unit: 'trials', at: ['src/records/rule-trial-routes.ts', 'TRIALS_MAX'], beyond: 'busy' },
    {
      what: 'rules of one organization tried at once',
      unit: 'trials',
      at: ['src/records/rule-trial-routes.ts', 'ORGANIZATION_TRIALS_MAX'],
      beyond: 'busy',
    },
    {
      what: 'work of one trial of a rule',
      unit: 'ms',
      at: ['src/records/rule-trial.ts', 'WORK_MS_MAX'],
      beyond: ['the answer says that it is not complete'],
    },
    {
      what: 'time range in which beats are measured one by one',
      unit: 'min',
      at: ['src/query/wave-routes.ts', 'WAVES_MIN_MAX'],
      beyond: 'range_too_large',
    },
    { what: 'length of a strip', unit: 's', at: ['src/query/strip-routes.ts', 'STRIP_SEC_MAX'], beyond: 'range_too_large' },
  ],
  'Live viewing': [
    {
      what: 'unsent frames of one viewer',
      unit: 'bytes',
      at: 'viewerQueueBytesMax',
      beyond: ['frames are merged; `dropped_frames` counts them'],
    },
    { what: 'time above that', unit: 's', at: 'viewerSlowSecMax', beyond: 'slow_consumer' },
    { what: 'wait of a frame for its slowest channel', unit: 'ms', at: 'frameDeadlineMs', beyond: ['the frame is sent incomplete'] },
    { what: 'channels of one subscription', unit: 'channels', at: [liveSocket, 'SELECTION_MAX'], beyond: 'validation_failed' },
    { what: 'replay', unit: 'ms', at: ['src/live/hub.ts', 'RING_MS'], beyond: 'replay_too_old' },
    {
      what: 'frames kept for replay, all persons together',
      unit: 'bytes',
      at: ['src/live/hub.ts', 'RINGS_BYTES_MAX'],
      beyond: ['replays reach less far back'],
    },
  ],
  'Queues inside': [
    { what: 'packets waiting to become durable', unit: 'bytes', at: 'packetLogQueueBytesMax', beyond: 'busy' },
    { what: 'rows of samples waiting for COPY', unit: 'bytes', at: 'blockQueueBytesMax', beyond: 'busy' },
    { what: 'samples waiting for signal processing', unit: 'bytes', at: 'dspQueueBytesMax', beyond: 'busy' },
    {
      what: 'one batch in a worker',
      unit: 'ms',
      at: 'dspTaskTimeoutMs',
      beyond: ['the worker is replaced and its streams are computed again'],
    },
    { what: 'silence after which a stream counts as ended', unit: 'ms', at: 'dspIdleFlushMs', beyond: ['its last beats are computed'] },
    { what: 'wait of a group commit for an HTTP request', unit: 'ms', at: 'packetLogLingerMs', beyond: ['the group is committed'] },
    { what: 'wait of a small group commit for sockets', unit: 'ms', at: 'packetLogCalmLingerMs', beyond: ['the group is committed'] },
  ],
  'Credentials and time': [
    { what: 'user token', unit: 's', at: ['src/auth/user-tokens.ts', 'TOKEN_SEC'], beyond: 'token_expired' },
    { what: 'dashboard session without a request', unit: 'min', at: 'sessionIdleMin', beyond: 'credential_invalid' },
    { what: 'dashboard session', unit: 's', at: ['src/tenancy/operators.ts', 'SESSION_SEC'], beyond: 'credential_invalid' },
    { what: 'shortest password', unit: 'characters', at: ['src/tenancy/operators.ts', 'PASSWORD_MIN'], beyond: 'validation_failed' },
    {
      what: 'orderly stop',
      unit: 'ms',
      at: 'stopTimeoutMs',
      beyond: ['the process ends; acknowledged packets are replayed at the next start'],
    },
    {
      what: 'end of a process that is late, after that',
      unit: 'ms',
      at: ['src/cli/start.ts', 'STOP_LATE_MS'],
      beyond: ['it ends with code 1; acknowledged packets are replayed at the next start'],
    },
    {
      what: 'end of a node of `--processes`, after that',
      unit: 'ms',
      at: ['src/cli/start-processes.ts', 'KILL_AFTER_MS'],
      beyond: ['it is killed, which the log says'],
    },
  ],
  Retention: [
    { what: 'interval between deletions', unit: 's', at: 'retentionPeriodSec', beyond: ['expired rows are deleted'] },
    { what: 'rows and packets set aside', unit: 'days', at: ['src/storage/set-aside.ts', 'SET_ASIDE_DAYS'], beyond: ['deleted'] },
  ],
};

const root = new URL('..', import.meta.url);

/** Reads the number of a constant, or of a member of an object literal, from the source of a file.
 *  @throws RangeError when the file has no such constant, or it is no number */
export function constantOf(path: string, name: string, text = readFileSync(new URL(path, root), 'utf8')): number {
  const found = new RegExp(`(?:\\bconst ${name}(?:: \\w+)? =|^\\s+${name}:(?= *\\d)) *([^;,\\n]+)`, 'm').exec(text)?.[1];
  if (found === undefined) throw new RangeError(`${path} has no constant ${name}: see scripts/limits.ts`);
  const expression = found.replaceAll(/\b[A-Z][A-Z0-9_]+\b/g, (other) => String(constantOf(path, other, text)));
  if (!/^[\d\s_.*+<()-]+$/.test(expression)) throw new RangeError(`${path}: ${name} is no number: ${found}`);
  return Number(runInNewContext(expression));
}

/** 1,000; bytes in whole KiB or MiB. */
function shown(value: number, unit: string): string {
  const mebi = value / 1024 ** 2;
  const kibi = value / 1024;
  if (unit !== 'bytes' || !Number.isInteger(kibi)) return `${value.toLocaleString('en', { maximumFractionDigits: 6 })} ${unit}`;
  return Number.isInteger(mebi) ? `${mebi} MiB` : `${kibi} KiB`;
}

function rowOf({ what, unit, at, per = 1, beyond }: Limit): string {
  const [value, place] =
    typeof at === 'string'
      ? [Number(settings[at].fallback), `\`${settings[at].env}\``]
      : [constantOf(...at), `\`${at[1]}\` in \`${at[0]}\``];
  const answer = typeof beyond === 'string' ? `[\`${beyond}\`](errors/${beyond}.md)${statusOf(beyond)}` : beyond[0];
  return `| ${what} | ${shown(value / per, unit)} | ${place} | ${answer} |`;
}

const statusOf = (code: ErrorCode): string => (errorTable[code].inBand ? '' : ` (${errorTable[code].status})`);

export function limitsDocument(): string {
  return `${[
    '# Limits',
    '',
    'Written by `npm run docs` from `src/config.ts` and the constants that are named here. A limit with a variable can be set; the value is its default (`biosignal config print` shows those in effect). Socket close codes of the answers are in [errors.md](errors.md).',
    ...Object.entries(limitGroups).flatMap(([title, limits]) => [
      '',
      `## ${title}`,
      '',
      '| limit | value | where it is set | beyond it |',
      '|---|---|---|---|',
      ...limits.map(rowOf),
    ]),
    '',
    'How long rows are kept is set per project (`PUT /api/v1/projects/{projectId}/settings`); [schema.md](schema.md) has the retention of every table.',
  ].join('\n')}\n`;
}
