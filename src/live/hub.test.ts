/** Tests how long a hub keeps the frames of people who are watched at other nodes. */
import { expect, it } from 'vitest';
import type { PeerSocket } from '../http/route.ts';
import { gridCeil } from '../signal.ts';
import type { ChannelNo, StreamId, SubjectId } from '../signal.ts';
import { Hub } from './hub.ts';
import type { RelayedFrame, SubjectStream } from './hub.ts';
import { Outbox } from './outbox.ts';

const person = 's' as SubjectId;
const WATCH_MS = 10_000;

const newHub = (): Hub => new Hub({ frameDeadlineMs: 250, viewerQueueBytesMax: 1 << 20, viewerSlowSecMax: 30 }, () => undefined);

/** Pushes samples of some seconds that end now. */
function record(hub: Hub, sec: number): void {
  const stream: SubjectStream = {
    streamId: 1 as StreamId,
    subjectId: person,
    epochNs: BigInt(Date.now() - sec * 1000) * 1_000_000n,
    channels: [{ code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 1, baseline: 0, unit: 'mV', lead: '' }],
  };
  const count = gridCeil(BigInt(sec) * 1_000_000_000n, 250e9);
  hub.push(stream, [{ channelNo: 0 as ChannelNo, k0: 0, samples: new Int32Array(count), qmask: null }]);
}

function viewer(): Outbox {
  const socket: PeerSocket = {
    id: 1,
    sendBinary: () => 'sent',
    sendText: () => 'sent',
    bufferedBytes: () => 0,
    subscribe: () => undefined,
    unsubscribe: () => undefined,
    close: () => undefined,
    authenticate: () => Promise.reject(new Error('not here')),
  };
  return new Outbox(socket, 1 << 20);
}

it('frames for another node are made while it asks for them, and kept for a minute after that', () => {
  const hub = newHub();
  const startMs = performance.now();
  hub.relayTo('node-2', person, '', startMs + WATCH_MS);
  record(hub, 3);
  const kept = hub.relayTo('node-3', person, '', startMs + WATCH_MS);
  expect(kept.length).toBeGreaterThan(10);
  hub.tick(startMs + 55_000);
  expect(hub.watched(person)).toBe(true);
  hub.tick(performance.now() + 61_000);
  expect(hub.watched(person)).toBe(false);
});

it('a node whose viewer has left goes on making frames that another one asks for, and a minute longer', () => {
  const hub = newHub();
  const box = viewer();
  const group = hub.join(person, box, '', 0);
  record(hub, 3);
  hub.leave(box, group);
  const askedMs = performance.now() + 120_000;
  group.relay('node-2', askedMs + WATCH_MS, askedMs);
  hub.tick(askedMs + 59_000);
  expect(hub.watched(person)).toBe(true);
  hub.tick(askedMs + 61_000);
  expect(hub.watched(person)).toBe(false);
});

it('frames that come while a viewer waits for them are there when it joins, whenever the hub looks for what is not needed', () => {
  const owner = newHub();
  owner.relayTo('node-2', person, '', performance.now() + WATCH_MS);
  record(owner, 3);
  const frames: readonly RelayedFrame[] = owner.relayTo('node-3', person, '', performance.now() + WATCH_MS);
  expect(frames.length).toBeGreaterThan(10);
  const hub = newHub();
  hub.prepare(person, '');
  hub.tick(performance.now() + 900);
  for (const frame of frames) hub.receive(frame, performance.now());
  const group = hub.join(person, viewer(), '', 0);
  expect(hub.replayable(group, frames[2]!.seq)).toBe(frames.length - 3);
});

it('what nobody has joined is forgotten', () => {
  const hub = newHub();
  hub.prepare(person, '');
  hub.tick(performance.now() + 6000);
  expect(hub.feedCount).toBe(0);
});
