/** Frames of subjects that another node owns: this node tells the owner what its viewers watch, and renews that; the owner encodes each
 *  frame once and sends it here. What nobody watches is not encoded anywhere. */
import { MESSAGE_BYTES_MAX } from '../bus/bus.ts';
import type { Bus } from '../bus/bus.ts';
import type { ClusterView, NodeId } from '../cluster/cluster-view.ts';
import type { Hub, RelayedFrame } from '../live/hub.ts';
import type { SubjectId } from '../signal.ts';
import type { Reach } from './reach.ts';
import { checkSaid, decodeFrames, decodeObject, encodeFrames, encodeObject } from './wire.ts';

/** How long the owner sends frames without hearing again, ms, and how often it hears. */
const WATCH_MS = 10_000;
const RENEW_MS = 2000;
/** How long a viewer waits for the frames of the last minute, ms, and for a node that has the person: most have one within two seconds, and
 *  one whose node was killed after ten. */
const FETCH_MS = 1000;
const FETCH_TRIES = 3;
const OWNER_MS = 12_000;

/** Frames of the last minute that go in one message, bytes; the oldest of many wide ones stay where they are. */
const FETCH_BYTES_MAX = MESSAGE_BYTES_MAX / 2;

/** Of the names of a selection, in its frames. */
const SELECTION_LENGTH_MAX = 0xffff;
const UUID = /^[0-9a-f-]{36}$/;

type Watch = Readonly<{ subjectId: SubjectId; selection: string }>;
/** With the newest frame that the asker has, 0: none. A former release does not say it, and gets frames with its first question alone. */
type WatchQuestion = Watch & Readonly<{ after?: number }>;
/** Frames that are wanted of a node that may hold them. */
type Wanted = Watch & Readonly<{ after: number; before: number }>;
/** Frames that came before those that the owner is being asked for. */
type Asked = { questions: number; early: RelayedFrame[] };

export class RemoteFeeds {
  readonly #bus: Bus;
  readonly #view: ClusterView;
  readonly #hub: Hub;
  readonly #reach: Pick<Reach, 'reaches'>;
  readonly #timer: NodeJS.Timeout;
  readonly #asked = new Map<string, Asked>();

  constructor(bus: Bus, view: ClusterView, hub: Hub, reach: Pick<Reach, 'reaches'>) {
    this.#bus = bus;
    this.#view = view;
    this.#hub = hub;
    this.#reach = reach;
    hub.relayBy((node, frame) => bus.send(node, 'frame', encodeFrames([frame])));
    bus.handle('frame', (_, body) => {
      for (const frame of decodeFrames(body)) this.#takeInTurn(frame);
      return Buffer.alloc(0);
    });
    bus.handle('watch', (from, body) => {
      const { subjectId, selection, after } = decodeObject<WatchQuestion>(body);
      checkSaid(UUID.test(subjectId) && typeof selection === 'string' && selection.length <= SELECTION_LENGTH_MAX);
      checkSaid(after === undefined || (Number.isSafeInteger(after) && after >= 0));
      return encodeFrames(newest(hub.relayTo(from, subjectId, selection, performance.now() + WATCH_MS, after)));
    });
    bus.handle('held', (_, body) => {
      const { subjectId, selection, after, before } = decodeObject<Wanted>(body);
      checkSaid(UUID.test(subjectId) && typeof selection === 'string' && Number.isSafeInteger(after) && Number.isSafeInteger(before));
      return encodeFrames(newest(hub.held(subjectId, selection, after, before)));
    });
    // job: watch: tells the owners of watched subjects that this node still shows them
    this.#timer = setInterval(() => this.#renew(), RENEW_MS).unref();
    view.onChange(() => {
      this.#renew();
      this.#followKept();
    });
  }

  /** For a viewer who is about to join. @param after frames after this one are wanted; null: only new ones
   *  @returns null when this node makes the frames itself, and has what is wanted */
  fetch(subjectId: SubjectId, selection: string, after: number | null): Promise<void> | null {
    const watch: Watch = { subjectId, selection };
    const owner = this.#view.ownerOf(subjectId);
    const isMine = owner === this.#view.self;
    if (after === null || (isMine && !this.#hub.lacksAfter(subjectId, selection, after)))
      return isMine ? null : this.#fetchNew(owner, watch);
    return this.#fetchAfter(isMine ? null : this.#fetchNew(owner, watch), watch, after);
  }

  #fetchNew(owner: NodeId | null, watch: Watch): Promise<void> {
    return owner === null ? this.#fetchOnceOwned(watch) : this.#fetchFrom(owner, watch);
  }

  /** The owner may be one since a moment ago: what was missed is where the frames were made and shown before. */
  async #fetchAfter(owners: Promise<void> | null, watch: Watch, after: number): Promise<void> {
    await owners;
    const { subjectId, selection } = watch;
    if (!this.#hub.lacksAfter(subjectId, selection, after)) return;
    this.#hub.prepare(subjectId, selection);
    const before = this.#hub.find(subjectId, selection)!.ring.oldestSeq;
    this.#hub.takeOlder(subjectId, selection, await this.#heldElsewhere({ ...watch, after, before }));
  }

  /** @returns what the other nodes hold, ascending, each frame once */
  async #heldElsewhere(wanted: Wanted): Promise<readonly RelayedFrame[]> {
    const body = encodeObject({ ...wanted, before: Math.min(wanted.before, Number.MAX_SAFE_INTEGER) });
    const others = this.#view.nodes().filter(({ id }) => id !== this.#view.self && this.#reach.reaches(id));
    const answers = await Promise.all(others.map(({ id }) => this.#bus.request(id, 'held', body, FETCH_MS).then(decodeFrames, () => [])));
    const bySeq = new Map(answers.flat().map((frame) => [frame.seq, frame]));
    return [...bySeq.values()]
      .filter((frame) => keyOf(frame) === keyOf(wanted) && frame.seq > wanted.after && frame.seq < wanted.before)
      .toSorted((a, b) => a.seq - b.seq);
  }

  /** An owner that has just taken a dead node's people over may be too busy to answer in time. */
  async #fetchFrom(owner: NodeId, watch: Watch): Promise<void> {
    this.#hub.prepare(watch.subjectId, watch.selection);
    const asked = this.#ask(watch);
    let asks: NodeId | null = owner;
    for (let tries = 0; asks !== null && tries < FETCH_TRIES; tries++)
      asks = (await this.#watch(asks, watch)) ? null : this.#ownerOf(watch.subjectId);
    this.#endAsking(watch, asked);
  }

  /** A partition on its way from one node to another is nobody's: a viewer who was answered then would hear that nothing is kept. */
  async #fetchOnceOwned(watch: Watch): Promise<void> {
    const owned = Promise.withResolvers<void>();
    const timer = setTimeout(owned.resolve, OWNER_MS).unref();
    const unwatch = this.#view.onChange(() => {
      if (this.#view.ownerOf(watch.subjectId) !== null) owned.resolve();
    });
    await owned.promise;
    clearTimeout(timer);
    unwatch();
    const owner = this.#ownerOf(watch.subjectId);
    if (owner !== null) await this.#fetchFrom(owner, watch);
  }

