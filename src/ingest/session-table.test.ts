import { describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { isRejected } from '../errors.ts';
import type { Caller } from '../http/route.ts';
import type { OrgId, ProjectId, StreamId, SubjectId } from '../signal.ts';
import { SessionTable } from './session-table.ts';
import type { PacketSink, StreamRecord, StreamRequest } from './sink.ts';

const key: Caller = { kind: 'key', keyId: 'k', orgId: 'o', scopes: ['ingest'], projectId: null, subjectId: null };

class Sink implements PacketSink {
  open = 0;
  openMax = 0;
  openCount = 0;
  closeCount = 0;
  fails = false;

  async openStream(request: StreamRequest): Promise<StreamRecord> {
    this.openCount++;
    this.openMax = Math.max(this.openMax, ++this.open);
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.open--;
    if (this.fails) throw new Error('database away');
    return {
      streamId: this.openCount as StreamId,
      orgId: 'o' as OrgId,
      projectId: 'p' as ProjectId,
      subjectId: `s-${request.deviceId}` as SubjectId,
      epochNs: request.epochNs,
      channels: [],
      seqRanges: [],
    };
  }

  accept(): 'busy' {
    return 'busy';
  }

  async closeStream(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 10));
    this.closeCount++;
  }
}

const packetOf = (deviceId: string) => ecgPacket({ channels: 1, fs: 100, ms: 100, count: 1, deviceId })[0]!;

describe('SessionTable', () => {
  it('opens the streams of a whole fleet a few at a time, each once', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 1000);
    const found = await Promise.all(Array.from({ length: 200 }, (_, i) => table.find(key, packetOf(`d${i % 100}`), 0n)));
    expect(found.every((session) => !isRejected(session))).toBe(true);
    expect(sink.openCount).toBe(100);
    expect(sink.openMax).toBeLessThanOrEqual(6);
    expect(table.count).toBe(100);
  });

  it('goes on opening after failures', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 1000);
    sink.fails = true;
    const failed = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => table.find(key, packetOf(`d${i}`), 0n)));
    expect(failed.every(({ status }) => status === 'rejected')).toBe(true);
    sink.fails = false;
    expect(isRejected(await table.find(key, packetOf('d1'), 0n))).toBe(false);
  });

  it('keeps users to their own streams and answers busy when full', async () => {
    const table = new SessionTable(new Sink(), 1);
    await table.find(key, packetOf('d1'), 0n);
    const user: Caller = { kind: 'user', orgId: 'o', projectId: 'p', subjectId: 's-d1', jti: 'j', expiresAtMs: 0 };
    expect(isRejected(await table.find(user, packetOf('d1'), 0n))).toBe(false);
    expect(await table.find({ ...user, subjectId: 's-d2' }, packetOf('d1'), 0n)).toMatchObject({ code: 'not_found' });
    expect(await table.find(key, packetOf('d2'), 0n)).toMatchObject({ code: 'busy' });
    expect(await table.find({ kind: 'anonymous' }, packetOf('d1'), 0n)).toMatchObject({ code: 'credential_kind' });
  });

  it('opens an idle stream again only after it has been closed', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10);
    const first = await table.find(key, packetOf('d1'), 0n);
    table.sweep(performance.now() + 1000, 500);
    expect(table.count).toBe(0);
    const second = await table.find(key, packetOf('d1'), 0n);
    expect(sink.closeCount).toBe(1);
    expect(second).not.toBe(first);
    expect(first).toMatchObject({ closed: true });
  });
});
