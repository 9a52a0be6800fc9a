/** Live frames: samples and features in from the pipeline, encoded frames out to every viewer of the subject. A feed exists while its
 *  subject is watched and for a minute after, so that a viewer who lost the connection gets a replay; samples of all other subjects cost
 *  one look-up. */
import type { Config } from '../config.ts';
import { Tally } from '../metrics.ts';
import type { Metrics } from '../metrics.ts';
import { decodeFrame } from '../proto/frame-codec.ts';
import type { LiveFeature } from '../proto/frame-codec.ts';
import type { SampleRun, SubjectId } from '../signal.ts';
import { FrameClock, WINDOW_MS } from './frame-clock.ts';
import type { LiveStream } from './frame-clock.ts';
import type { Selects } from './viewer-group.ts';
import { ViewerGroup } from './viewer-group.ts';
import type { Outbox } from './outbox.ts';
import { encodeWindow } from './window-encoder.ts';
import { unixNowMs } from '../unix-clock.ts';

/** Time within which a viewer can reconnect and miss nothing, ms. */
const RING_MS = 60_000;
/** All rings together, bytes: 60 s of 180 subjects with four channels at 250 Hz. Above it each feed gets an equal share. */
const RINGS_BYTES_MAX = 64 * 1024 * 1024;
const RING_BYTES_MIN = 4096;
/** How long a selection without a frame is kept for a viewer who is about to join, ms: its frames are on their way from another node. */
const AWAITED_MS = 5000;
const FEATURES_MAX = 64;
/** Said to a viewer whose person's frames another node makes, which this one does not reach. */
export const TRY_ANOTHER = 'The node that has these frames cannot be reached from this one: try again, for another one.';
const SWEEP_MS = 1000;
/** Interval between checks of slow viewers whose socket reports nothing, ms. */
const BEHIND_CHECK_MS = 100;
/** Every nth frame is timed. */
const TIMED_EVERY = 16;

export type HubConfig = Pick<Config, 'frameDeadlineMs' | 'viewerQueueBytesMax' | 'viewerSlowSecMax'>;

/** A frame as it goes to another node's hub. */
export type RelayedFrame = Readonly<{ subjectId: SubjectId; selection: string; seq: number; endUnixMs: number; bytes: Uint8Array }>;

/** Sends a frame to another node, by its name. */
export type Relay = (node: string, frame: RelayedFrame) => void;

export type SubjectStream = LiveStream & Readonly<{ subjectId: SubjectId }>;

type Feed = {
  readonly subjectId: SubjectId;
  readonly groups: Map<string, ViewerGroup>;
  clock: FrameClock | null;
  features: LiveFeature[];
};

export class Hub {
  readonly #config: HubConfig;
  readonly #publish: (topic: string, bytes: Uint8Array) => void;
  readonly #metrics: Metrics | null;
  readonly #feeds = new Map<SubjectId, Feed>();
  /** Viewers that are behind or replaying, with their group. */
  readonly #lagging = new Map<Outbox, ViewerGroup>();
  #sweepAtMs = 0;
  #laggingAtMs = 0;
  /** Wall clock minus monotonic clock, at the last check. */
  #unixLeadMs = unixNowMs() - performance.now();
  #groupCount = 0;
  #endedCount = 0;
  #frameCount = 0;
  readonly #built: Tally;
  readonly #delivered: Tally;
  readonly #merged: Tally;
  #relay: Relay = () => undefined;

  /** @param publish sends to a uWS topic */
  constructor(config: HubConfig, publish: (topic: string, bytes: Uint8Array) => void, metrics: Metrics | null = null) {
    this.#config = config;
    this.#publish = publish;
    this.#metrics = metrics;
    const tally = (outcome: string): Tally => metrics?.frames.tally({ outcome }) ?? new Tally();
    this.#built = tally('built');
    this.#delivered = tally('delivered');
    this.#merged = tally('merged');
  }

  get feedCount(): number {
    return this.#feeds.size;
  }

  /** How often the views of a subject were ended. Who has asked whether a subject may be seen, and finds another number than before, asks
   *  again: the answer may be older than that end. */
  get endedCount(): number {
    return this.#endedCount;
  }

  /** Subjects being watched. */
  subjects(): Iterable<SubjectId> {
    return this.#feeds.keys();
  }

  /** Is anyone watching? Lets the pipeline skip work that no viewer needs. */
  watched(subjectId: SubjectId): boolean {
    return this.#feeds.has(subjectId);
  }

