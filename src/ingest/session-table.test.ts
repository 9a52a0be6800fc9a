import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ecgPacket } from '../../bench/lib/packets.ts';
import { isRejected } from '../errors.ts';
import type { Caller } from '../caller.ts';
import type { OrgId, ProjectId, StreamId, SubjectId } from '../signal.ts';
import type { Packet } from '../proto/packet.ts';
import { SessionTable } from './session-table.ts';
import type { PacketSink, StreamName, StreamRecord, StreamRequest } from './sink.ts';

const NOW_NS = 1_767_225_600_000_000_000n; // 2026
const key: Caller = { kind: 'key', keyId: 'k', orgId: 'o', scopes: ['ingest'], projectId: null, subjectId: null };

class Sink implements PacketSink {
  open = 0;
  openMax = 0;
  openCount = 0;
  closeCount = 0;
  fails = false;

  /** Devices whose owner hangs, until this is called. */
  answer = (): void => undefined;

  async openStream(request: StreamRequest, onward?: () => void): Promise<StreamRecord> {
    if (request.deviceId.startsWith('elsewhere')) {
      await sleep(1);
      onward?.();
      await new Promise<void>((go) => {
        const { answer } = this;
        this.answer = () => [answer(), go()];
      });
    }
    this.openCount++;
    this.openMax = Math.max(this.openMax, ++this.open);
    await sleep(5);
    this.open--;
    if (this.fails) throw new Error('database away');
    return {
      streamId: this.openCount as StreamId,
      orgId: 'o' as OrgId,
      projectId: 'p' as ProjectId,
      subjectId: `s-${request.deviceId}` as SubjectId,
      epochNs: request.epochNs,
      timeSource: request.timeSource,
      expiring: [],
      channels: [],
      seqRanges: [],
      node: '',
    };
  }

  recorded = new Set<string>();
  lookUpCount = 0;

  async isRecorded({ deviceId }: StreamName): Promise<boolean> {
    this.lookUpCount++;
    await sleep(5);
    return this.recorded.has(deviceId);
  }

  nodeUrlOf(): string {
    return '';
  }

  noteClock(): void {}

  accept(): 'busy' {
    return 'busy';
  }

  packetHashes(): Promise<Float64Array> {
    return Promise.reject(new Error('not used'));
  }

  hurry(): void {}

  async closeStream(): Promise<void> {
    await sleep(10);
    this.closeCount++;
  }
}

async function find(table: SessionTable, caller: Caller, deviceId: string) {
  return await table.find(caller, packetOf(deviceId), NOW_NS);
}

const packetOf = (deviceId: string) => ecgPacket({ channels: 1, fs: 100, ms: 100, count: 1, deviceId })[0]!;

/** The device says that it was sent now, and began in 1970. */
const of1970 = (deviceId: string): Packet => ({ ...packetOf(deviceId), t0UnixNs: 1n, sentUnixNs: NOW_NS });

