// Retention of a project: its rows go when they are older than it says, nobody else's do, and rollups follow. On every kind of server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DerivedWriter } from '../../src/storage/derived-writer.ts';
import { BlockWriter } from '../../src/storage/block-writer.ts';
import { locks } from '../../src/storage/database/locks.ts';
import { expireLetters, putAside, setAsideKinds } from '../../src/storage/set-aside.ts';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { applyProjectRetention, keepEverything, readProjectRetention, writeProjectRetention } from '../../src/storage/retention.ts';
import { StreamRegistry, type OpenedStream } from '../../src/storage/stream-registry.ts';
import { isRejected } from '../../src/errors.ts';
import { otherServers, testDatabase, type TestDatabase } from '../helpers/database.ts';
import { createTenant, ecg, testRun, type TestTenant } from '../helpers/recording.ts';

const DAY_NS = 86_400_000_000_000n;
const HOUR_SEC = 3600;

for (const server of [{ name: 'the server of this run', url: undefined }, ...otherServers()]) {
  describe(`retention per project on ${server.name}`, () => {
    let database: TestDatabase;
    let registry: StreamRegistry;
    let blocks: BlockWriter;
    let derived: DerivedWriter;
    beforeAll(async () => {
      database = await testDatabase({ statementTimeoutMs: 0 }, server.url);
      if (database.kind === 'timescale')
        await database.pool.query(`select alter_job(job_id, scheduled => false) from timescaledb_information.jobs where job_id >= 1000`);
      registry = new StreamRegistry(database);
      blocks = new BlockWriter(database);
      derived = new DerivedWriter(database, { currentMethods: [] });
    });
    afterAll(async () => {
      await blocks.close();
      await derived.close();
      await database.close();
    });

    /** As if the project had said an hour ago what it keeps. */
    async function longAgo(tenant: TestTenant): Promise<void> {
      await database.pool.query(`update project_retention set updated_at = now() - interval '1 hour' where project_id = $1`, [
        tenant.projectId,
      ]);
    }

    /** A stream that began `days` ago: one second of samples, one beat and one feature per hour for `hours` hours. */
    async function record(tenant: TestTenant, days: number, hours: number, boot: number): Promise<OpenedStream> {
      const epochNs = (BigInt(Date.now()) * 1_000_000n - BigInt(days) * DAY_NS) as OpenedStream['epochNs'];
      const stream = await registry.openStream({
        ...tenant,
        deviceId: 'patch-1',
        bootId: boot.toString(16).padStart(32, '0'),
        firmware: '',
        epochNs,
        receivedNs: epochNs,
      });
      if (isRejected(stream)) throw new Error(stream.detail);
      await registry.addChannels(stream.streamId, 0, [ecg]);
      const added: Promise<void>[] = [];
      for (let hour = 0; hour < hours; hour++) {
        blocks.push(stream.streamId, epochNs, [ecg.rateNanoHz], [testRun(0, hour * HOUR_SEC * 250, 250)], 1);
        const tNs = BigInt(hour * HOUR_SEC) * 1_000_000_000n;
        const beat = {
          channelNo: 0,
          tNs,
          ibiMs: 1,
          kind: 'normal',
          reason: '',
          confidence: NaN,
          quality: 0,
          method: 'derived:r_peaks_v1',
        } as const;
        const feature = { feature: 'hr_ecg', channelNo: -1, tNs, value: 60, qmask: 0, methodCode: 'derived:hr_ecg_v1' } as const;
        added.push(derived.add({ streamId: stream.streamId, beats: [beat], features: [feature], replaces: null }, epochNs));
      }
      await Promise.all(added);
      await blocks.flush();
      return stream;
    }

    const count = async (relation: string, stream: OpenedStream): Promise<number> =>
      (await database.pool.query<{ n: number }>(`select count(*)::int as n from ${relation} where stream_id = $1`, [stream.streamId]))
        .rows[0]!.n;
    const counts = (stream: OpenedStream): Promise<number[]> =>
      Promise.all(['sample_block', 'feature', 'beat', 'feature_1m'].map((relation) => count(relation, stream)));

    // promise: set-aside-expires
    // job: set-aside-expiry
    test('what is set aside expires with the rows that it would have become', async () => {
      const stream = await record(await createTenant(database), 1, 1, 20);
      const letter = { reason: 'r', sqlState: null, logPosition: 1, content: null, bytes: Buffer.from('x'), streamId: stream.streamId };
      await putAside(
        database.pool,
        setAsideKinds.map((kind) => ({ ...letter, kind })),
      );
      await database.pool.query(`update set_aside set time = now() - interval '8 days' where stream_id = $1`, [stream.streamId]);
      const kept = async (): Promise<string[]> =>
        (await database.pool.query<{ kind: string }>('select kind from set_aside where stream_id = $1', [stream.streamId])).rows
          .map(({ kind }) => kind)
          .toSorted();
      const { rows } = await database.pool.query<{ project_id: string }>('select project_id from stream where id = $1', [stream.streamId]);
      const { project_id: project } = rows[0]!;
      await writeProjectRetention(database.pool, project, { samplesDays: null, featuresDays: 30, beatsDays: 7 });
      await expireLetters(database.pool);
      expect(await kept()).toEqual(setAsideKinds.filter((kind) => kind !== 'derived').toSorted());
      await writeProjectRetention(database.pool, project, { samplesDays: 7, featuresDays: null, beatsDays: null });
      await expireLetters(database.pool);
      expect(await kept()).toEqual([]);
      await writeProjectRetention(database.pool, project, keepEverything);
    });

    // promise: retention-of-projects
    test('rows older than the project keeps are deleted in small steps; rows of other projects are not', async () => {
      const [strict, free] = [await createTenant(database), await createTenant(database)];
      const old = await record(strict, 40, 30, 1);
      const edge = await record(strict, 10, 48, 2); // 9 days ago is a moment after its hour 24
      const other = await record(free, 40, 30, 1);
      if (database.kind === 'timescale')
        await database.pool.query(`select compress_chunk(c) from show_chunks('sample_block', older_than => interval '20 days') c`);
      expect(await readProjectRetention(database.pool, strict.projectId)).toEqual(keepEverything);
      await writeProjectRetention(database.pool, strict.projectId, { samplesDays: 9, featuresDays: 20, beatsDays: null });
      expect(await readProjectRetention(database.pool, strict.projectId)).toEqual({ samplesDays: 9, featuresDays: 20, beatsDays: null });

      const first = await applyProjectRetention(database, { deletesMax: 5 });
      expect(first).toEqual({ rows: 5, outcome: 'more' });
      let rows = first.rows;
      for (let last = first; last.outcome === 'more'; rows += last.rows) last = await applyProjectRetention(database, { deletesMax: 50 });
      expect(rows).toBe(30 + 25 + 30);
      await refreshRollups(database);
      expect(await counts(old)).toEqual([0, 0, 30, 0]);
      expect(await counts(edge)).toEqual([23, 48, 48, 48]);
      expect(await counts(other)).toEqual([30, 30, 30, 30]);
    });

    // promise: retention-of-projects
    test('a late row that is too old is deleted by the next sweep if it is recent history, by the daily one whatever its age', async () => {
      const tenant = await createTenant(database);
      await writeProjectRetention(database.pool, tenant.projectId, { samplesDays: 5, featuresDays: null, beatsDays: null });
      expect(await applyProjectRetention(database)).toEqual({ rows: 0, outcome: 'done' });
      await longAgo(tenant);
      await applyProjectRetention(database);
      const recent = await record(tenant, 8, 1, 1);
      const ancient = await record(tenant, 400, 1, 2);
      expect(await applyProjectRetention(database)).toEqual({ rows: 1, outcome: 'done' });
      expect([await count('sample_block', recent), await count('sample_block', ancient)]).toEqual([0, 1]);
      await database.pool.query(`update project_retention_swept set whole_at = now() - interval '25 hours'`);
      await applyProjectRetention(database);
      expect(await count('sample_block', ancient)).toBe(0);
    });

    test('a row that is stored soon after the project changed its retention is deleted by the next sweep, whatever its age', async () => {
      const tenant = await createTenant(database);
      await writeProjectRetention(database.pool, tenant.projectId, { samplesDays: 5, featuresDays: null, beatsDays: null });
      expect(await applyProjectRetention(database)).toEqual({ rows: 0, outcome: 'done' });
      const onItsWay = await record(tenant, 400, 1, 1);
      expect(await count('sample_block', onItsWay)).toBe(1);
      expect(await applyProjectRetention(database)).toEqual({ rows: 1, outcome: 'done' });
      expect(await count('sample_block', onItsWay)).toBe(0);
    });

    test('settings that are written again as they are do not count as a change', async () => {
      const tenant = await createTenant(database);
      const keeps = { samplesDays: 5, featuresDays: null, beatsDays: null };
      await writeProjectRetention(database.pool, tenant.projectId, keeps);
      const changed = async (): Promise<unknown> =>
        (await database.pool.query('select updated_at::text from project_retention where project_id = $1', [tenant.projectId])).rows[0];
      await longAgo(tenant);
      const before = await changed();
      await writeProjectRetention(database.pool, tenant.projectId, keeps);
      expect(await changed()).toEqual(before);
      await writeProjectRetention(database.pool, tenant.projectId, { ...keeps, beatsDays: 3 });
      expect(await changed()).not.toEqual(before);
    });

    // promise: retention-of-projects
    test('two services do not delete at the same time, and invalid settings are refused', async () => {
      const tenant = await createTenant(database);
      const holder = await database.connect();
      await holder.query('select pg_advisory_lock($1)', [locks.projectRetention.toString()]);
      expect(await applyProjectRetention(database)).toEqual({ rows: 0, outcome: 'busy' });
      await holder.end();
      await expect(
        writeProjectRetention(database.pool, tenant.projectId, { samplesDays: 0, featuresDays: null, beatsDays: null }),
      ).rejects.toMatchObject({ code: '23514' });
    });
  });
}
