/** Bounds of the audit entries that wait in memory, in time and in number, on a fake clock. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Db } from '../storage/database/database.ts';
import { AuditBatch } from './audit-batch.ts';
import type { BatchEntry } from './audit-batch.ts';
import { conflictAudit } from './conflict-audit.ts';
import { startReadAudit } from './read-audit.ts';

type Row = { target: string; action: string; count: number | undefined };
const written: Row[] = [];
const db = {
  query: (_text: string, columns: readonly (readonly string[])[]): Promise<unknown> => {
    columns[5]!.forEach((target, i) => {
      const { count } = JSON.parse(columns[10]![i]!) as { count?: number };
      written.push({ target, action: columns[3]![i]!, count });
    });
    return Promise.resolve({ rows: [] });
  },
} as unknown as Db;
const entry = (targetId: string): BatchEntry => ({
  orgId: 'o',
  actorKind: 'key',
  actorId: 'k',
  action: 'x',
  targetKind: 'path',
  targetId,
  subjectId: null,
  projectId: null,
  ip: null,
  requestId: '',
  detail: {},
});

beforeEach(() => {
  written.length = 0;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

// promise: audit-killed
test('an event is written within ten seconds', async () => {
  const batch = new AuditBatch(db, () => undefined);
  batch.count('read', () => entry('/read'), 300_000);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(written).toEqual([{ target: '/read', action: 'x', count: 1 }]);
  await batch.stop();
});

// promise: audit-bound
test('the oldest entries are lost when more come than fit, and their number is reported', async () => {
  const errors: string[] = [];
  const batch = new AuditBatch(db, (error) => void errors.push(String(error)));
  for (let i = 0; i < 20_000; i++) batch.add(entry(`/${i}`), performance.now());
  expect(errors).toEqual([]);
  for (let i = 20_000; i < 20_010; i++) batch.add(entry(`/${i}`), performance.now());
  expect(errors).toHaveLength(10);
  expect(errors[0]).toContain('1 entries of the audit log are lost');
  await batch.stop();
  expect(written.map(({ target }) => target)).toEqual(Array.from({ length: 20_000 }, (_, i) => `/${i + 10}`));
});

// promise: audit-repeats
test('reads are counted for five minutes, failed sign-ins and conflicts for one', async () => {
  const reads = startReadAudit(db);
  const pool = { query: () => Promise.resolve({ rows: [{ uuid: 'stream', subject_id: 'person', project_id: 'p' }] }) };
  const conflicts = conflictAudit(pool as never, reads.batch, () => undefined);
  const from = { remoteAddress: '127.0.0.1', requestId: 'r' };
  const caller = { kind: 'key', keyId: 'k', orgId: 'o', projectId: null, scopes: ['read'] } as never;
  const happen = (): void => {
    reads.observe({ ...from, route: { operationId: 'listStreams', tag: 'Streams', method: 'GET' }, status: 200, caller, path: '/read', reply: {} } as never); // prettier-ignore
    reads.signInRefused({ operatorId: 'operator', orgId: 'o' }, from);
    conflicts.note({ ...from, caller, streamId: 1, deviceId: 'd', bootId: 'b', seq: 1 });
  };
  const seen = (): string[] => written.map(({ action, count }) => `${action} ${count}`).toSorted();
  const first = ['packet.conflict 1', 'personal_data.listed 1', 'session.refused 1'];
  happen();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(seen()).toEqual(first);
  happen();
  happen();
  await vi.advanceTimersByTimeAsync(50_000);
  expect(seen()).toEqual(first);
  await vi.advanceTimersByTimeAsync(20_000);
  const repeats = ['packet.conflict 2', 'session.refused 2'];
  expect(seen()).toEqual([...first, ...repeats].toSorted());
  await vi.advanceTimersByTimeAsync(220_000);
  expect(seen()).toEqual([...first, ...repeats].toSorted());
  await vi.advanceTimersByTimeAsync(20_000);
  expect(seen()).toEqual([...first, ...repeats, 'personal_data.listed 2'].toSorted());
  await reads.stop();
});