  /** Takes samples just received. `runs` are kept until their window is sent, and must not be overwritten. */
  push(stream: SubjectStream, runs: readonly SampleRun[]): void {
    const feed = this.#feeds.get(stream.subjectId);
    if (feed === undefined) return;
    const nowMs = performance.now();
    feed.clock ??= new FrameClock(this.#config.frameDeadlineMs, sentUntilNs(feed));
    feed.clock.push(stream, runs, nowMs, nowMs + this.#unixLeadMs);
    this.#advance(feed, nowMs);
  }

  /** Takes new values; they are sent with the next frame. */
  features(subjectId: SubjectId, rows: readonly LiveFeature[]): void {
    const feed = this.#feeds.get(subjectId);
    if (feed === undefined) return;
    feed.features.push(...rows.slice(-FEATURES_MAX));
    if (feed.features.length > FEATURES_MAX) feed.features.splice(0, feed.features.length - FEATURES_MAX);
  }

  /** Emits overdue frames, handles slow viewers, drops feeds that no one watches. Call every 10 ms. */
  tick(nowMs: number): void {
    for (const feed of this.#feeds.values()) if (feed.clock !== null && feed.clock.dueMs <= nowMs) this.#advance(feed, nowMs);
    if (nowMs >= this.#laggingAtMs) {
      this.#laggingAtMs = nowMs + BEHIND_CHECK_MS;
      this.#unixLeadMs = unixNowMs() - performance.now();
      for (const [viewer, group] of this.#lagging) this.resume(viewer, group, nowMs);
    }
    if (nowMs >= this.#sweepAtMs) {
      this.#sweepAtMs = nowMs + SWEEP_MS;
      this.#sweep(nowMs);
    }
  }

  #advance(feed: Feed, nowMs: number): void {
    const clock = feed.clock!;
    clock.advance(nowMs, (incomplete) => this.#emit(feed, clock, incomplete, nowMs));
  }

  #emit(feed: Feed, clock: FrameClock, incomplete: boolean, nowMs: number): void {
    const ringBytesMax = this.#ringBytesMax();
    const seq = clock.window;
    const endUnixMs = (seq + 1) * WINDOW_MS + clock.phaseNs / 1e6;
    for (const group of feed.groups.values()) {
      const bytes = encodeWindow(clock, feed.subjectId, incomplete, feed.features, group.selects);
      this.#built.inc();
      const sent = group.emit(seq, endUnixMs, bytes, nowMs, ringBytesMax, RING_MS);
      this.#delivered.inc(sent);
      this.collect(group);
      for (const node of group.relayedTo(nowMs))
        this.#relay(node, { subjectId: feed.subjectId, selection: group.key, seq, endUnixMs, bytes });
    }
    if (feed.features.length > 0) feed.features = [];
    this.#frameCount++;
    if (this.#frameCount % TIMED_EVERY === 0) this.#metrics?.frameSeconds.observe((nowMs - clock.receivedMs) / 1000);
  }

  #ringBytesMax(): number {
    return Math.max(RING_BYTES_MIN, RINGS_BYTES_MAX / Math.max(1, this.#groupCount));
  }

  /** Takes over the viewers that fell behind in the group's last frame. */
  collect(group: ViewerGroup): void {
    if (group.fallen.length === 0) return;
    for (const viewer of group.fallen) this.#lagging.set(viewer, group);
    group.fallen.length = 0;
  }

  // ------------------------------------------------------------------------------------------------ other nodes

  relayBy(relay: Relay): void {
    this.#relay = relay;
  }

  /** Sends the frames of a selection to another node until `untilMs` of performance.now(). @param after newest frame that it has, 0: none;
   *  undefined: it does not say @returns the newer frames of the last minute; of a node that does not say, all if it is a new one */
  relayTo(node: string, subjectId: SubjectId, selection: string, untilMs: number, after?: number): readonly RelayedFrame[] {
    const group = this.#groupOf(subjectId, selection);
    const isNew = group.relay(node, untilMs, performance.now());
    return isNew || after !== undefined ? this.held(subjectId, selection, after ?? 0, Infinity) : [];
  }

  /** Takes a frame that the owner of the subject has made. Left out: one that is not newer than the last, and one that a former owner sends
   *  while this node makes them itself, whose numbers would run into its own. */
  receive({ subjectId, selection, seq, endUnixMs, bytes }: RelayedFrame, nowMs: number): void {
    const feed = this.#feeds.get(subjectId);
    const group = feed?.groups.get(selection);
    if (feed === undefined || group === undefined || feed.clock !== null || seq <= group.lastSeq) return;
    this.#delivered.inc(group.emit(seq, endUnixMs, bytes, nowMs, this.#ringBytesMax(), RING_MS));
    this.collect(group);
  }

  /** Whether frames may be missing between the last of a selection and this one. */
  lacksBefore({ subjectId, selection, seq }: Pick<RelayedFrame, 'subjectId' | 'selection' | 'seq'>): boolean {
    const group = this.#feeds.get(subjectId)?.groups.get(selection);
    return group !== undefined && seq > group.lastSeq + 1;
  }

  /** Frames of a selection between two numbers. */
  held(subjectId: SubjectId, selection: string, after: number, before: number): RelayedFrame[] {
    const frames: RelayedFrame[] = [];
    const ring = this.find(subjectId, selection)?.ring;
    for (let frame = ring?.after(after) ?? null; frame !== null && frame.seq < before; frame = ring!.after(frame.seq))
      frames.push({ subjectId, selection, seq: frame.seq, endUnixMs: (frame.seq + 1) * WINDOW_MS, bytes: frame.bytes });
    return frames;
  }

  /** Takes frames of before that another node holds: those older than all that this one has. @param frames ascending */
  takeOlder(subjectId: SubjectId, selection: string, frames: readonly RelayedFrame[]): void {
    const group = this.find(subjectId, selection);
    if (group === null) return;
    const before = group.ring.count > 0 ? group.ring.oldestSeq : (this.#feeds.get(subjectId)!.clock?.window ?? Infinity);
    const older = frames.filter(({ seq }) => seq < before && (group.ring.count > 0 || seq > group.lastSeq));
    if (older.length > 0) group.takeOlder(older, performance.now(), this.#ringBytesMax(), RING_MS);
  }

  /** Whether frames after this one are no longer held. */
  lacksAfter(subjectId: SubjectId, selection: string, seq: number): boolean {
    const group = this.find(subjectId, selection);
    return group === null || this.replayable(group, seq) === null;
  }

  find(subjectId: SubjectId, selection: string): ViewerGroup | null {
    return this.#feeds.get(subjectId)?.groups.get(selection) ?? null;
  }

  /** Frames that are kept for viewers who may come back, and that no node asks for. */
  *kept(nowMs: number): Iterable<Readonly<{ subjectId: SubjectId; group: ViewerGroup }>> {
    for (const { subjectId, groups } of this.#feeds.values())
      for (const group of groups.values())
        if (group.viewers.size === 0 && group.ring.count > 0 && group.relayedTo(nowMs).length === 0) yield { subjectId, group };
  }

  /** What is watched here, by subject and selection. */
  *watching(): Iterable<Readonly<{ subjectId: SubjectId; selection: string }>> {
    for (const { subjectId, groups } of this.#feeds.values())
      for (const group of groups.values()) if (group.viewers.size > 0) yield { subjectId, selection: group.key };
  }

  /** The subject's samples come to another node from now on. */
  handOver(subjectId: SubjectId): void {
    const feed = this.#feeds.get(subjectId);
    if (feed !== undefined) feed.clock = null;
  }

  // ------------------------------------------------------------------------------------------------ viewers

  /** Adds a viewer. @param selection canonical list of channel codes and kinds, '' = all  @param intervalMs 0 = every frame */
  join(subjectId: SubjectId, viewer: Outbox, selection: string, intervalMs: number): ViewerGroup {
    const group = this.#groupOf(subjectId, selection);
    viewer.join(group, intervalMs);
    group.add(viewer);
    return group;
  }

  /** Makes the group of a selection, so that frames of another node can be taken before its first viewer comes. */
  prepare(subjectId: SubjectId, selection: string): void {
    const group = this.#groupOf(subjectId, selection);
    if (group.viewers.size === 0) group.emptySinceMs = performance.now();
  }

  #groupOf(subjectId: SubjectId, selection: string): ViewerGroup {
    let feed = this.#feeds.get(subjectId);
    if (feed === undefined) {
      feed = { subjectId, groups: new Map(), clock: null, features: [] };
      this.#feeds.set(subjectId, feed);
    }
    let group = feed.groups.get(selection);
    if (group === undefined) {
      const topic = `live/${subjectId}/${selection}`;
      group = new ViewerGroup(selection, topic, selects(selection), this.#publish, this.#config.viewerQueueBytesMax);
      feed.groups.set(selection, group);
      this.#groupCount++;
    }
    return group;
  }

  leave(viewer: Outbox, group: ViewerGroup): void {
    group.remove(viewer, performance.now());
    this.#lagging.delete(viewer);
  }

  /** Number of stored frames after `seq`; null when the next one is no longer stored. */
  replayable(group: ViewerGroup, seq: number): number | null {
    const held = group.ring.count === 0 ? group.lastSeq > 0 && seq >= group.lastSeq : seq >= group.ring.oldestSeq - 1;
    return held ? group.ring.countAfter(seq) : null;
  }

  /** Sends the stored frames after `seq` again, then continues with new ones: never with one that the viewer has seen at another node. */
  replay(viewer: Outbox, group: ViewerGroup, seq: number): void {
    group.pauses(viewer);
    if (seq > group.lastSeq) {
      viewer.skipTo(seq);
      return;
    }
    if (viewer.replay(group, seq, performance.now()) >= 0) group.flows(viewer);
    else this.#lagging.set(viewer, group);
  }

  /** Resumes a viewer whose socket takes bytes again. */
  resume(viewer: Outbox, group: ViewerGroup, nowMs: number): void {
    if (!this.#lagging.has(viewer)) return;
    const dropped = viewer.resume(group, nowMs);
    if (dropped >= 0) {
      this.#lagging.delete(viewer);
      this.#merged.inc(dropped);
      group.flows(viewer);
    } else if (viewer.slowMs(nowMs) > this.#config.viewerSlowSecMax * 1000) {
      this.#lagging.delete(viewer);
      viewer.peer.close('slow_consumer', `Too slow for ${this.#config.viewerSlowSecMax} s.`);
    }
  }

  /** Ends every view of a subject that was erased or disabled, and drops its frames. Each viewer gets the code that a new connection would
   *  get: with a key, no such subject; with the subject's own token, an invalid credential. */
  closeSubject(subjectId: SubjectId, code: 'not_found' | 'unavailable' = 'not_found'): void {
    this.#endedCount++;
    const feed = this.#feeds.get(subjectId);
    if (feed === undefined) return;
    this.#feeds.delete(subjectId);
    this.#groupCount -= feed.groups.size;
    for (const group of feed.groups.values()) {
      for (const viewer of Array.from(group.viewers)) {
        if (code === 'unavailable') viewer.peer.close(code, 'What may be seen of the subject has changed.');
        else if (viewer.isOwn) viewer.peer.close('credential_invalid', 'The user of this token is disabled or deleted.');
        else viewer.peer.close(code, 'The subject was erased or disabled.');
      }
    }
  }

  /** Sends the viewers of a subject to another node, whose frames do not reach this one. Not sockets of several people: no node may have
   *  all of them. */
  sendAway(subjectId: SubjectId): void {
    for (const group of this.#feeds.get(subjectId)?.groups.values() ?? [])
      for (const viewer of Array.from(group.viewers)) if (viewer.isAlone) viewer.peer.close('unavailable', TRY_ANOTHER);
  }

  #sweep(nowMs: number): void {
    for (const [subjectId, feed] of this.#feeds) {
      for (const [key, group] of feed.groups) {
        const left =
          group.viewers.size === 0 &&
          group.relayedTo(nowMs).length === 0 &&
          nowMs - group.emptySinceMs > (group.ring.count === 0 ? AWAITED_MS : RING_MS);
        if (!left) {
          for (const viewer of group.viewers) {
            if (viewer.mode === 'sampled' && viewer.slowMs(nowMs) > this.#config.viewerSlowSecMax * 1000) {
              viewer.peer.close('slow_consumer', `Too slow for ${this.#config.viewerSlowSecMax} s.`);
            }
          }
          continue;
        }
        feed.groups.delete(key);
        this.#groupCount--;
      }
      if (feed.groups.size === 0) this.#feeds.delete(subjectId);
    }
  }
}

/** End of the newest frame that the former owner of the subject has sent here, Unix ns; null when there was none. */
function sentUntilNs({ groups }: Feed): bigint | null {
  let untilNs: bigint | null = null;
  for (const { ring, lastSeq } of groups.values()) {
    const last = lastSeq === 0 ? null : ring.after(lastSeq - 1);
    if (last === null) continue;
    const { t0Ns, durationMs } = decodeFrame(last.bytes);
    const endNs = t0Ns + BigInt(durationMs) * 1_000_000n;
    if (untilNs === null || endNs > untilNs) untilNs = endNs;
  }
  return untilNs;
}

/** `ecg.ii,ppg`: a channel is selected by its code or its kind. */
function selects(selection: string): Selects | null {
  if (selection === '') return null;
  const names = new Set(selection.split(','));
  return (code, kind) => names.has(code) || names.has(kind);
}
