/** Tests groups and outboxes with sockets whose buffers the test fills and drains. */
import { describe, expect, it } from 'vitest';
import type { PeerSocket } from '../http/route.ts';
import { decodeFrame, encodeFrame } from '../proto/frame-codec.ts';
import type { LiveFrame } from '../proto/frame-codec.ts';
import { seededRandom } from '../../bench/lib/packets.ts';
import type { ChannelNo, StreamId, SubjectId } from '../signal.ts';
import { Hub } from './hub.ts';
import { Outbox } from './outbox.ts';
import type { ViewerGroup } from './viewer-group.ts';

const ENTER = 1000;
const none = new Float32Array(0);

/** Counts what is unsent; takes bytes at its own pace. */
class FakePeer {
  readonly frames: LiveFrame[] = [];
  readonly topics = new Set<string>();
  unsent = 0;
  slow = false;
  closedAs = '';

  readonly socket: PeerSocket = {
    id: 1,
    sendBinary: (bytes) => {
      if (this.unsent + bytes.length > 4 * ENTER) return 'dropped';
      this.frames.push(decodeFrame(bytes));
      if (!this.slow) return 'sent';
      this.unsent += bytes.length;
      return 'buffered';
    },
    sendText: () => 'sent',
    bufferedBytes: () => this.unsent,
    subscribe: (topic) => void this.topics.add(topic),
    unsubscribe: (topic) => void this.topics.delete(topic),
    close: (code) => void (this.closedAs = code),
    authenticate: () => Promise.reject(new Error('not here')),
  };
}

function frame(seq: number): Uint8Array<ArrayBuffer> {
  return encodeFrame({
    subject: 's',
    seq,
    t0Ns: BigInt(seq) * 100_000_000n,
    durationMs: 100,
    ecg: new Float32Array(25),
    ppg: none,
    eda: none,
    temp: none,
    channels: [],
    features: [],
    droppedFrames: 0,
    lagMs: 0,
    replayed: false,
    incomplete: false,
  });
}

/** A hub whose topic reaches the fake peers that subscribed. */
function setUp(
  count: number,
  viewerSlowSecMax = 30,
): {
  hub: Hub;
  group: ViewerGroup;
  peers: FakePeer[];
  boxes: Outbox[];
  emit: (seq: number) => void;
  nowMs: () => number;
} {
  const peers: FakePeer[] = [];
  const hub = new Hub({ frameDeadlineMs: 250, viewerQueueBytesMax: ENTER, viewerSlowSecMax }, (topic, bytes) => {
    for (const peer of peers) if (peer.topics.has(topic)) peer.socket.sendBinary(bytes);
  });
  const boxes: Outbox[] = [];
  let group: ViewerGroup | null = null;
  for (let i = 0; i < count; i++) {
    const peer = new FakePeer();
    peers.push(peer);
    const box = new Outbox(peer.socket, ENTER);
    boxes.push(box);
    group = hub.join('s' as SubjectId, box, '', 0);
  }
  let nowMs = Math.ceil(performance.now()); // whole: sums of tenths of a second are exact
  const emit = (seq: number): void => {
    nowMs += 100;
    group!.emit(seq, seq * 100 + 100, frame(seq), nowMs, 100_000, 60_000);
    hub.collect(group!);
    hub.tick(nowMs);
  };
  return { hub, group: group!, peers, boxes, emit, nowMs: () => nowMs };
}

// promise: ring
it('frames of a minute are kept, while anyone watches and for a minute after the last viewer left', () => {
  const { hub, group, boxes, emit, nowMs } = setUp(1);
  for (let seq = 1; seq <= 700; seq++) emit(seq);
  expect(hub.replayable(group, 99)).toBe(601); // 100 is 60 s old
  expect(hub.replayable(group, 98)).toBeNull();
  const leftMs = nowMs();
  group.remove(boxes[0]!, leftMs);
  hub.tick(leftMs + 59_000);
  expect([hub.feedCount, hub.replayable(group, 699)]).toEqual([1, 1]);
  hub.tick(leftMs + 61_001);
  expect(hub.feedCount).toBe(0);
});

