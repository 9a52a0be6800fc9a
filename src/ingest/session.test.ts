import { expect, test } from 'vitest';
import type { OrgId, ProjectId, StreamId, SubjectId } from '../signal.ts';
import { Session } from './session.ts';

const session = (seqRanges: readonly (readonly [number, number])[]): Session =>
  new Session('d/b', 'd', 'b', '', {
    streamId: 1 as StreamId,
    orgId: 'o' as OrgId,
    projectId: 'p' as ProjectId,
    subjectId: 's' as SubjectId,
    epochNs: 0n,
    timeSource: 'stated',
    expiring: [],
    channels: [],
    seqRanges,
    node: '',
  });

test('what was stored before is durable, whatever is sent again', () => {
  const opened = session([
    [0, 3],
    [5, 9],
  ]);
  expect(opened.durableHigh).toBe(9);
  opened.stored(4);
  expect(opened.durableHigh).toBe(9);
  opened.stored(10);
  expect(opened.durableHigh).toBe(10);
  expect(session([]).durableHigh).toBe(0);
});

test('a notice is told once', () => {
  const opened = session([]);
  opened.notices = ['the clock jumped'];
  expect(opened.takeNotices()).toEqual(['the clock jumped']);
  expect(opened.takeNotices()).toEqual([]);
});
