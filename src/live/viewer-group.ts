/** Viewers of one subject with the same selection of channels: they share each frame's bytes, the ring and the topic. A few viewers are
 *  sent to one by one, many through a uWS topic; either way the bytes are encoded once. */
import type { ChannelKind } from '../signal.ts';
import { FrameRing } from './frame-ring.ts';
import type { RingFrame } from './frame-ring.ts';
import type { Outbox } from './outbox.ts';
import { unixNowMs } from '../unix-clock.ts';

/** Up to this many viewers, each is sent to directly, which shows at once whose socket is full. */
const DIRECT_MAX = 8;
/** A topic does not report full sockets: its viewers are checked this often, and whenever this share of their bound was published. */
const CHECK_MS = 1000;
const CHECK_SHARE = 8;

const nobody: readonly string[] = [];

export type Selects = (code: string, kind: ChannelKind) => boolean;

export class ViewerGroup {
  readonly key: string;
  readonly topic: string;
  /** null = every channel. */
  readonly selects: Selects | null;
  readonly viewers = new Set<Outbox>();
  readonly ring = new FrameRing();
  readonly #publish: (topic: string, bytes: Uint8Array) => void;
  readonly #enterBytes: number;
  /** Viewers that fell behind in the last emit(); the hub takes them from here. */
  readonly fallen: Outbox[] = [];
  emittedCount = 0;
  lastSeq = 0;
  /** When the last frame's window ended, Unix ms. */
  #endUnixMs = 0;
  /** The node that was last asked for its frames; '': they are made here. */
  askedOf = '';
  /** Since when it has no viewer, or when another node last asked for its frames; Infinity: it has one. */
  emptySinceMs = Infinity;
  #byTopic = false;
  #checkAtMs = 0;
  #publishedBytes = 0;
  /** Viewers subscribed to the topic. */
  #flowingCount = 0;

  constructor(
    key: string,
    topic: string,
    selects: Selects | null,
    publish: (topic: string, bytes: Uint8Array) => void,
    enterBytes: number,
  ) {
    this.key = key;
    this.topic = topic;
    this.selects = selects;
    this.#publish = publish;
    this.#enterBytes = enterBytes;
  }

  /** Other nodes that show these frames, until when. */
  readonly #relays = new Map<string, number>();

  /** @returns whether the node did not get them before */
  relay(node: string, untilMs: number, nowMs: number): boolean {
    const isNew = (this.#relays.get(node) ?? 0) < nowMs;
    this.#relays.set(node, untilMs);
    if (this.viewers.size === 0) this.emptySinceMs = nowMs;
    return isNew;
  }

  relayedTo(nowMs: number): readonly string[] {
    if (this.#relays.size === 0) return nobody;
    for (const [node, untilMs] of this.#relays) if (untilMs < nowMs) this.#relays.delete(node);
    return [...this.#relays.keys()];
  }

  /** Age of the last frame's end. */
  lagMs(): number {
    return Math.max(0, Math.round(unixNowMs() - this.#endUnixMs));
  }

  /** @returns how many viewers it went to */
  emit(seq: number, endUnixMs: number, bytes: Uint8Array, nowMs: number, ringBytesMax: number, ringMsMax: number): number {
    this.emittedCount++;
    this.lastSeq = seq;
    this.#endUnixMs = endUnixMs;
    this.ring.push(seq, bytes, nowMs, ringBytesMax, ringMsMax);
    let sent = 0;
    if (this.#byTopic) {
      this.#publish(this.topic, bytes);
      sent += this.#flowingCount;
      this.#publishedBytes += bytes.length;
      const due = nowMs >= this.#checkAtMs || this.#publishedBytes > this.#enterBytes / CHECK_SHARE;
      for (const viewer of this.viewers) {
        if (viewer.mode === 'sampled' || viewer.mode === 'ahead') {
          const result = viewer.offer(this, bytes, nowMs);
          if (result === 'sent') sent++;
          if (result === 'behind') this.fallen.push(viewer);
          else this.flows(viewer);
        } else if (due && viewer.mode === 'flowing' && viewer.isFull()) {
          viewer.fallBehind(this, nowMs);
          this.#leaveTopic(viewer);
          this.fallen.push(viewer);
        }
      }
      if (due) {
        this.#checkAtMs = nowMs + CHECK_MS;
        this.#publishedBytes = 0;
      }
      return sent;
    }
    for (const viewer of this.viewers) {
      const result = viewer.offer(this, bytes, nowMs);
      if (result === 'sent') sent++;
      else if (result === 'behind') this.fallen.push(viewer);
    }
    return sent;
  }

  /** Takes frames of before, for viewers who come back. @param frames ascending, older than all in the ring */
  takeOlder(frames: readonly RingFrame[], nowMs: number, ringBytesMax: number, ringMsMax: number): void {
    this.ring.putBefore(frames, nowMs, ringBytesMax, ringMsMax);
    if (this.lastSeq === 0) this.lastSeq = frames.at(-1)?.seq ?? 0;
  }

  add(viewer: Outbox): void {
    this.viewers.add(viewer);
    this.emptySinceMs = Infinity;
    if (!this.#byTopic && this.viewers.size > DIRECT_MAX) {
      this.#byTopic = true;
      for (const other of this.viewers) if (other.mode === 'flowing') this.#joinTopic(other);
    } else if (viewer.mode === 'flowing') this.#joinTopic(viewer);
  }

  /** Called when a viewer's mode becomes flowing. */
  flows(viewer: Outbox): void {
    if (viewer.mode === 'flowing') this.#joinTopic(viewer);
  }

  /** Called when a viewer's mode is no longer flowing. */
  pauses(viewer: Outbox): void {
    this.#leaveTopic(viewer);
  }

  remove(viewer: Outbox, nowMs: number): void {
    if (!this.viewers.delete(viewer)) return;
    this.#leaveTopic(viewer);
    if (this.viewers.size === 0) {
      this.emptySinceMs = nowMs;
      this.#byTopic = false;
    }
  }

  #joinTopic(viewer: Outbox): void {
    if (!this.#byTopic || viewer.inTopic) return;
    viewer.inTopic = true;
    this.#flowingCount++;
    viewer.peer.subscribe(this.topic);
  }

  #leaveTopic(viewer: Outbox): void {
    if (!viewer.inTopic) return;
    viewer.inTopic = false;
    this.#flowingCount--;
    viewer.peer.unsubscribe(this.topic);
  }
}