  /** Whether the frames of a subject can come here. */
  reaches(subjectId: SubjectId): boolean {
    const owner = this.#ownerOf(subjectId);
    return owner === null || this.#reach.reaches(owner);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Another node; null: this one, or nobody. */
  #ownerOf(subjectId: SubjectId): NodeId | null {
    const owner = this.#view.ownerOf(subjectId);
    return owner === this.#view.self ? null : owner;
  }

  #renew(): void {
    for (const watch of Array.from(this.#hub.watching())) {
      const owner = this.#ownerOf(watch.subjectId);
      if (owner === null) continue;
      if (this.#reach.reaches(owner)) void this.#watch(owner, watch);
      else this.#hub.sendAway(watch.subjectId);
    }
  }

  /** A viewer who left may come back within a minute: the next owner makes frames for them, as the former one did. */
  #followKept(): void {
    for (const { subjectId, group } of Array.from(this.#hub.kept(performance.now()))) {
      const owner = this.#view.ownerOf(subjectId);
      if (owner === this.#view.self) group.askedOf = '';
      else if (owner !== null && owner !== group.askedOf && this.#reach.reaches(owner))
        void this.#watch(owner, { subjectId, selection: group.key });
    }
  }

  /** Never rejects: it is tried again with the next renewal. @returns whether the owner has answered */
  async #watch(owner: NodeId, watch: Watch): Promise<boolean> {
    const asked = this.#ask(watch);
    let isAnswered = false;
    try {
      const after = this.#hub.find(watch.subjectId, watch.selection)?.lastSeq ?? 0;
      const question: WatchQuestion = { ...watch, after };
      const frames = decodeFrames(await this.#bus.request(owner, 'watch', encodeObject(question), FETCH_MS));
      const group = this.#hub.find(watch.subjectId, watch.selection);
      if (group !== null) group.askedOf = owner;
      const [first] = frames;
      // Between those of here and those of the owner another node may have made some.
      if (group !== null && group.ring.count > 0 && first !== undefined && this.#hub.lacksBefore(first))
        for (const frame of await this.#heldElsewhere({ ...watch, after: group.lastSeq, before: first.seq })) this.#take(frame);
      for (const frame of frames) this.#take(frame);
      isAnswered = true;
    } catch {
      // the owner has gone, or will be another
    }
    if (isAnswered) this.#takeEarly(asked);
    this.#endAsking(watch, asked);
    return isAnswered;
  }

  #ask(watch: Watch): Asked {
    const key = keyOf(watch);
    const asked = this.#asked.get(key) ?? { questions: 0, early: [] };
    this.#asked.set(key, asked);
    asked.questions += 1;
    return asked;
  }

  #endAsking(watch: Watch, asked: Asked): void {
    asked.questions -= 1;
    if (asked.questions > 0) return;
    this.#asked.delete(keyOf(watch));
    this.#takeEarly(asked);
  }

  #takeEarly(asked: Asked): void {
    for (const frame of asked.early.splice(0)) this.#take(frame);
  }

  /** A note overtakes an answer that was sent before it: frames with a lack before them wait for it, since what is not newer than the last
   *  that was shown is left out. */
  #takeInTurn(frame: RelayedFrame): void {
    const asked = this.#asked.get(keyOf(frame));
    if (asked !== undefined && this.#hub.lacksBefore(frame)) asked.early.push(frame);
    else this.#take(frame);
  }

  #take(frame: RelayedFrame): void {
    this.#hub.receive(frame, performance.now());
  }
}

const keyOf = ({ subjectId, selection }: Watch): string => `${subjectId} ${selection}`;

function newest(frames: readonly RelayedFrame[]): readonly RelayedFrame[] {
  let from = frames.length;
  for (let bytes = 0; from > 0; from--) {
    bytes += frames[from - 1]!.bytes.length;
    if (bytes > FETCH_BYTES_MAX) break;
  }
  return frames.slice(from);
}
