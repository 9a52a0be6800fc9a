/** The integration tests that take minutes each and look at one thing from many sides. `npm test` leaves them out, so that it ends within
 *  a quarter of an hour on two cores; `npm run test:all` runs them with the others, and `.ci/run` a twentieth of them: another for each
 *  commit, the same whenever that commit is run again (docs/decisions/0021-two-sets-of-tests.md).
 *
 *  `sh scripts/with-runtime.sh scripts/long-tests.ts COMMIT` prints the share of a commit. */
import { pathToFileURL } from 'node:url';

const names = `
  auth/authority auth/guessing auth/neighbours auth/sign-in-load
  cli/cells-session cli/init cli/killed-move cli/organization-backup cli/other-tools
  cluster/backlog-of-nodes cluster/clock cluster/damaged-answers cluster/ended-together cluster/erase-at-others cluster/former-release
  cluster/guessing-nodes cluster/hostile-messages cluster/late-stop cluster/no-room-for-nodes cluster/password cluster/starved
  dashboard/lists dashboard/live dashboard/marks dashboard/paper dashboard/people dashboard/recording dashboard/recordings dashboard/rules
  dashboard/search dashboard/translated dashboard/trends dashboard/variability dashboard/wall dashboard/zoom
  docs/example-web
  dsp/reprocess dsp/silence dsp/spo2-calibration
  http/api-fuzz http/half-open http/slow-readers
  ingest/extreme-values ingest/identity
  live/load
  proof/conform-hostile proof/faults
  query/observation-summaries query/overview query/recorded-time query/time-zones query/values
  records/answer-effects records/erase-after-start records/erase-complete records/lost-updates records/rule-trial records/schedules
  service/full-pool service/jobs service/outage-lines service/restart-streams service/secret service/settings service/standby service/stop
  storage/damaged-derived storage/derived storage/derived-blocks storage/embedded storage/late-data storage/migrate storage/pack-rows storage/poison
  storage/poison-recovery storage/trouble storage/unreadable-rows
  webhooks/rule-emails
  widgets/chart-moves widgets/language
`;

export const longTests: readonly string[] = names
  .trim()
  .split(/\s+/)
  .map((name) => `test/${name}.int.test.ts`);

const SHARES = 20;

/** Every twentieth file, from one that the first digits of the commit's hash choose. */
export function shareOf(commit: string): string[] {
  const first = Number.parseInt(commit.slice(0, 8), 16) % SHARES;
  return longTests.filter((_, index) => index % SHARES === first);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const commit = process.argv[2] ?? '';
  if (!/^[0-9a-f]{8,40}$/.test(commit)) throw new Error(`'${commit}' is no commit: 8 to 40 hexadecimal digits`);
  console.log(shareOf(commit).join('\n'));
}
