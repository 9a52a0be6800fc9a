/** The live frames of everybody on a wall, over one WebSocket. */
import { openLiveConnection } from '../../sdk/live-connection.ts';
import type { ConnectionState, LiveConnection } from '../../sdk/live-connection.ts';
import { shownFrame } from '../../widgets/shared/live-frame.ts';
import type { LiveFrame } from '../../widgets/shared/live-frame.ts';

/** How much of the past fills the traces at the start, in windows of 100 ms: of many people, and of so few that a trace is as wide as a
 *  screen. */
const BACKFILL_FRAMES = 120;
const WIDE_BACKFILL_FRAMES = 400;
const WIDE_PEOPLE_MAX = 4;
const WINDOW_MS = 100;
/** Whether a person whom the service does not show can be shown again is asked after so long: another socket opens. */
const AGAIN_MS = 15_000;
/** Frames that are replayed then, so that the traces of the others have no gap. */
const AGAIN_FRAMES = 20;

export type WallFeedOptions = Readonly<{
  onFrame: (subjectId: string, frame: LiveFrame, nowMs: number) => void;
  onState: (state: ConnectionState) => void;
  /** The service shows this person no longer: erased, disabled, or without consent. */
  onGone: (subjectId: string) => void;
  /** It shows them, though they may be silent. */
  onShown: (subjectId: string) => void;
}>;

/** When the people change, a new socket opens first and the one before it closes once the new one is ready, so that nothing blinks. */
export class WallFeed {
  readonly #options: WallFeedOptions;
  #people = '';
  #againTimer: ReturnType<typeof setTimeout> | undefined;
  #current: LiveConnection | null = null;
  #former: LiveConnection[] = [];

  constructor(options: WallFeedOptions) {
    this.#options = options;
  }

  /** @param subjectIds uuids, at most 64 */
  show(subjectIds: readonly string[]): void {
    const people = subjectIds.toSorted().join(',');
    if (people === this.#people) return;
    this.#people = people;
    this.#begin(subjectIds);
  }

  /** With another credential: a socket that was refused does not try again by itself. */
  renew(): void {
    this.#begin(this.#people.split(',').filter((id) => id !== ''));
  }

  close(): void {
    this.show([]);
  }

  #begin(subjectIds: readonly string[]): void {
    this.#open(subjectIds, subjectIds.length <= WIDE_PEOPLE_MAX ? WIDE_BACKFILL_FRAMES : BACKFILL_FRAMES);
  }

  #open(subjectIds: readonly string[], backfillFrames: number): void {
    clearTimeout(this.#againTimer);
    this.#againTimer = undefined;
    if (this.#current !== null) this.#former.push(this.#current);
    this.#current = null;
    const [subject, ...also] = subjectIds;
    if (subject === undefined) this.#closeFormer();
    else this.#connect(subject, also, backfillFrames);
  }

  #connect(subject: string, also: readonly string[], backfillFrames: number): void {
    const { onFrame, onState, onGone, onShown } = this.#options;
    let isShown = this.#former.length === 0;
    if (isShown) onState('connecting');
    const isCurrent = (): boolean => this.#current === opened;
    const takeOver = (): void => {
      isShown = true;
      this.#closeFormer();
    };
    const opened: LiveConnection = openLiveConnection({
      baseUrl: location.origin,
      subject,
      also,
      channels: ['ecg', 'ppg'],
      after: Math.max(0, Math.floor(Date.now() / WINDOW_MS) - backfillFrames),
      token: () => '', // the cookie
      onFrame: (frame, nowMs) => {
        if (isCurrent()) onFrame(frame.subject, shownFrame(frame), nowMs);
      },
      onMessage: ({ type, subject: about }) => {
        if (!isCurrent()) return;
        if (type === 'ready' && !isShown) takeOver();
        if (type === 'ready' && about !== undefined) onShown(about);
        if (type !== 'gone' || about === undefined) return;
        onGone(about);
        this.#againTimer ??= setTimeout(() => this.#open([subject, ...also], AGAIN_FRAMES), AGAIN_MS);
      },
      onState: (state) => {
        if (!isCurrent()) return;
        if (!isShown && state !== 'connecting') takeOver();
        if (isShown) onState(state);
      },
    });
    this.#current = opened;
  }

  #closeFormer(): void {
    for (const connection of this.#former) connection.close();
    this.#former = [];
  }
}
