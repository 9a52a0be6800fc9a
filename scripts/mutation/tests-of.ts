/** Which tests may find a mutant of a file: unit tests that import it, however indirectly, nearest first, and integration tests by a table.
 *  (Nearly all of those import the whole service.) Which of them run the changed lines is measured, see coverage.ts. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** By the beginning of a file's name, the longest that fits. Without `test/` and `.int.test.ts`. */
export const integrationTests: Readonly<Record<string, string>> = {
  'src/auth/': 'auth/auth',
  'src/auth/api-keys': 'auth/auth auth/public-keys auth/guessing',
  'src/auth/auth.': 'auth/auth auth/direct auth/signing-keys auth/public-keys auth/matrix auth/guessing',
  'src/auth/consent-watch': 'tenancy/consent',
  'src/auth/device-cookies': 'auth/sign-in',
  'src/auth/key-change': 'auth/public-keys auth/auth auth/authority',
  'src/auth/key-routes': 'auth/auth auth/authority tenancy/audit',
  'src/auth/key-sealer': 'auth/tls',
  'src/auth/public-key': 'auth/public-keys auth/authority',
  'src/auth/revocation': 'auth/public-keys auth/socket-credentials',
  'src/auth/session-routes': 'auth/sign-in',
  'src/auth/signing-keys': 'auth/tls auth/signing-keys',
  'src/auth/token-routes': 'auth/auth auth/public-keys',
  'src/auth/user-tokens': 'auth/auth auth/signing-keys auth/public-keys',
  'src/ingest/': 'ingest/ingest ingest/identity',
  'src/ingest/admit': 'ingest/ingest ingest/identity ingest/device-clock ingest/extreme-values',
  'src/ingest/clock-fit': 'ingest/device-clock',
  'src/ingest/ingest-socket': 'ingest/ingest-socket ingest/ingest ingest/identity auth/socket-credentials',
  'src/ingest/post-raw-packet': 'ingest/ingest ingest/identity auth/direct',
  'src/ingest/session': 'ingest/ingest ingest/identity auth/socket-credentials',
  'src/key-format': 'auth/guessing auth/auth',
  'src/query/': 'query/data http/api',
  'src/query/chart': 'query/chart storage/plans query/data',
  'src/query/export-routes': 'query/data tenancy/strangers cli/import-export',
  'src/query/fhir': 'query/data http/api-interface',
  'src/query/observation': 'query/data query/chart',
  'src/query/sample-routes': 'query/data query/chart',
  'src/query/samples': 'query/chart query/data',
  'src/query/series': 'query/data storage/plans',
  'src/query/strip': 'widgets/sweep-trace query/data',
  'src/query/turns': 'http/read-turns',
  'src/storage/block-codec': 'storage/sql storage/blocks',
  'src/storage/block-writer': 'storage/blocks storage/trouble service/restart-streams storage/poison-recovery',
  'src/storage/database/database': 'service/connections storage/trouble',
  'src/storage/database/embedded': 'storage/embedded cli/database',
  'src/storage/database/locks': 'storage/locks',
  'src/storage/database/organization-pool': 'storage/roles',
  'src/storage/database/roles': 'storage/roles service/connections',
  'src/storage/database/transaction': 'auth/auth',
  'src/storage/database/writer-connection': 'storage/trouble service/ownership',
  'src/storage/derived-': 'storage/derived storage/trouble storage/rollups',
  'src/storage/letter-': 'storage/poison-recovery storage/poison',
  'src/storage/log-batch': 'storage/crash storage/blocks',
  'src/storage/open-r': 'storage/blocks',
  'src/storage/log-ownership': 'service/ownership service/standby',
  'src/storage/packet-hashes': 'service/ownership storage/crash',
  'src/storage/packet-log': 'storage/crash storage/blocks storage/trouble',
  'src/storage/reported-rows': 'storage/derived records/measurements storage/trouble',
  'src/storage/resume-point': 'storage/blocks service/restart-streams',
  'src/storage/sample-rows': 'storage/blocks storage/crash',
  'src/storage/maintenance': 'storage/retention storage/rollups storage/late-data',
  'src/storage/schema/baseline': 'storage/migrate',
  'src/storage/schema/migrate': 'storage/migrate',
  'src/storage/schema/partitions': 'storage/partitions storage/retention',
  'src/storage/retention': 'storage/retention storage/retention-service',
  'src/storage/schema/schema-text': 'storage/migrate',
  'src/storage/schema/timescale-jobs': 'storage/timescale-jobs',
  'src/storage/seq-ranges': 'storage/crash ingest/ingest',
  'src/storage/service-secret': 'auth/signing-keys service/secret',
  'src/storage/set-aside': 'storage/saved-streams storage/poison-recovery storage/derived',
  'src/storage/store-or-set-aside': 'storage/poison-recovery storage/derived',
  'src/storage/store-rows': 'storage/blocks storage/trouble',
  'src/storage/stream-': 'storage/blocks service/restart-streams storage/roles',
  'src/storage/stream-registry': 'storage/saved-streams storage/blocks service/restart-streams',
  'src/tenancy/': 'auth/auth',
  'src/tenancy/answer-once': 'http/idempotency records/answer-effects',
  'src/tenancy/audit': 'tenancy/audit',
  'src/tenancy/audit-routes': 'tenancy/strangers tenancy/audit',
  'src/tenancy/authority': 'auth/roles-given auth/authority',
  'src/tenancy/bootstrap-routes': 'http/api',
  'src/tenancy/conflict-audit': 'tenancy/audit',
  'src/tenancy/consent': 'tenancy/consent',
  'src/tenancy/events': 'webhooks/webhooks',
  'src/tenancy/idempotency': 'http/idempotency records/answer-effects records/self-reports',
  'src/tenancy/operator': 'auth/sign-in auth/authority',
  'src/tenancy/organization-routes': 'storage/roles',
  'src/tenancy/record-ownership': 'auth/auth auth/matrix tenancy/consent tenancy/strangers',
  'src/tenancy/project-': 'auth/auth auth/authority',
  'src/tenancy/read-audit': 'tenancy/audit query/data',
  'src/tenancy/request-scope': 'query/data tenancy/audit',
  'src/tenancy/xuser': 'auth/auth records/erase',
};

