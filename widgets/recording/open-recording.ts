/** A recording that is open: all that is read of it, what of that could not be read, and how it goes on. */
import { isRefusal } from '../../sdk/retry.ts';
import type { Session } from '../shared/session.ts';
import { Retry } from '../shared/ask-again.ts';
import { RecordingOverviews } from './recording-overview.ts';
import { RecordingPages } from './recording-pages.ts';
import { RecordingSource } from './recording-source.ts';
import type { Mark } from './recording-source.ts';

/** Of a recording that goes on: how often to ask how far it has got, ms. */
const REFRESH_MS = 5000;
/** Of one that does not go on it is asked this often whether it may still be seen. */
const LOOK_MS = 30_000;
/** Episodes begin while it goes on, and others mark it, also when it has ended: how often they are asked for, ms. */
const MARKS_MS = 30_000;

/** The whole recording and a day of it; the page of rows; the strip. */
export const allViews = ['wholes', 'page', 'strip'] as const;
export type View = (typeof allViews)[number];
/** Of what something could not be read; 'rows': of the signal of the page. */
type Part = View | 'rows' | 'marks';

const isSame = (one: readonly Mark[], other: readonly Mark[]): boolean => JSON.stringify(one) === JSON.stringify(other);

/** Who shows it. */
type Viewer = Readonly<{
  /** @param views none: all */
  draw: (...views: readonly View[]) => void;
  /** Others have marked it, or changed what is marked. */
  marked: () => void;
  /** What is said of it has changed. */
  update: () => void;
  /** It may no longer be seen. */
  refuse: (error: unknown) => void;
  titleOf: (english: string) => string;
}>;

export class OpenRecording {
  readonly source: RecordingSource;
  readonly pages: RecordingPages;
  readonly overviews: RecordingOverviews;
  marks: readonly Mark[] = [];
  readonly lacking = new Set<Part>();
  /** The last question for what is new had an answer. */
  isUpToDate = true;
  /** Those before the last answer. */
  #formerMarks: readonly Mark[] = [];
  #areMarksRead = false;
  #marksAskedMs = 0;
  /** Numbers of the last question for them, and of the one whose answer is shown. */
  #marksQuestion = 0;
  #marksAnswered = 0;
  readonly #marksRetry = new Retry();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #viewer: Viewer;
  readonly #closing: AbortSignal;

  /** @param closing aborts when it is closed  @returns null: it was, meanwhile */
  static async open(session: Session, streamId: string, viewer: Viewer, closing: AbortSignal): Promise<OpenRecording | null> {
    const source = await RecordingSource.open(session, streamId, () => viewer.draw('strip'), closing);
    return closing.aborted ? null : new OpenRecording(source, viewer, closing);
  }

  private constructor(source: RecordingSource, viewer: Viewer, closing: AbortSignal) {
    [this.source, this.#viewer, this.#closing] = [source, viewer, closing];
    this.pages = new RecordingPages(source, (layer) => (layer === 'signal' ? viewer.draw('page') : viewer.draw('page', 'strip')));
    this.overviews = new RecordingOverviews(source, () => viewer.draw('wholes'));
    closing.addEventListener('abort', () => {
      clearTimeout(this.#timer);
      this.#marksRetry.stop();
      for (const part of [this.pages, this.overviews, source]) part.close();
    });
  }

  /** Until they are here. */
  loadMarks(): void {
    this.#marksAskedMs = performance.now();
    const before = this.#areMarksRead ? this.marks : null;
    this.readMarks(this.#closing).then(
      () => {
        this.#marksRetry.stop();
        this.lack('marks', false);
        if (before !== null && before === this.#formerMarks && !isSame(before, this.marks)) this.#viewer.marked();
      },
      (error: unknown) => {
        if (this.#closing.aborted) return;
        this.lack('marks', true);
        this.#marksRetry.later(error, () => this.loadMarks());
      },
    );
  }

  /** An answer that comes later than one to a later question is left: it may lack what was saved in between. */
  async readMarks(signal: AbortSignal): Promise<void> {
    const question = ++this.#marksQuestion;
    const marks = await this.source.marks(signal, this.#viewer.titleOf);
    if (this.#closing.aborted || question < this.#marksAnswered) return;
    this.#formerMarks = this.marks;
    [this.marks, this.#areMarksRead, this.#marksAnswered] = [marks, true, question];
    this.#changed();
  }

  /** For a search: where they are not here yet, of a question of its own, which ends with the search. */
  async knownMarks(signal: AbortSignal): Promise<readonly Mark[]> {
    return this.#areMarksRead ? this.marks : await this.source.marks(signal, this.#viewer.titleOf);
  }

  /** While it is being recorded, what comes is added at its end; what is shown stays where it is. Who may no longer see the recording,
   *  because its person has withdrawn a consent or was erased, or the session has ended, is shown nothing more of it. */
  follow(): void {
    this.#timer = setTimeout(() => void this.#refresh(), this.source.goesOn ? REFRESH_MS : LOOK_MS);
  }

  async #refresh(): Promise<void> {
    try {
      const fromMs = await this.source.refresh(this.#closing);
      if (this.#closing.aborted) return;
      if (fromMs !== null) this.#renewAfter(fromMs);
      if (!document.hidden && performance.now() - this.#marksAskedMs > MARKS_MS - REFRESH_MS / 2) this.loadMarks();
      this.#setUpToDate(true);
    } catch (error) {
      if (this.#closing.aborted) return;
      if (isRefusal(error)) return this.#viewer.refuse(error);
      this.#setUpToDate(false);
    }
    this.follow();
  }

  #renewAfter(ms: number): void {
    this.pages.renewAfter(ms);
    this.overviews.renewAfter(ms);
    this.#changed();
  }

  #changed(): void {
    this.#viewer.draw();
    this.#viewer.update();
  }

  #setUpToDate(isUpToDate: boolean): void {
    if (isUpToDate === this.isUpToDate) return;
    this.isUpToDate = isUpToDate;
    this.#viewer.update();
  }

  /** Whether something of a part could not be read. */
  lack(part: Part, isLacking: boolean): void {
    if (isLacking === this.lacking.has(part)) return;
    if (isLacking) this.lacking.add(part);
    else this.lacking.delete(part);
    this.#viewer.update();
  }

  /** All that could not be read: also what was refused, which is not asked for by itself. */
  askAgain(): void {
    for (const part of [this.source, this.pages, this.overviews]) part.askAgain();
    if (this.lacking.has('marks')) this.loadMarks();
    this.#viewer.draw();
  }
}
