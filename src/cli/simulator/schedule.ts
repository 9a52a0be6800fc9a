/** An endless list of events in time, generated as far as it is read and forgotten behind the reader. */

export type Timed = Readonly<{
  /** Seconds since the device's zero. */
  atSec: number;
}>;

/** Events of one process in ascending time. `make` is called for one event after the other, so the events depend on the seed alone
 *  and not on how far each caller looked. */
export class Schedule<T extends Timed> {
  readonly #make: (previous: T | null) => T;
  readonly #keepSec: number;
  #events: T[] = [];
  #last: T | null = null;

  /** @param keepSec events this much older than what was asked for last are forgotten */
  constructor(keepSec: number, make: (previous: T | null) => T) {
    this.#make = make;
    this.#keepSec = keepSec;
  }

  /** Events with fromSec <= atSec < toSec. */
  between(fromSec: number, toSec: number): T[] {
    this.#fill(toSec);
    return this.#events.filter((event) => event.atSec >= fromSec && event.atSec < toSec);
  }

  /** The event in force at a time: the latest with atSec <= timeSec; the first one before any has begun. */
  at(timeSec: number): T {
    this.#fill(timeSec);
    let found = this.#events[0]!;
    for (const event of this.#events) {
      if (event.atSec > timeSec) break;
      found = event;
    }
    return found;
  }

  /** Forgets what no caller will ask for again; one event in force before the bound is kept. */
  forget(beforeSec: number): void {
    const bound = beforeSec - this.#keepSec;
    let drop = 0;
    while (drop + 1 < this.#events.length && this.#events[drop + 1]!.atSec < bound) drop++;
    if (drop > 0) this.#events = this.#events.slice(drop);
  }

  #fill(toSec: number): void {
    while (this.#last === null || this.#last.atSec < toSec) {
      const event = this.#make(this.#last);
      this.#last = event;
      this.#events.push(event);
    }
  }
}
