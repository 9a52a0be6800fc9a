/** Rows that storage tests need: an organization with a project, a user and a stream; runs whose values follow from their place. */
import type { ChannelConfig, ChannelNo, OrgId, ProjectId, SampleRun, SubjectId } from '../../src/signal.ts';
import { isRejected } from '../../src/errors.ts';
import { build, run } from '../../src/storage/database/build.ts';
import type { Database } from '../../src/storage/database/database.ts';
import type { OpenedStream, StreamRegistry } from '../../src/storage/stream-registry.ts';

export const testEpochNs = 1_767_225_600_123_456_789n; // 2026-01-01, off the grid of microseconds

export type TestTenant = Readonly<{ orgId: OrgId; projectId: ProjectId; projectKey: string; subjectId: SubjectId }>;

let tenantCount = 0;

export async function createTenant(database: Database): Promise<TestTenant> {
  const name = `Clinic ${++tenantCount} ${process.pid}`;
  const { rows: organizations } = await run(database.pool, build.insertInto('organization').values({ name }).returning('id'));
  const orgId = organizations[0]!.id;
  const projectKey = `proj_${name.replaceAll(' ', '')}`;
  const { rows: projects } = await run(
    database.pool,
    build.insertInto('project').values({ organization_id: orgId, name: 'Study', project_key: projectKey }).returning('id'),
  );
  const projectId = projects[0]!.id;
  const { rows: users } = await run(
    database.pool,
    build.insertInto('xuser').values({ organization_id: orgId, project_id: projectId, external_id: 'patient-1' }).returning('id'),
  );
  return { orgId: orgId as OrgId, projectId: projectId as ProjectId, projectKey, subjectId: users[0]!.id as SubjectId };
}

export const ecg: ChannelConfig = {
  code: 'ecg.ii',
  kind: 'ecg',
  rateNanoHz: 250_000_000_000,
  gain: 200,
  baseline: 1024,
  unit: 'mV',
  lead: 'II',
};
export const ppg: ChannelConfig = {
  code: 'ppg.ir',
  kind: 'ppg',
  rateNanoHz: 130_100_000_000,
  gain: 1,
  baseline: 0,
  unit: '1',
  lead: 'wrist',
};

export async function openTestStream(
  registry: StreamRegistry,
  tenant: TestTenant,
  channels: readonly ChannelConfig[] = [ecg, ppg],
  boot = 1,
): Promise<OpenedStream> {
  const stream = await registry.openStream({
    ...tenant,
    deviceId: 'patch-1',
    bootId: boot.toString(16).padStart(32, '0'),
    firmware: '1.0',
    epochNs: testEpochNs,
    receivedNs: testEpochNs,
  });
  if (isRejected(stream)) throw new Error(stream.detail);
  if (stream.channels.length === 0) await registry.addChannels(stream.streamId, 0, channels);
  return { ...stream, channels };
}

/** The value that every test gives sample k of a channel. */
export function testSample(channelNo: number, k: number): number {
  return Math.round(1000 * Math.sin(k / (20 + channelNo))) + ((k * 7919) % 11);
}

export function testRun(channelNo: number, k0: number, n: number): SampleRun {
  return {
    channelNo: channelNo as ChannelNo,
    k0,
    samples: Int32Array.from({ length: n }, (_, i) => testSample(channelNo, k0 + i)),
    qmask: null,
  };
}
