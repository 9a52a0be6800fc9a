/** The tests that take ten seconds to minutes each and look at one thing from many sides, or at what few changes touch. `npm test`
 *  leaves them out, so that it ends within a quarter of an hour on two cores; `npm run test:all` runs them with the others, and `.ci/run`
 *  a fortieth of them: another for each commit, the same whenever that commit is run again (docs/decisions/0021-two-sets-of-tests.md).
 *
 *  `sh scripts/with-runtime.sh scripts/long-tests.ts COMMIT` prints the share of a commit. */
import { pathToFileURL } from 'node:url';

const names = `
  auth/authority auth/guessing auth/neighbours auth/sign-in-load auth/signing-keys auth/unanswered-checks
  bus/bus
  cli/backup cli/cells cli/cells-session cli/database cli/import-export cli/init cli/killed-move cli/ledger cli/organization-backup
  cli/other-tools cli/replay cli/simulate
  cluster/backlog-of-nodes cluster/batch-of-owners cluster/behind-a-proxy cluster/clock cluster/cluster-names cluster/copied-database
  cluster/damaged-answers cluster/drain cluster/drain-backlog cluster/ended-together cluster/erase-at-others cluster/first-processes
  cluster/followed-edge cluster/former-release cluster/full-log cluster/guessing-nodes cluster/hostile-messages cluster/hung-processes
  cluster/late-stop cluster/lost-owner cluster/membership cluster/moving-partitions cluster/nats-nodes cluster/nats-rights
  cluster/no-room-for-nodes cluster/partitioned-service cluster/password cluster/replay-after-move cluster/shared-messages cluster/starved
  cluster/told-node cluster/unreached cluster/viewer-between-owners cluster/viewer-of-restarted cluster/viewers-elsewhere
  dashboard/choices dashboard/dashboard dashboard/devices dashboard/lists dashboard/live dashboard/lost-answers dashboard/marks dashboard/pages dashboard/paper dashboard/people
  dashboard/recording dashboard/recording-gestures dashboard/recording-search dashboard/recordings dashboard/restarts dashboard/rules dashboard/search
  dashboard/time dashboard/translated dashboard/trends dashboard/two-people dashboard/variability dashboard/wall dashboard/wall-group
  dashboard/wall-lost dashboard/wall-names dashboard/zoom
  docs/docs docs/example-web docs/examples
  dsp/reprocess dsp/silence dsp/spo2-calibration
  http/api-docs http/api-fuzz http/half-open http/read-turns http/slow-readers
  ingest/batch-away ingest/batch-of-new-devices ingest/device-clock ingest/extreme-values ingest/identity ingest/many-days
  live/load live/sdk-clients
  proof/conform-cut-short proof/conform-hostile proof/faults proof/more-histories
  query/day-variability query/export-erased query/export-newest query/observation-summaries query/overview query/queryable
  query/recorded-time query/time-zones query/values query/waves
  records/answer-effects records/episode-acknowledgement records/erase-after-start records/erase-complete records/fleet-episodes
  records/long-episodes records/lost-updates records/rule-trial records/rule-turns records/rules records/schedules
  service/connections service/epochs service/full-pool service/jobs service/outage-lines service/ownership service/restart-streams
  service/secret service/settings service/standby service/stop
  storage/crash storage/damaged-derived storage/derived storage/derived-blocks storage/embedded storage/late-data storage/migrate
  storage/pack-rows storage/poison storage/poison-recovery storage/retention storage/retention-service storage/rollups
  storage/server-settings storage/session-settings storage/trouble storage/unreadable-rows storage/writer-connection
  webhooks/every-value webhooks/rule-emails
  widgets/chart-moves widgets/language widgets/package widgets/recording-marks widgets/session widgets/visual
`;

export const longTests: readonly string[] = [
  'src/dsp/engine/packet-cuts-many.test.ts',
  'src/dsp/pool/pool-faults.test.ts',
  'test/accuracy/leads.test.ts',
  'test/accuracy/ppg-scenarios.test.ts',
  'test/accuracy/qt.test.ts',
  'test/accuracy/values.test.ts',
  'test/proof/wrong-options.test.ts',
  ...names
    .trim()
    .split(/\s+/)
    .map((name) => `test/${name}.int.test.ts`),
];

export const SHARES = 40;

/** Every fortieth file, from one that the first digits of the commit's hash choose. */
export function shareOf(commit: string): string[] {
  const first = Number.parseInt(commit.slice(0, 8), 16) % SHARES;
  return longTests.filter((_, index) => index % SHARES === first);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const commit = process.argv[2] ?? '';
  if (!/^[0-9a-f]{8,40}$/.test(commit)) throw new Error(`'${commit}' is no commit: 8 to 40 hexadecimal digits`);
  console.log(shareOf(commit).join('\n'));
}
