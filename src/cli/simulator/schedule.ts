/** An endless list of events in time, generated as it is read and dropped behind the reader. */

export type Timed = Readonly<{
  /** Seconds since the device's zero. */
  atSec: number;
}>;

/** Events of one process in ascending time. `make` is called for each event in order, so events depend on the seed alone, not on how far
 *  each caller has read. */
export class Schedule<T extends Timed> {
  readonly #make: (previous: T | null) => T;
  readonly #keepSec: number;
  #events: T[] = [];
  #last: T | null = null;

  /** @param keepSec events this much older than the last request are dropped */
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

  /** Drops events that no caller will ask for again; keeps the event in force at the bound. */
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
