/** A migrated database with an organization, a user and streams, for the benches that write and read below the service. */
import pg from 'pg';
import { isRejected } from '../../src/errors.ts';
import type { ChannelConfig, OrgId, ProjectId, SubjectId } from '../../src/signal.ts';
import { openDatabase, type Database } from '../../src/storage/database/database.ts';
import { migrate } from '../../src/storage/schema/migrate.ts';
import type { OpenedStream, StreamRegistry } from '../../src/storage/stream-registry.ts';

/** 2026-01-01 UTC, Unix ns. */
export const benchEpochNs = 1_767_225_600_000_000_000n;
let databaseCount = 0;

/** One more database on the server of `serverUrl`. */
export async function freshDatabase(serverUrl: string): Promise<{ database: Database; drop: () => Promise<void> }> {
  databaseCount += 1;
  const name = `storage_bench_${process.pid}_${databaseCount}`;
  const admin = new pg.Client(serverUrl);
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrate(url.href);
  const database = await openDatabase(url.href, { statementTimeoutMs: 0 });
  return {
    database,
    async drop() {
      await database.close();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}

export type Tenant = { orgId: OrgId; projectId: ProjectId; subjectId: SubjectId };

export async function tenantOf(database: Database): Promise<Tenant> {
  const { rows } = await database.pool.query<{ o: string; p: string; x: string }>(
    `with o as (insert into organization (name) values ('bench') returning id),
       p as (insert into project (organization_id, name, project_key) select id, 'bench', 'proj_' || id from o returning id, organization_id)
     insert into xuser (organization_id, project_id, external_id) select organization_id, id, 'someone' from p returning organization_id as o, project_id as p, id as x`,
  );
  return { orgId: rows[0]!.o as OrgId, projectId: rows[0]!.p as ProjectId, subjectId: rows[0]!.x as SubjectId };
}

export async function streamOf(
  registry: StreamRegistry,
  tenant: Tenant,
  device: string,
  channels: readonly ChannelConfig[],
  epochNs: bigint,
): Promise<OpenedStream> {
  const stream = await registry.openStream({
    ...tenant,
    deviceId: device,
    bootId: '0'.repeat(32),
    firmware: '',
    epochNs,
    receivedNs: epochNs,
  });
  if (isRejected(stream)) throw new Error(stream.detail);
  await registry.addChannels(stream.streamId, 0, channels);
  return stream;
}

export const channel = (code: string, rateHz: number): ChannelConfig => ({
  code,
  kind: 'ecg',
  rateNanoHz: Math.round(rateHz * 1e9),
  gain: 200,
  baseline: 0,
  unit: 'mV',
  lead: code,
});