export function integrationTestsOf(file: string): readonly string[] {
  const [best] = Object.keys(integrationTests)
    .filter((start) => file.startsWith(start))
    .toSorted((a, b) => b.length - a.length);
  return best === undefined ? [] : integrationTests[best]!.split(' ').map((name) => `test/${name}.int.test.ts`);
}

/** Steps of import between a unit test and a file beyond which the test is about something else. */
const STEPS_MAX = 3;

/** Of `tests`, those that reach the file by few imports, nearest first. @param folder the checkout */
export function unitTestsOf(folder: string, file: string, tests: readonly string[]): readonly string[] {
  const distances = tests.map((test) => ({ test, distance: distanceTo(folder, test, file) }));
  return distances
    .filter(({ distance }) => distance <= STEPS_MAX)
    .toSorted((a, b) => a.distance - b.distance)
    .map(({ test }) => test);
}

function distanceTo(folder: string, from: string, to: string): number {
  const seen = new Set([from]);
  let edge = [from];
  for (let distance = 0; distance <= STEPS_MAX && edge.length > 0; distance++) {
    if (edge.includes(to)) return distance;
    edge = edge.flatMap((file) => importsOf(folder, file)).filter((file) => !seen.has(file) && seen.add(file));
  }
  return Infinity;
}

const known = new Map<string, readonly string[]>();

/** Files of ours that a file imports, starts as a worker or names by address. Types come along: it costs a measurement, no more. */
function importsOf(folder: string, file: string): readonly string[] {
  const found = known.get(`${folder} ${file}`);
  if (found !== undefined) return found;
  let source = '';
  try {
    source = readFileSync(join(folder, file), 'utf8');
  } catch {
    // an address that is no file of ours
  }
  const matches = [...source.matchAll(/(?:from|import|URL)\s*\(?\s*'(\.[^']+\.ts)'/g)];
  const imports = matches.map(([, name]) => relative(folder, join(folder, dirname(file), name!)));
  known.set(`${folder} ${file}`, imports);
  return imports;
}
