/** Faults that break a promise of the documents, and the test that must see each: what `npm run promises-planted` plants. In the order of
 *  docs/promises.md; every document has some. */
import type { Edit } from './edit.ts';

export type Fault = Readonly<{
  promise: string;
  /** What the service does with the fault. */
  broken: string;
  /** File with tests that hold the promise. */
  by: string;
  edits: readonly Edit[];
}>;

const fault = (
  promise: string,
  broken: string,
  by: string,
  ...edits: readonly (readonly [file: string, find: string, replace: string])[]
): Fault => ({ promise, broken, by, edits: edits.map(([file, find, replace]) => ({ file, find, replace })) });

export const faults: readonly Fault[] = [
  fault('observations-good', 'a third of good values is enough for a minute', 'test/query/chart.int.test.ts', [
    'src/query/observations.ts',
    'usable * 2 >= n',
    'usable * 3 >= n',
  ]),
  fault('plain-http', 'a peer on another machine is served without TLS', 'src/http/peer.test.ts', [
    'src/http/peer.ts',
    'if (!rules.tls && !isLoopbackAddress(direct)) throw',
    "if (!rules.tls && direct === '') throw",
  ]),
  fault('settings-listed', '`config print` leaves out what has its default', 'src/cli/config.test.ts', [
    'src/cli/config.ts',
    'const rows = Object.entries(settings).map(',
    "const rows = Object.entries(settings).filter(([, row]) => (console.env[row.env] ?? '') !== '').map(",
  ]),
  fault('config-check', 'a setting that does not exist is not named', 'test/service/settings.int.test.ts', [
    'src/cli/config.ts',
    "name.startsWith('BIO_') && !name",
    "name.startsWith('BIO__') && !name",
  ]),
  fault('key-checksum', 'secrets of 16 different digits, 132 bits', 'src/key-format.test.ts', [
    'src/key-format.ts',
    'digits[randomInt(62)]',
    'digits[randomInt(16)]',
  ]),
  fault(
    'token-checks',
    'the algorithm is taken from the token, and the public key is a shared secret',
    'test/auth/auth.int.test.ts',
    ['src/auth/user-tokens.ts', "algorithms: ['RS256'],", "algorithms: ['RS256', 'HS256'],"],
    [
      'src/auth/user-tokens.ts',
      "  if (key === null) throw invalid('kid');",
      "  if (key === null) throw invalid('kid');\n  if (header.alg === 'HS256') {\n    const { createPublicKey } = await import('node:crypto');\n    const jwk = (await keys.jwks()).keys.find((one) => one['kid'] === header.kid);\n    return createPublicKey({ key: jwk as never, format: 'jwk' }).export({ type: 'spki', format: 'der' }) as never;\n  }",
    ],
  ),
  fault('key-hash', 'scrypt of an eighth of the cost', 'src/tenancy/operators.test.ts', [
    'src/tenancy/operators.ts',
    'const N = 2 ** 17;',
    'const N = 2 ** 14;',
  ]),
  fault('key-hash', 'keys are kept as another hash', 'test/auth/auth.int.test.ts', [
    'src/key-format.ts',
    "createHash('sha256').update(key)",
    "createHash('sha3-256').update(key)",
  ]),
  fault('known-browser', 'a browser is known for a week', 'test/auth/sign-in.int.test.ts', [
    'src/auth/device-cookies.ts',
    '180 * 86_400',
    '7 * 86_400',
  ]),
  fault('session-idle', 'a session lives for an hour by itself', 'test/docs/docs.test.ts', [
    'src/config.ts',
    "'BIO_SESSION_IDLE_MIN',\n    30,",
    "'BIO_SESSION_IDLE_MIN',\n    60,",
  ]),
  fault('audit-bound', 'the newest entries are lost', 'src/tenancy/audit-batch.test.ts', [
    'src/tenancy/audit-batch.ts',
    'this.#rows.splice(0, lost);',
    'this.#rows.splice(-lost);',
  ]),
  fault('audit-killed', 'what waits is written every half minute', 'src/tenancy/audit-batch.test.ts', [
    'src/tenancy/audit-batch.ts',
    'const FLUSH_MS = 10_000;',
    'const FLUSH_MS = 30_000;',
  ]),
  fault('audit-repeats', 'reads of one minute are one entry', 'src/tenancy/audit-batch.test.ts', [
    'src/tenancy/read-audit.ts',
    'const READ_WINDOW_MS = 300_000;',
    'const READ_WINDOW_MS = 60_000;',
  ]),
  fault('audit-changes', 'entries do not say who', 'test/tenancy/audit.int.test.ts', [
    'src/tenancy/read-audit.ts',
    'actorId: actorId(caller), ip: inetOf(remoteAddress)',
    "actorId: '', ip: inetOf(remoteAddress)",
  ]),
  fault('content-policy', 'scripts in the page run', 'test/dashboard/pages.int.test.ts', [
    'src/http/static-files.ts',
    "script-src 'self'; style-src",
    "script-src 'self' 'unsafe-inline'; style-src",
  ]),
  fault('native-hashes', 'any binary with a hash is loaded', 'test/repository/supply-chain.test.ts', [
    'src/http/uws.ts',
    'if (found !== expected)',
    'if (found.length !== expected.length)',
  ]),
  fault('sbom', 'a run-time package without its licence', 'test/repository/supply-chain.test.ts', [
    'docs/licences.md',
    '| kysely |',
    '| kisely |',
  ]),
  fault('erasure-leaves', 'the raw log is kept for two days', 'test/storage/sql.int.test.ts', [
    'sql/000007-retention.sql',
    "('packet_log', '1 day')",
    "('packet_log', '2 days')",
  ]),
  fault('webhook-consent', 'asked at the first try only', 'test/webhooks/webhooks.int.test.ts', [
    'src/webhooks/webhooks.ts',
    "(case when 'sharing' = any(",
    "(case when d.attempts < 2 and 'sharing' = any(",
  ]),
  fault('rule-consent', 'a rule counts the episodes of everybody', 'test/webhooks/rule-emails.int.test.ts', [
    'src/records/rules.ts',
    '      .where(isShared)\n',
    '',
  ]),
  fault('past-days', 'a user token begins as many days as it likes', 'test/ingest/many-days.int.test.ts', [
    'src/ingest/past-days.ts',
    'USER_DAYS_PER_MIN_MAX = 60;',
    'USER_DAYS_PER_MIN_MAX = 60_000;',
  ]),
  fault('rule-long', 'every round reads all of an episode', 'test/records/long-episodes.int.test.ts', [
    'src/records/episode-rules.ts',
    'const WHOLE_MS = 6 * 3_600_000;',
    'const WHOLE_MS = 6000 * 3_600_000;',
  ]),
  fault('erasure', 'a measurement is stored while its person is erased', 'test/records/erase.int.test.ts', [
    'src/query/observation-routes.ts',
    '        await holdSubject(client, subject.id);\n',
    '',
  ]),
  fault('metrics-guarded', 'a caller without a token gets the metrics', 'test/auth/sign-in.int.test.ts', [
    'src/http/service-routes.ts',
    "given === '' && isLoopbackAddress(remoteAddress)",
    "given === ''",
  ]),
  fault('rights-again', 'a node does not follow what its user of NATS may do', 'test/cluster/nats-rights.int.test.ts', [
    'src/bus/nats-bus.ts',
    '    this.#leave(unfit);\n    void this.#comeBack();\n',
    '',
  ]),
  fault('packet-conflict', 'other content under a number is a duplicate', 'test/ingest/identity.int.test.ts', [
    'src/ingest/session.ts',
    "return before === contentHash ? 'same' : 'other';",
    "return 'same';",
  ]),
  fault('no-more-rights', 'a key gives scopes that it lacks, if it has one of them', 'src/tenancy/authority.test.ts', [
    'src/tenancy/authority.ts',
    "if (lacking.length > 0) throw new PipelineError('scope_missing', `The key lacks",
    "if (lacking.length === given.length) throw new PipelineError('scope_missing', `The key lacks",
  ]),
  fault('last-owner', 'the last owner may go while there is an administrator', 'test/auth/authority.int.test.ts', [
    'src/tenancy/operators.ts',
    "      and (o.owners > 0 or not w.active or w.before <> 'owner' or (w.stays and w.role = 'owner'))\n",
    '',
  ]),
  fault('socket-origin', 'the origin of a socket is not looked at', 'test/http/http.int.test.ts', [
    'src/http/sockets.ts',
    "if (origin !== '' && caller.kind !== 'user') {",
    "if (origin === 'null' && caller.kind !== 'user') {",
  ]),
  fault('row-set-aside', 'a batch with a bad row is set aside whole', 'test/storage/poison.int.test.ts', [
    'src/storage/store-or-set-aside.ts',
    'const REFUSALS_MAX = 200;',
    'const REFUSALS_MAX = 0;',
  ]),
  fault('log-set-aside', 'a refused packet of the log is forgotten', 'test/storage/poison-recovery.int.test.ts', [
    'src/pipeline/recover.ts',
    '      else await faults.setAside([letterOf(entry, entry.position, refusal)]);\n',
    '',
  ]),
  fault('nothing-in-logs', 'errors of the database are logged as drivers throw them', 'test/service/operations.int.test.ts', [
    'src/start/create-logger.ts',
    'err: (error: unknown) => describeError(error)',
    'err: (error: unknown) => error',
  ]),
  fault(
    'sealed',
    'an entry opens under the name of another',
    'src/records/journal-cipher.test.ts',
    ['src/records/journal-cipher.ts', '    cipher.setAAD(Buffer.from(`${subjectId}\\n${entryId}`));\n', ''],
    ['src/records/journal-cipher.ts', '    decipher.setAAD(Buffer.from(`${subjectId}\\n${entryId}`));\n', ''],
  ),
  fault(
    'device-limit',
    'a socket may leave any number unread',
    'test/ingest/ingest.int.test.ts',
    ['src/ingest/ingest-socket.ts', 'QUEUE_MESSAGES_MAX = 2 * WINDOW', 'QUEUE_MESSAGES_MAX = 200 * WINDOW'],
    ['src/ingest/ingest-socket.ts', 'UNSETTLED_MAX = 4 * WINDOW', 'UNSETTLED_MAX = 400 * WINDOW'],
  ),
  fault('retention-late', 'the alert waits for ten hours', 'test/service/operations.int.test.ts', [
    'ops/prometheus/alerts.yml',
    'max(bio_retention_age_seconds) > 3600',
    'max(bio_retention_age_seconds) > 36000',
  ]),
  fault('backup-snapshot', 'each table as it is when its turn comes', 'test/cli/backup.int.test.ts', [
    'src/cli/backup.ts',
    'begin isolation level repeatable read read only',
    'begin read only',
  ]),
  fault('restore-atomic', 'each table by itself', 'test/cli/backup.int.test.ts', [
    'src/cli/backup.ts',
    "    await client.query('begin');\n    const present",
    '    const present',
  ]),
  fault('retention-drops', 'rows are deleted, and empty partitions stay', 'test/storage/sql.int.test.ts', [
    'sql/000008-partitions.sql',
    "execute format('drop table %I', child.relname);",
    "execute format('delete from %I', child.relname);",
  ]),
  fault('retention-of-projects', 'an hour of all streams at a time', 'test/docs/docs.test.ts', [
    'src/storage/retention.ts',
    'STREAMS_PER_DELETE = 20;',
    'STREAMS_PER_DELETE = 20_000;',
  ]),
  fault('set-aside-expires', 'what is set aside goes after sixty days', 'test/storage/sql.int.test.ts', [
    'src/storage/set-aside.ts',
    'SET_ASIDE_DAYS = 90',
    'SET_ASIDE_DAYS = 60',
  ]),
  fault('set-aside-told', 'the list of devices says nothing of it', 'test/storage/poison.int.test.ts', [
    'src/query/device-routes.ts',
    '(select count(*)::integer from set_aside a',
    '(select 0 * count(*)::integer from set_aside a',
  ]),
  fault('open-files', 'workers are not counted', 'test/service/start.int.test.ts', [
    'src/start/refuse.ts',
    'const OPEN_FILES_PER_WORKER = 6;',
    'const OPEN_FILES_PER_WORKER = 0;',
  ]),
  fault('key-overlap', 'the command line ends the old key at once', 'test/cli/init.int.test.ts', [
    'src/cli/organizations.ts',
    'rotateApiKey(client, orgId, id, overlapSec, null)',
    'rotateApiKey(client, orgId, id, 0 * overlapSec, null)',
  ]),
  fault('migration-lock', 'a file is tried three times', 'test/docs/docs.test.ts', [
    'src/storage/schema/migrate.ts',
    'LOCK_TRIES = 30;',
    'LOCK_TRIES = 3;',
  ]),
  fault('database-away', 'packets wait for a minute', 'test/docs/docs.test.ts', [
    'src/storage/packet-log.ts',
    'RETRY_FOR_MS = 8000;',
    'RETRY_FOR_MS = 60_000;',
  ]),
  fault('packets-before-values', 'nobody is told of streams to be read back', 'test/service/restart-streams.int.test.ts', [
    'src/pipeline/running-pipeline.ts',
    "loadingCount === 0 ? ''",
    "loadingCount >= 0 ? ''",
  ]),
  fault('old-rows', 'rows of one second are written next to longer ones', 'test/storage/blocks.int.test.ts', [
    'src/storage/store-rows.ts',
    '({ ...row, rowSec: channel.rowSec }));',
    '({ ...row, rowSec: Math.min(1, channel.rowSec) }));',
  ]),
  fault('doctor-service', 'the parts of the running service are not looked at', 'test/service/secret.int.test.ts', [
    'src/cli/doctor.ts',
    'parts.filter(({ name, ok }) => !ok &&',
    'parts.filter(({ name, ok }) => ok === null &&',
  ]),
  fault('webhook-retry', 'a delivery is given up after half a day', 'test/http/api.int.test.ts', [
    'src/webhooks/webhooks.ts',
    '10 * 3600, 20 * 3600]',
    '10 * 3600]',
  ]),
  fault('webhook-test-limit', 'fifty tests at once', 'test/webhooks/webhooks.int.test.ts', [
    'src/webhooks/webhook-care-routes.ts',
    'TESTS_BURST_SEC = 60;',
    'TESTS_BURST_SEC = 300;',
  ]),
  fault('webhook-slow', 'four requests at a slow address', 'test/webhooks/webhooks.int.test.ts', [
    'src/webhooks/webhooks.ts',
    'SLOW_IN_FLIGHT_MAX = 1;',
    'SLOW_IN_FLIGHT_MAX = 4;',
  ]),
  fault('token-refused', 'pauses grow to ten minutes', 'test/widgets/session.int.test.ts', [
    'widgets/provider/provider.ts',
    'PAUSE_MAX_MS = 60_000;',
    'PAUSE_MAX_MS = 600_000;',
  ]),
  fault('webhook-schemas', 'an event that the description does not know', 'test/webhooks/webhooks.int.test.ts', [
    'src/tenancy/events.ts',
    "'xuser.updated': exactly({ xuser_id: Uuid }),",
    "'xuser.updated': exactly({ user_id: Uuid }),",
  ]),
  fault('measurement-ranges', 'a time may be an hour ahead', 'test/records/measurements.int.test.ts', [
    'src/http/times.ts',
    'AHEAD_MS = 5 * 60_000',
    'AHEAD_MS = 60 * 60_000',
  ]),
  fault('idempotency-race', 'the repeat is answered with what is not there yet', 'test/auth/auth.int.test.ts', [
    'src/tenancy/idempotency.ts',
    'if (row === undefined || row.status === null)',
    'if (row === undefined)',
  ]),
  fault('rotation-overlap', 'an overlap of an hour by itself', 'test/auth/public-keys.int.test.ts', [
    'src/auth/api-keys.ts',
    'OVERLAP_SEC = 24 * 3600',
    'OVERLAP_SEC = 3600',
  ]),
  fault('export-roles', 'a clinician erases people', 'test/dashboard/people.int.test.ts', [
    'src/records/erase-routes.ts',
    "operator: 'admin' }",
    "operator: 'editor' }",
  ]),
  fault('refusal-kinds', 'a key that lacks the scope is let in', 'test/auth/matrix.int.test.ts', [
    'src/http/access.ts',
    'if (!caller.scopes.includes(needed)) {',
    'if (caller.scopes.length === 0) {',
  ]),
  fault('worse-flag', 'the flag of a device is forgotten', 'test/records/measurements.int.test.ts', [
    'src/storage/reported-rows.ts',
    'greatest(m.qmask, case',
    'greatest(0::smallint, case',
  ]),
  fault('bad-samples', 'bad samples are computed with', 'src/dsp/engine/engine.test.ts', [
    'src/dsp/engine/engine.ts',
    'qmask[i]! >= badSample',
    'qmask[i]! > badSample',
  ]),
  fault('spo2-suspect', 'the textbook line gives good values', 'src/dsp/engine/engine.test.ts', [
    'src/dsp/ppg/spo2.ts',
    'return this.#calibrated && correlation',
    'return correlation',
  ]),
  fault('feature-filters', 'a feature that does not exist is left out', 'test/query/data.int.test.ts', [
    'src/query/known-features.ts',
    'if (unknown.length > 0)',
    'if (unknown.length > names.length)',
  ]),
  fault('amendments', 'a response does not say what superseded it', 'test/records/self-reports.int.test.ts', [
    'src/records/response-routes.ts',
    "    'superseded_by',\n    'reason',",
    "    ref('superseded_by').$castTo<null>().as('was'),\n    'reason',",
  ]),
  fault('sql-for-history', 'an example of SQL that asks for the last hour only', 'test/docs/docs.int.test.ts', [
    'docs/analyst.md',
    "as seconds\nfrom feature_values(now() - interval '1 hour', now()) f",
    "as seconds\nfrom feature_values(localtimestamp - interval '1 hour', now()) f",
  ]),
  fault('gaps-drawn', 'a line is drawn across missing buckets', 'test/widgets/widgets.int.test.ts', [
    'widgets/trend-chart/plot.ts',
    'if (timeMs - beforeMs > stepMs * 1.9) push',
    'if (timeMs - beforeMs > stepMs * 1900) push',
  ]),
  fault('too-few-beats', 'any two beats make a minute', 'src/dsp/engine/engine.test.ts', [
    'src/dsp/hrv/values.ts',
    'return gathered.coverage < coverageMin || scratch.nn.count < 2 ? null : gathered.flag;',
    'return scratch.nn.count < 2 ? null : gathered.flag;',
  ]),
  fault('minute-of-your-own', 'the example beats every 0.75 s', 'test/docs/examples.int.test.ts', [
    'examples/device/device.ts',
    '% 0.8) - 0.4',
    '% 0.75) - 0.375',
  ]),
  fault('live-is-recomputed', 'a group begins with the lead that came first', 'src/dsp/engine/packet-cuts.test.ts', [
    'src/dsp/engine/leads.ts',
    'first === Number.POSITIVE_INFINITY || first > seen',
    'first === Number.POSITIVE_INFINITY || seen < -1',
  ]),
  fault('live-is-recomputed', 'of a long packet the last seconds alone are looked up', 'src/dsp/engine/packet-cuts.test.ts', [
    'src/dsp/engine/beat-chain.ts',
    'const piece = ring === null && this.#waves === null ? n : Math',
    'const piece = ring === null || n > 0 ? n : Math',
  ]),
  fault('changed-rate', 'every group of the first lead gives its values', 'src/dsp/engine/packet-cuts.test.ts', [
    'src/dsp/engine/primary-groups.ts',
    'if (theirs > own || (theirs === own && !yields)) return false;',
    'if (theirs > own + 2) return false;',
  ]),
  fault('foreign-units', 'a unit that is not known is taken for that of the method', 'src/dsp/engine/slow-values.test.ts', [
    'src/dsp/engine/units.ts',
    'known.get(name.toLowerCase()) ?? null',
    'known.get(name.toLowerCase()) ?? asItIs',
  ]),
  fault('imports-held', 'signal processing imports storage', 'test/repository/architecture.test.ts', [
    'src/dsp/hrv/time-domain.ts',
    '/** Time-domain heart rate variability of one window of NN intervals. */',
    "import '../../storage/database/locks.ts';",
  ]),
  fault('limit-batch', '16,385 packets are taken', 'test/ingest/ingest.int.test.ts', [
    'src/ingest/post-raw-packet.ts',
    'BATCH_PACKETS_MAX = 16_384',
    'BATCH_PACKETS_MAX = 16_385',
  ]),
  fault('limit-packet', 'what is 2 MiB too large is answered', 'test/ingest/ingest.int.test.ts', [
    'src/ingest/ingest-socket.ts',
    'OVERSIZE_BYTES = 1024 * 1024',
    'OVERSIZE_BYTES = 2048 * 1024',
  ]),
  fault('ring', 'frames of half a minute are kept', 'src/live/outbox.test.ts', ['src/live/hub.ts', 'RING_MS = 60_000', 'RING_MS = 30_000']),
  fault('missed-five', 'a channel is waited for whatever it misses', 'src/live/frame-clock.test.ts', [
    'src/live/frame-clock.ts',
    'MISSES_MAX = 5;',
    'MISSES_MAX = 500;',
  ]),
  fault('live-messages', 'thirty messages at once', 'test/auth/socket-credentials.int.test.ts', [
    'src/live/live-socket.ts',
    'MESSAGES_BURST = 50',
    'MESSAGES_BURST = 30',
  ]),
  fault('strict-decoder', 'text of any bytes', 'src/proto/packet-codec.test.ts', [
    'src/proto/packet-decode.ts',
    '    return fault(start, `${fieldName} is not UTF-8`);',
    "    return '';",
  ]),
  fault('quality-runs', 'runs may end before the samples', 'src/proto/packet-codec.test.ts', [
    'src/proto/packet-decode.ts',
    '  if (filled !== n) fault(to, `quality runs do not add up to ${n} samples`);\n',
    '',
  ]),
  fault('rates-exact', 'a rate of a tenth of a millihertz', 'src/ingest/admit.test.ts', [
    'src/ingest/admit.ts',
    'RATE_MIN = 1_000_000;',
    'RATE_MIN = 100_000;',
  ]),
  fault('limit-times', 'an hour in the future', 'src/ingest/admit.test.ts', [
    'src/ingest/admit.ts',
    'futureSecMax: 600,',
    'futureSecMax: 3600,',
  ]),
  fault('no-ack-unasked', 'a repeat is acknowledged without asking', 'test/ingest/identity.int.test.ts', [
    'src/ingest/ingest.ts',
    "if (admitted.content === 'unknown') return 'recall';",
    "if (admitted.content === 'unknown') return UNVERIFIED;",
  ]),
  fault('subject-fixed', 'the subject may change within a boot', 'src/ingest/admit.test.ts', [
    'src/ingest/admit.ts',
    'if (packet.subject !== session.subjectText) {',
    'if (packet.subject === session.bootId) {',
  ]),
  fault('ack-durable', 'a message is acknowledged when it is taken', 'test/ingest/ingest.int.test.ts', [
    'src/ingest/ingest-socket.ts',
    'group.settled = commit === null;',
    'group.settled = true;',
  ]),
  fault('nobody-waits', 'no frame is sent while a viewer is behind', 'src/live/outbox.test.ts', [
    'src/live/viewer-group.ts',
    'this.#endUnixMs = endUnixMs;',
    "this.#endUnixMs = endUnixMs;\n    if ([...this.viewers].some(({ mode }) => mode === 'behind')) return 0;",
  ]),
  fault('overview-equals-samples', 'samples that are still in memory are left out', 'test/query/overview.int.test.ts', [
    'src/query/overview.ts',
    'const recentRows = byRow(inMemory,',
    'const recentRows = byRow(inMemory.slice(1),',
  ]),
  fault('overview-equals-samples', 'a row that reaches into the next bucket counts as a whole', 'test/query/overview.int.test.ts', [
    'src/query/overview.ts',
    'if (1000 * start < edgeMs && start < toSec) starts',
    'if (1000 * start < edgeMs - 1000 * rowSec && start < toSec) starts',
  ]),
  fault('window-variability', 'an interval that does not fit counts where its beat is normal', 'test/dashboard/variability.int.test.ts', [
    'src/query/window-intervals.ts',
    'if (columns.accepted[beat.index] === 1) return',
    'if (columns.kinds[beat.index] === normal) return',
  ]),
  fault('waves-are-medians', 'QT is measured from the R peak on', 'test/query/waves.int.test.ts', [
    'src/query/beat-waves.ts',
    'Math.fround(measureOf.qt(found))',
    'Math.fround(1000 * found.tEnd)',
  ]),
  fault('waves-qtc', 'QT is corrected by the interval of an ectopic beat', 'test/query/waves.int.test.ts', [
    'src/query/beat-waves.ts',
    'accepted[i] === 1 && isNext',
    'isNext',
  ]),
  fault('overview-fits', 'five times the buckets that were asked for', 'test/query/overview.int.test.ts', [
    'src/query/overview.ts',
    'if (end - first <= bucketsMax &&',
    'if (end - first <= 5 * bucketsMax &&',
  ]),
  fault('own-units', 'any text is a unit', 'test/query/own-biosignals.int.test.ts', [
    'src/units/ucum.ts',
    'return term() && at === unit.length;',
    "return (term() && at === unit.length) || unit !== '';",
  ]),
  fault('one-flag', 'totals are good as soon as one value is', 'test/query/observation-summaries.int.test.ts', [
    'src/query/chart-detail.ts',
    'flag: n === 0 ? null : flagOf(',
    'flag: goodN > 0 ? 0 : flagOf(',
  ]),
  fault('observation-expected', 'a minute of values every five minutes expects none', 'test/query/observation-summaries.int.test.ts', [
    'src/query/expected-values.ts',
    'if (due < 1 - ROUNDING) return null;',
    'if (due < 1 - ROUNDING) return 0;',
  ]),
  fault('means-rounded', 'a mean has the digits of its division', 'test/query/observation-summaries.int.test.ts', [
    'src/signal.ts',
    'const answered = perUnit === 1 ? 1000 : perUnit;',
    'const answered = 1e9 * perUnit;',
  ]),
  fault('observation-summaries-fhir', 'the end of a day is a day of UTC later', 'test/query/observation-summaries.int.test.ts', [
    'src/query/fhir.ts',
    'end: row.effective_end }',
    "end: new Date(Date.parse(row.effective_time) + 86_400_000).toISOString().replace('Z', '000Z') }",
  ]),
  fault('log-form', 'a release that reads packets one by one may claim packed batches', 'test/service/ownership.int.test.ts', [
    'src/storage/log-batch.ts',
    'export const LOG_FORM = 1;',
    'export const LOG_FORM = 0;',
  ]),
  fault('consent-recording', 'streams that are opened meanwhile are closed too', 'test/tenancy/consent.int.test.ts', [
    'src/pipeline/running-pipeline.ts',
    'await Promise.all([dropped, this.#life.closeOf(subjectId)]);',
    'await dropped;\n    await this.#life.closeOf(subjectId);',
  ]),
  fault('erasure', 'a deadlock ends the erasure', 'test/records/erase.int.test.ts', [
    'src/records/erase.ts',
    'const ATTEMPTS_MAX = 5;',
    'const ATTEMPTS_MAX = 1;',
  ]),
];