describe('SessionTable', () => {
  it('opens the streams of a whole fleet a few hundred at a time, each once', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10_000, { user: 1000, key: 1_000_000 });
    const found = await Promise.all(Array.from({ length: 4000 }, (_, i) => find(table, key, `d${i % 2000}`)));
    expect(found.every((session) => !isRejected(session))).toBe(true);
    expect(sink.openCount).toBe(2000);
    expect(sink.openMax).toBeLessThanOrEqual(512);
    expect(table.count).toBe(2000);
  });

  it('goes on opening after failures', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 1000, { user: 1000, key: 1_000_000 });
    sink.fails = true;
    const failed = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => find(table, key, `d${i}`)));
    expect(failed.every(({ status }) => status === 'rejected')).toBe(true);
    sink.fails = false;
    expect(isRejected(await find(table, key, 'd1'))).toBe(false);
  });

  // promise: own-user-writes
  it('keeps users to their own streams and answers busy when full', async () => {
    const table = new SessionTable(new Sink(), 1, { user: 1000, key: 1_000_000 });
    await find(table, key, 'd1');
    const user: Caller = { kind: 'user', orgId: 'o', projectId: 'p', subjectId: 's-d1', jti: 'j', expiresAtMs: 0 };
    expect(isRejected(await find(table, user, 'd1'))).toBe(false);
    expect(await find(table, { ...user, subjectId: 's-d2' }, 'd1')).toMatchObject({ code: 'not_found' });
    expect(await find(table, key, 'd2')).toMatchObject({ code: 'busy' });
    expect(await find(table, { kind: 'anonymous' }, 'd1')).toMatchObject({ code: 'credential_kind' });
  });

  it('answers busy when full to another node as well, but for a stream that is open', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 1, { user: 1000, key: 1_000_000 });
    const openFor = (deviceId: string): ReturnType<SessionTable['openFor']> => {
      const { bootId, subject, firmware } = packetOf(deviceId);
      const at = { epochNs: 0n, timeSource: 'device', endDeviceNs: 0n, receivedNs: 0n } as const;
      return table.openFor({ ...at, caller: key, deviceId, bootId, subject, firmware }, (request) => sink.openStream(request));
    };
    expect(await openFor('d1')).toMatchObject({ session: { subjectId: 's-d1' } });
    expect(await openFor('d2')).toMatchObject({ code: 'busy' });
    expect(await openFor('d1')).toMatchObject({ session: { subjectId: 's-d1' } });
    expect(table.count).toBe(1);
  });

  it('opens an idle stream again only after it has been closed', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10, { user: 1000, key: 1_000_000 });
    const first = await find(table, key, 'd1');
    table.sweep(performance.now() + 1000, 500);
    expect(table.count).toBe(0);
    const second = await find(table, key, 'd1');
    expect(sink.closeCount).toBe(1);
    expect(second).not.toBe(first);
    expect(first).toMatchObject({ closed: true });
  });

  it('drops sessions without waiting for what another node opens, and drops that when it comes', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10, { user: 1000, key: 1_000_000 });
    await find(table, key, 'd1');
    const [mine, theirs, other] = ['d2', 'elsewhere-1', 'elsewhere-2'].map((device) => find(table, key, device));
    const erased = new Set(['s-d1', 's-d2', 's-elsewhere-1']);
    await table.drop(({ subjectId }) => erased.has(subjectId));
    expect(sink.closeCount).toBe(2);
    expect(await mine).toMatchObject({ closed: true });
    sink.answer();
    expect(await theirs).toMatchObject({ subjectId: 's-elsewhere-1', closed: true });
    expect(await other).toMatchObject({ closed: false });
    expect([...table.values()].map(({ subjectId }) => subjectId)).toEqual(['s-elsewhere-2']);
  });

  it('opens streams of this node while another one hangs', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10_000, { user: 1000, key: 1_000_000 });
    const theirs = Array.from({ length: 600 }, (_, i) => find(table, key, `elsewhere-${i}`));
    expect(await find(table, key, 'd1')).toMatchObject({ subjectId: 's-d1' });
    sink.answer();
    expect(await Promise.all(theirs)).toHaveLength(600);
  });

  it('opens a stream again that the sink has closed by itself', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10, { user: 1000, key: 1_000_000 });
    const first = await find(table, key, 'd1');
    if (isRejected(first)) throw new Error(first.detail);
    table.forget(first);
    const second = await find(table, key, 'd1');
    expect(second).not.toBe(first);
    table.forget(first); // it is not in the table any more
    expect(await find(table, key, 'd1')).toBe(second);
    expect(sink.openCount).toBe(2);
  });

  it('refuses packets of before 2000 one after the other without taking a place or looking again whether they are of a recording', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10, { user: 3, key: 3 });
    for (let i = 0; i < 20; i++) expect(await table.find(key, of1970('d1'), NOW_NS)).toMatchObject({ code: 'packet_clock' });
    expect(sink.lookUpCount).toBe(1);
    for (let i = 0; i < 5; i++) expect(await table.find(key, of1970(`other-${i}`), NOW_NS)).toMatchObject({ code: 'packet_clock' });
    expect(await find(table, key, 'd1')).toMatchObject({ subjectId: 's-d1' });
    expect(sink.openCount).toBe(1);
  });

  it('looks anew when a recording was begun meanwhile', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10, { user: 1000, key: 1000 });
    expect(await table.find(key, of1970('d1'), NOW_NS)).toMatchObject({ code: 'packet_clock' });
    expect(await find(table, key, 'd1')).toMatchObject({ subjectId: 's-d1' });
    sink.recorded.add('d1');
    await table.drop(() => true);
    expect(await table.find(key, of1970('d1'), NOW_NS)).toMatchObject({ subjectId: 's-d1' });
  });

  it('counts what it opens of a recording, whatever the time of the packet', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10, { user: 2, key: 2 });
    for (const device of ['d1', 'd2', 'd3']) sink.recorded.add(device);
    const found = [];
    for (const device of ['d1', 'd2', 'd3']) found.push(await table.find(key, of1970(device), NOW_NS));
    expect(found).toMatchObject([{ subjectId: 's-d1' }, { subjectId: 's-d2' }, { code: 'rate_limited' }]);
  });

  it('does not answer a packet with what is wrong with another one of its boot', async () => {
    const sink = new Sink();
    const table = new SessionTable(sink, 10, { user: 1000, key: 1000 });
    const sent = [of1970('d1'), packetOf('d1'), of1970('d1'), packetOf('d1')];
    const found = await Promise.all(sent.map(async (packet) => table.find(key, packet, NOW_NS)));
    const [, opened] = found;
    expect(opened).toMatchObject({ subjectId: 's-d1' });
    expect(found[0]).toMatchObject({ code: 'packet_clock' });
    expect(found[3]).toBe(opened);
    expect([sink.openCount, sink.lookUpCount]).toEqual([1, 1]);
  });
});