describe.each([
  ['one by one', 2],
  ['by topic', 20],
])('viewers served %s', (_, count) => {
  it('send no frame again that another node has sent, and wait for none that is far away', () => {
    const { hub, group, peers, boxes, emit } = setUp(count);
    for (let seq = 1; seq <= 14; seq++) emit(seq);
    const [seen, far] = peers;
    hub.replay(boxes[0]!, group, 16);
    hub.replay(boxes[1]!, group, 900);
    for (let seq = 15; seq <= 30; seq++) emit(seq);
    const from = (first: number): number[] => Array.from({ length: 31 - first }, (_, i) => first + i);
    expect(seen!.frames.slice(14).map(({ seq }) => seq)).toEqual(from(17));
    expect(far!.frames.slice(14).map(({ seq }) => seq)).toEqual(from(15));
    expect(boxes.map(({ mode }) => mode)).toEqual(boxes.map(() => 'flowing'));
    expect(peers.map(({ topics }) => topics.size)).toEqual(peers.map(() => (count > 8 ? 1 : 0)));
  });

  // promise: slow-viewers, nobody-waits
  it('give a slow viewer the latest frame with the number it missed, and other viewers every frame', () => {
    const { peers, boxes, emit } = setUp(count);
    const slow = peers[0]!;
    for (let seq = 1; seq <= 10; seq++) emit(seq);
    slow.slow = true;
    for (let seq = 11; seq <= 60; seq++) emit(seq);
    expect(boxes[0]!.mode).toBe('behind');
    const got = slow.frames.length;
    expect(slow.unsent).toBeLessThanOrEqual(4 * ENTER);
    slow.slow = false;
    slow.unsent = 0;
    emit(61);
    emit(62);
    expect(boxes[0]!.mode).toBe('flowing');
    const after = slow.frames.slice(got);
    expect(after[0]!.seq).toBe(61);
    expect(after[0]!.droppedFrames).toBe(61 - slow.frames[got - 1]!.seq - 1);
    expect(after[0]!.lagMs).toBeGreaterThan(0);
    expect(after.map((f) => f.seq)).toEqual([61, 62]);
    for (const peer of peers.slice(1)) expect(peer.frames.map((f) => f.seq)).toEqual(Array.from({ length: 62 }, (__, i) => i + 1));
  });

  // promise: slow-closed
  it('close a viewer that stays slow', () => {
    const { peers, emit } = setUp(count);
    peers[0]!.slow = true;
    for (let seq = 1; seq <= 340; seq++) emit(seq);
    expect(peers[0]!.closedAs).toBe('slow_consumer');
    expect(peers[1]!.closedAs).toBe('');
    expect(peers[1]!.frames).toHaveLength(340);
  });

  // promise: slow-viewers
  it('account for every frame: sent in order or counted as dropped', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const random = seededRandom(seed);
      const { peers, emit } = setUp(count, 1000);
      const total = 400;
      for (let seq = 1; seq <= total; seq++) {
        const peer = peers[Math.floor(random() * peers.length)]!;
        if (random() < 0.1) peer.slow = !peer.slow;
        if (!peer.slow || random() < 0.05) peer.unsent = 0;
        emit(seq);
      }
      for (const peer of peers) {
        peer.slow = false;
        peer.unsent = 0;
      }
      emit(total + 1);
      emit(total + 2);
      for (const peer of peers) {
        let last = 0;
        for (const f of peer.frames) {
          expect(f.seq).toBe(last + 1 + f.droppedFrames);
          last = f.seq;
        }
        expect(last).toBe(total + 2);
      }
    }
  });

  // promise: live-replay
  it('replay from the ring as fast as the viewer takes it, then go on without a gap', () => {
    const { hub, group, peers, boxes, emit, nowMs } = setUp(count);
    for (let seq = 1; seq <= 50; seq++) emit(seq);
    hub.leave(boxes[0]!, group);
    const peer = new FakePeer();
    peers.push(peer);
    const box = new Outbox(peer.socket, ENTER);
    hub.join('s' as SubjectId, box, '', 0);
    expect(hub.replayable(group, 20)).toBe(30);
    peer.slow = true;
    hub.replay(box, group, 20);
    expect(box.mode).toBe('replaying');
    for (let seq = 51; seq <= 70; seq++) {
      peer.unsent = 0;
      emit(seq);
    }
    peer.slow = false;
    peer.unsent = 0;
    hub.resume(box, group, nowMs());
    emit(71);
    expect(box.mode).toBe('flowing');
    expect(peer.frames.map((f) => f.seq)).toEqual(Array.from({ length: 51 }, (__, i) => 21 + i));
    expect(peer.frames.at(-1)!.replayed).toBe(false);
    expect(peer.frames[0]!.replayed).toBe(true);
  });

  it('of which another node has shown half a minute more begin after it; further ahead they count by another clock, and begin at once', () => {
    const { hub, group, peers, emit } = setUp(count);
    for (let seq = 1; seq <= 10; seq++) emit(seq);
    const [ahead, elsewhere] = [300, 5000].map((seen) => {
      const peer = new FakePeer();
      peers.push(peer);
      const box = new Outbox(peer.socket, ENTER);
      hub.join('s' as SubjectId, box, '', 0);
      hub.replay(box, group, seen);
      return peer;
    });
    for (let seq = 11; seq <= 320; seq++) {
      for (const peer of peers) peer.unsent = 0;
      emit(seq);
    }
    expect(ahead!.frames.map((f) => f.seq)).toEqual(Array.from({ length: 20 }, (__, i) => 301 + i));
    expect(elsewhere!.frames.map((f) => f.seq)).toEqual(Array.from({ length: 310 }, (__, i) => 11 + i));
  });
});

it('a frame that the owner before sends late comes to nobody, once this node makes the frames itself', () => {
  const subjectId = 'subject' as SubjectId;
  const hub = new Hub({ frameDeadlineMs: 50, viewerQueueBytesMax: 1 << 20, viewerSlowSecMax: 5 }, () => undefined);
  const peer = new FakePeer();
  const group = hub.join(subjectId, new Outbox({ ...peer.socket, sendBinary: see }, 1 << 20, false), '', 0);
  const seen: number[] = [];
  function see(bytes: Uint8Array): 'sent' {
    seen.push(decodeFrame(bytes).seq);
    return 'sent';
  }
  const channels = [{ code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 1, baseline: 0, unit: 'mV', lead: '' }] as const;
  const stream = { streamId: 1 as StreamId, epochNs: BigInt(Date.now() - 2000) * 1_000_000n, channels, subjectId };
  const push = (k0: number): void => hub.push(stream, [{ channelNo: 0 as ChannelNo, k0, samples: new Int32Array(125), qmask: null }]);
  push(0);
  const own = [...seen];
  expect(own.length).toBeGreaterThan(0);
  const seq = group.lastSeq + 3;
  hub.receive({ subjectId, selection: '', seq, endUnixMs: 0, bytes: frame(seq) }, performance.now());
  expect(seen).toEqual(own);
  push(125);
  push(250);
  expect(seen.length).toBeGreaterThan(own.length);
  expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
  expect(seen.at(-1)).toBe(group.lastSeq);
});
