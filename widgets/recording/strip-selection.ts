/** Calipers, and the moment, stretch or beat that is picked, on the strip of a recording. To begin one by a key or a control ends the
 *  other; with Shift a pointer measures what is picked. */
import { pickBeat, stepBeat } from './recording-pick.ts';
import type { Pick, PickMode } from './recording-pick.ts';
import type { Does } from './recording-pointers.ts';
import type { Beat } from './recording-source.ts';

export type Calipers = Readonly<{ fromMs: number; toMs: number; marchOut: boolean }>;

/** From the middle of the strip to each of the calipers at first, ms. */
const HALF_MS = 400;

export class StripSelection {
  /** null: nothing is measured. */
  calipers: Calipers | null = null;
  mode: PickMode = 'off';
  pick: Pick | null = null;
  /** When a pointer came down. */
  #before: Readonly<{ calipers: Calipers | null; pick: Pick | null }> | null = null;

  get isMeasuring(): boolean {
    return this.calipers !== null;
  }

  toggleCalipers(atMs: number): void {
    this.calipers = this.isMeasuring ? null : { fromMs: atMs - HALF_MS, toMs: atMs + HALF_MS, marchOut: false };
  }

  toggleMarchOut(): void {
    this.calipers &&= { ...this.calipers, marchOut: !this.calipers.marchOut };
  }

  setCaliper(end: 'from' | 'to', atMs: number): void {
    this.calipers &&= { ...this.calipers, [`${end}Ms`]: atMs };
  }

  /** What is picked from now on. */
  pickBy(mode: PickMode): void {
    this.mode = mode;
    if (mode !== 'off') this.calipers = null;
  }

  /** Another recording. */
  restart(): void {
    [this.calipers, this.pick] = [null, null];
  }

  /** What is between the calipers.  @returns null: nothing is measured */
  get measured(): Pick | null {
    if (this.calipers === null) return null;
    const { fromMs, toMs } = this.calipers;
    return { fromMs: Math.min(fromMs, toMs), toMs: Math.max(fromMs, toMs), beat: null };
  }

  /** The next beat after the one that is picked, or the one at a time, or the next after that time.  @returns null: there is none */
  nextBeat(beats: readonly Beat[], atMs: number, forward: boolean): Pick | null {
    if (this.pick !== null && this.pick.beat !== null) return stepBeat(beats, this.pick.fromMs, forward);
    const near = pickBeat(beats, atMs);
    return near.beat === 'added' ? stepBeat(beats, atMs, forward) : near;
  }

  /** Shift measures, whatever else is on. */
  does({ shiftKey }: PointerEvent): Does {
    return this.isMeasuring || shiftKey ? 'measure' : this.mode === 'stretch' ? 'pick' : 'move';
  }

  begin(does: Does, atMs: number): void {
    const { calipers, pick } = this;
    this.#before = { calipers, pick };
    if (does === 'measure') this.calipers = { marchOut: calipers?.marchOut ?? false, fromMs: atMs, toMs: atMs };
    else if (does === 'pick') this.pick = { fromMs: atMs, toMs: atMs, beat: null };
  }

  /** As it was when the pointer came down. */
  takeBack(): void {
    Object.assign(this, this.#before);
  }

  drag(does: Does, atMs: number): void {
    if (does === 'measure') this.setCaliper('to', atMs);
    else if (does === 'pick') this.pick &&= { ...this.pick, toMs: atMs };
  }
}
