/** Sends frames to one viewer, and decides which to leave out when its connection is slow.
 *
 *  Modes of a viewer
 *  - flowing: it gets every frame of its group, from the group's topic or one by one.
 *  - replaying: it gets frames from the ring, oldest first, as fast as its connection takes them; new frames wait in the ring. Once caught
 *  up, it is flowing.
 *  - behind: more than `enterBytes` were unsent. It gets nothing; the ring has the latest frame. When less than a quarter of that is
 *  unsent, it gets the latest frame, with the number of frames left out and its age, and is flowing again. Behind for too long: closed as
 *  slow.
 *  - ahead: another node sent it frames that are newer than the group's last, before it went. It gets none until a newer one comes.
 *  - sampled: it asked for a lower rate; it gets the newest frame when its interval has passed and it is not behind. Bytes are bounded by
 *  what uWebSockets.js holds for the socket: nothing is queued here. */
import type { PeerSocket } from '../http/route.ts';
import type { FrameSuffix } from '../proto/frame-codec.ts';
import { writeSuffix } from '../proto/frame-codec.ts';
import { WireWriter } from '../proto/wire-writer.ts';
import type { ViewerGroup } from './viewer-group.ts';

export type OutboxMode = 'flowing' | 'replaying' | 'behind' | 'ahead' | 'sampled';

/** Frames by which a viewer can be ahead of a group: what another node has shown of packets that were not acknowledged, so that their
 *  devices send them to the next owner again, or what comes late of its last minute. Packets of more than a minute are not shown live.
 *  Further ahead, the viewer counts by a clock of its own. */
const AHEAD_MAX = 600;

const withSuffix = new WireWriter(64 * 1024);

/** Appends the fields of one viewer to a frame's shared bytes. */
function personal(bytes: Uint8Array, suffix: FrameSuffix): Uint8Array {
  withSuffix.reset();
  withSuffix.raw(bytes);
  writeSuffix(withSuffix, suffix);
  return withSuffix.view();
}

export class Outbox {
  readonly peer: PeerSocket;
  /** Shown to its own subject: it came with a user token, not with a key. */
  readonly isOwn: boolean;
  /** Its socket shows nobody else. */
  readonly isAlone: boolean;
  readonly #enterBytes: number;
  mode: OutboxMode = 'flowing';
  /** Last frame sent one by one; while replaying, the position in the ring; when ahead, the newest that it has seen. */
  lastSeq = 0;
  /** Number of frames that the group had emitted when this viewer was last up to date. */
  #seenCount = 0;
  behindSinceMs = 0;
  /** Subscribed to its group's topic; only the group changes it. */
  inTopic = false;
  #intervalMs = 0;
  #sentAtMs = -Infinity;

  constructor(peer: PeerSocket, enterBytes: number, isOwn = false, isAlone = true) {
    this.peer = peer;
    this.isOwn = isOwn;
    this.isAlone = isAlone;
    this.#enterBytes = enterBytes;
  }

  /** Starts with the group's next frame. @param intervalMs at most one frame in this time; 0 = every frame */
  join(group: ViewerGroup, intervalMs: number): void {
    this.#intervalMs = intervalMs;
    this.#seenCount = group.emittedCount;
    this.mode = intervalMs > 0 ? 'sampled' : 'flowing';
  }

  /** Is more unsent than allowed? */
  isFull(): boolean {
    return this.peer.bufferedBytes() > this.#enterBytes;
  }

  fallBehind(group: ViewerGroup, nowMs: number): void {
    if (this.mode === 'behind') return;
    this.mode = 'behind';
    this.behindSinceMs = nowMs;
    this.#seenCount = group.emittedCount;
  }

  /** Sends a frame that was just emitted.  @returns 'sent', or why not */
  offer(group: ViewerGroup, bytes: Uint8Array, nowMs: number): 'sent' | 'skipped' | 'behind' {
    if (this.mode === 'ahead') {
      const framesAhead = this.lastSeq - group.lastSeq;
      if (framesAhead >= 0 && framesAhead <= AHEAD_MAX) return 'skipped';
      this.join(group, this.#intervalMs);
    }
    if (this.mode === 'sampled') {
      if (nowMs - this.#sentAtMs < this.#intervalMs - WINDOW_SLACK_MS) return 'skipped';
      if (this.isFull()) {
        if (this.behindSinceMs === 0) this.behindSinceMs = nowMs;
        return 'skipped';
      }
      this.behindSinceMs = 0;
      this.#sentAtMs = nowMs;
      return this.peer.sendBinary(bytes) === 'dropped' ? 'skipped' : 'sent';
    }
    if (this.mode !== 'flowing') return 'skipped';
    const result = this.peer.sendBinary(bytes);
    if (result === 'sent') return 'sent';
    if (result === 'dropped') {
      this.fallBehind(group, nowMs);
      this.#seenCount--; // this frame was not sent
      return 'behind';
    }
    if (!this.isFull()) return 'sent';
    this.fallBehind(group, nowMs);
    return 'behind';
  }

  /** Continues when the connection takes bytes again, or after some time.  @returns frames left out if the viewer is flowing again, else
   *  -1 */
  resume(group: ViewerGroup, nowMs: number): number {
    if (this.mode === 'replaying') return this.#continueReplay(group, nowMs);
    if (this.mode !== 'behind' || this.peer.bufferedBytes() > this.#enterBytes / 4) return -1;
    const missed = group.emittedCount - this.#seenCount;
    if (missed > 0) {
      const latest = group.ring.after(group.lastSeq - 1);
      if (latest !== null) {
        this.peer.sendBinary(personal(latest.bytes, { droppedFrames: missed - 1, lagMs: group.lagMs(), replayed: false }));
      }
    }
    this.mode = this.#intervalMs > 0 ? 'sampled' : 'flowing';
    this.#seenCount = group.emittedCount;
    return Math.max(0, missed - 1);
  }

  /** Begins after a frame that the viewer has seen elsewhere and this node has not. */
  skipTo(seq: number): void {
    this.mode = 'ahead';
    this.lastSeq = seq;
  }

  /** Sends the ring's frames after `seq` first. @returns as resume() */
  replay(group: ViewerGroup, seq: number, nowMs: number): number {
    this.mode = 'replaying';
    this.lastSeq = seq;
    this.behindSinceMs = nowMs;
    return this.#continueReplay(group, nowMs);
  }

  #continueReplay(group: ViewerGroup, nowMs: number): number {
    let unsent = this.peer.bufferedBytes();
    while (unsent <= this.#enterBytes / 2) {
      const frame = group.ring.after(this.lastSeq);
      if (frame === null) {
        this.join(group, this.#intervalMs);
        return 0;
      }
      if (this.peer.sendBinary(personal(frame.bytes, { droppedFrames: 0, lagMs: 0, replayed: true })) === 'dropped') return -1;
      this.lastSeq = frame.seq;
      this.behindSinceMs = nowMs; // it makes progress, so it is not slow
      unsent = this.peer.bufferedBytes();
    }
    return -1;
  }

  /** How long it has been too slow, ms; 0 when it is not. */
  slowMs(nowMs: number): number {
    if (this.mode === 'behind' || this.mode === 'replaying') return nowMs - this.behindSinceMs;
    return this.mode === 'sampled' && this.behindSinceMs > 0 ? nowMs - this.behindSinceMs : 0;
  }
}

/** Frames leave at uneven times: one up to half a window early still counts as the interval's frame. */
const WINDOW_SLACK_MS = 50;
