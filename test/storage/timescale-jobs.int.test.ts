/** TimescaleDB's jobs pack old chunks, and nobody would miss them for weeks: one that fails is in /readyz, the
 *  metrics, the log and what doctor says, while the service goes on taking packets. Needs a server with jobs: BIO_TEST_TIMESCALE_URL. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../src/cli/command.ts';
import { doctor } from '../../src/cli/doctor.ts';
import { otherServers } from '../helpers/database.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

const community = otherServers().find(({ name }) => name === 'timescale');

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_RETENTION_PERIOD_SEC: '1' }, community?.url);
  if (running.database.kind !== 'timescale') console.warn('SKIPPED: only TimescaleDB under the community licence has jobs');
});
afterAll(() => running?.close());

const metric = async (): Promise<number> =>
  Number(/^bio_timescale_jobs_failing (\S+)$/m.exec((await running.send('GET', '/metrics', { as: '' })).text)?.[1] ?? NaN);

async function doctorSays(): Promise<string> {
  const lines: string[] = [];
  await runCommand(doctor, [], {
    out: (line) => void lines.push(line),
    err: (line) => void lines.push(line),
    progress: null,
    env: { DATABASE_URL: running.database.url, PORT: '1' },
    cwd: process.cwd(),
    signal: new AbortController().signal,
  });
  return lines.join('\n');
}

const readiness = async (): Promise<{ status: number; detail: string }> => {
  const { status, body } = await running.send<{ parts: { name: string; detail: string }[] }>('GET', '/readyz', { as: '' });
  return { status, detail: body.parts.find(({ name }) => name === 'database')?.detail ?? '' };
};

// promise: timescale-jobs-watched
// job: timescaledb-policies, maintenance-watch
test('a failing job is reported everywhere until it works again', async ({ skip }) => {
  const { database } = running;
  if (database.kind !== 'timescale') return skip();
  expect(await metric()).toBe(0);
  const { rows } = await database.pool.query<{ id: number; config: object }>(
    `select job_id as id, config from timescaledb_information.jobs where proc_name = 'policy_compression' and hypertable_name = 'feature_block'`,
  );
  const job = rows[0]!;
  const run = async (config: object): Promise<void> => {
    await database.pool.query(`select alter_job($1, config => $2, check_config => null, next_start => now())`, [job.id, config]);
    await database.pool.query('select _timescaledb_functions.start_background_workers()');
  };
  await run({ ...job.config, compress_after: 'never' });
  await expect.poll(metric, { timeout: 90_000 }).toBe(1);
  const broken = await readiness();
  expect(broken.status).toBe(200);
  expect(broken.detail).toMatch(/; a job fails: Columnstore Policy \[\d+\] of feature_block$/);
  expect(running.faults.filter((fault) => fault.includes('of feature_block: its last run failed'))).toHaveLength(1);
  expect(await doctorSays()).toMatch(/WARNING {2}timescaledb {3}Columnstore Policy \[\d+\] of feature_block: its last run failed/);

  await run(job.config);
  await expect.poll(metric, { timeout: 90_000 }).toBe(0);
  expect((await readiness()).detail).not.toContain('fails');
  // PostgreSQL 17.12 counts runs as failed that have done their work.
  const { rows: counted } = await database.pool.query<{ any: boolean }>(
    `select exists (select from timescaledb_information.job_errors where err_message like 'cannot drop portal%') as any`,
  );
  const said = await doctorSays();
  expect(said).not.toContain('its last run failed');
  expect(said.includes('counts runs of jobs as failed that have done their work')).toBe(counted[0]!.any);
});
