/** Which tests may find a mutant of a file: unit tests that import it, however indirectly, nearest first, and integration tests by a table.
 *  (Nearly all of those import the whole service.) Which of them run the changed lines is measured, see coverage.ts. */
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** By the beginning of a file's name, the longest first; `+` before a name adds to the shorter ones' tests. Without `test/` and `.int.test.ts`. */
const integrationTests: Readonly<Record<string, string>> = {
  'src/auth/': 'auth',
  'src/auth/answer-once': 'idempotency answer-effects',
  'src/auth/api-keys': 'auth auth-public-keys guessing',
  'src/auth/audit': 'audit',
  'src/auth/auth.': 'auth auth-direct auth-signing-keys auth-public-keys auth-matrix guessing',
  'src/auth/authority': 'auth-authority',
  'src/auth/conflict-audit': 'audit',
  'src/auth/consent': 'api-consent',
  'src/auth/device-cookies': 'auth-sign-in',
  'src/auth/events': 'webhooks',
  'src/auth/idempotency': 'idempotency answer-effects self-reports',
  'src/auth/key-change': 'auth-public-keys auth auth-authority',
  'src/auth/key-format': 'guessing auth',
  'src/auth/key-routes': 'auth auth-authority audit',
  'src/auth/key-sealer': 'auth-tls',
  'src/auth/operator': 'auth-sign-in auth-authority',
  'src/auth/ownership': 'auth auth-matrix',
  'src/auth/project': 'auth auth-authority',
  'src/auth/public-key': 'auth-public-keys auth-authority',
  'src/auth/read-audit': 'audit api-data',
  'src/auth/request-scope': 'api-data audit',
  'src/auth/revocation': 'auth-public-keys socket-credentials',
  'src/auth/session-routes': 'auth-sign-in',
  'src/auth/signing-keys': 'auth-tls auth-signing-keys',
  'src/auth/token-routes': 'auth auth-public-keys',
  'src/auth/user-tokens': 'auth auth-signing-keys auth-public-keys',
  'src/auth/xuser': 'auth api-erase',
  'src/ingest/': 'ingest ingest-identity',
  'src/ingest/admit': 'ingest ingest-identity device-clock extreme-values',
  'src/ingest/clock-fit': 'device-clock',
  'src/ingest/post-raw-packet': 'ingest ingest-identity auth-direct',
  'src/ingest/session': 'ingest ingest-identity socket-credentials',
  'src/query/': 'api-data api',
  'src/query/bootstrap-routes': 'api',
  'src/query/chart': 'query-chart storage-plans api-data',
  'src/query/export-routes': 'api-data import-export',
  'src/query/fhir': 'api-data api-interface',
  'src/query/observation': 'api-data query-chart',
  'src/query/samples': 'query-chart api-data',
  'src/query/sample-routes': 'api-data query-chart',
  'src/query/series': 'api-data storage-plans',
  'src/query/strip': 'sweep-trace api-data',
  'src/query/turns': 'read-turns',
  'src/storage/block-codec': 'storage-sql storage-blocks',
  'src/storage/block-writer': 'storage-blocks storage-trouble',
  'src/storage/copy-writer': 'storage-derived storage-trouble storage-rollups',
  'src/storage/late-aggregates': 'late-data storage-rollups',
  'src/storage/letter': 'poison-recovery poison',
  'src/storage/locks': 'locks',
  'src/storage/log-batch': 'storage-crash storage-blocks',
  'src/storage/maintenance': 'storage-retention storage-rollups late-data',
  'src/storage/open-run': 'storage-blocks',
  'src/storage/ownership': 'ownership standby',
  'src/storage/packet-hashes': 'ownership storage-crash',
  'src/storage/packet-log': 'storage-crash storage-blocks storage-trouble',
  'src/storage/partitions': 'partitions storage-retention',
  'src/storage/resume-point': 'storage-blocks restart-streams',
  'src/storage/retention': 'storage-retention retention-service',
  'src/storage/roles': 'storage-roles connections',
  'src/storage/sample-rows': 'storage-blocks storage-crash',
  'src/storage/seq-ranges': 'storage-crash ingest',
  'src/storage/set-aside': 'poison-recovery storage-derived',
  'src/storage/store-or-set-aside': 'poison-recovery storage-derived',
  'src/storage/stream': 'storage-blocks restart-streams storage-roles',
  'src/storage/transaction': 'auth',
  'src/storage/writer-connection': 'storage-trouble ownership',
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
