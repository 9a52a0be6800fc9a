/** Frames of another node's person, while the frames before them are on their way. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { hasNatsServer, startNats } from '../../faults/lib/nats-server.ts';
import type { PeerSocket } from '../../src/http/route.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { NatsBus } from '../../src/bus/nats-bus.ts';
import { SocketBus } from '../../src/bus/socket-bus.ts';
import type { ClusterView } from '../../src/cluster/cluster-view.ts';
import { RemoteFeeds } from '../../src/forward/remote-feeds.ts';
import { Hub } from '../../src/live/hub.ts';
import { Outbox } from '../../src/live/outbox.ts';
import { decodeFrame } from '../../src/proto/frame-codec.ts';
import type { ChannelNo, StreamId, SubjectId } from '../../src/signal.ts';
import { until } from '../helpers/until.ts';

const ANN = '00000000-0000-4000-8000-00000000000a' as SubjectId;
/** Samples of half a second, of which five frames are made. */
const SAMPLES = 125;
const folder = mkdtempSync(join(tmpdir(), 'biosignal-order-'));
const nats = hasNatsServer ? await startNats() : null;
afterAll(async () => {
  await nats?.close();
  rmSync(folder, { recursive: true });
});

const transports: readonly [string, boolean, (node: string) => Promise<Bus>][] = [
  ['Unix sockets', true, (node) => SocketBus.open(folder, node)],
  ['NATS', hasNatsServer, (node) => NatsBus.open({ url: `nats://127.0.0.1:${nats!.port}`, ca: '', cluster: 'w', mayBePlain: false }, node)],
];

const channels = [{ code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 1, baseline: 0, unit: 'mV', lead: '' }] as const;

/** A viewer's, which takes everything. */
const socketOf = (see: (seq: number) => unknown): PeerSocket => ({
  id: 1,
  bufferedBytes: () => 0,
  sendBinary: (bytes) => {
    see(decodeFrame(bytes).seq);
    return 'sent';
  },
  sendText: () => 'sent',
  subscribe: () => undefined,
  unsubscribe: () => undefined,
  close: () => undefined,
  authenticate: () => Promise.reject(new Error('nobody renews')),
});

describe.each(transports)('two nodes that talk over %s', (_, runs, open) => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });

  async function startHub(
    name: string,
    owner: string,
    through = (bus: Bus): Bus => bus,
  ): Promise<{ bus: Bus; hub: Hub; feeds: RemoteFeeds }> {
    const bus = through(await open(name));
    const hub = new Hub({ frameDeadlineMs: 250, viewerQueueBytesMax: 1 << 20, viewerSlowSecMax: 5 }, () => undefined);
    const view: ClusterView = {
      self: name,
      partitionCount: 1,
      ownerOf: () => owner,
      nodes: () => [],
      lookAgain: () => undefined,
      lookNow: () => Promise.resolve(),
      onChange: () => () => undefined,
    };
    const feeds = new RemoteFeeds(bus, view, hub, { reaches: () => true });
    ends.push(
      () => bus.close(),
      () => feeds.stop(),
    );
    return { bus, hub, feeds };
  }

  test.runIf(runs)('a frame that is made right after the last minute was asked for does not hide that minute', async () => {
    const owner = await startHub('node-a', 'node-a');
    const viewers = await startHub('node-b', 'node-a');
    const stream = { streamId: 1 as StreamId, epochNs: BigInt(Date.now() - 3000) * 1_000_000n, channels, subjectId: ANN };
    const push = (turn: number): void =>
      owner.hub.push(stream, [{ channelNo: 0 as ChannelNo, k0: turn * SAMPLES, samples: new Int32Array(SAMPLES), qmask: null }]);
    const made = owner.hub.join(
      ANN,
      new Outbox(
        socketOf(() => undefined),
        1 << 20,
      ),
      '',
      0,
    );
    push(0);
    push(1);
    expect(made.emittedCount).toBe(10);
    owner.bus.handle('next', () => {
      push(2);
      return new Uint8Array(0);
    });
    const seen: number[] = [];
    viewers.hub.join(
      ANN,
      new Outbox(
        socketOf((seq) => seen.push(seq)),
        1 << 20,
      ),
      '',
      0,
    );
    // The owner makes the next frames in the turn of its loop in which it answers.
    const fetching = viewers.feeds.fetch(ANN, '', null);
    viewers.bus.send('node-a', 'next', new Uint8Array(0));
    await fetching;
    await until(() => seen.at(-1) === made.lastSeq);
    expect(made.emittedCount).toBe(15);
    expect(seen).toEqual(Array.from({ length: 15 }, (__, i) => made.lastSeq - 14 + i));
  });

  test.runIf(runs)('an answer with the last minute that comes too late hides none of it', async () => {
    const owner = await startHub('node-c', 'node-c');
    // As of an owner that is held up: it has taken the question, and nobody waits for its answer any more.
    let lost = 0;
    const viewers = await startHub('node-d', 'node-c', (bus) => {
      const request: Bus['request'] = async (...args) => {
        const answer = await bus.request(...args);
        if (args[1] !== 'watch' || lost > 0) return answer;
        lost++;
        push(2);
        await sleep(50); // what was made meanwhile has come
        throw new Error('too late');
      };
      return new Proxy(bus, {
        get: (target, name) => {
          if (name === 'request') return request;
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
    });
    const stream = { streamId: 1 as StreamId, epochNs: BigInt(Date.now() - 3000) * 1_000_000n, channels, subjectId: ANN };
    const push = (turn: number): void =>
      owner.hub.push(stream, [{ channelNo: 0 as ChannelNo, k0: turn * SAMPLES, samples: new Int32Array(SAMPLES), qmask: null }]);
    const nothing = new Outbox(
      socketOf(() => undefined),
      1 << 20,
    );
    const made = owner.hub.join(ANN, nothing, '', 0);
    push(0);
    push(1);
    const seen: number[] = [];
    const viewer = new Outbox(
      socketOf((seq) => seen.push(seq)),
      1 << 20,
    );
    viewers.hub.join(ANN, viewer, '', 0);
    await viewers.feeds.fetch(ANN, '', null);
    await until(() => seen.at(-1) === made.lastSeq);
    expect(lost).toBe(1);
    expect(made.emittedCount).toBe(15);
    expect(seen).toEqual(Array.from({ length: 15 }, (__, i) => made.lastSeq - 14 + i));
  });
});
