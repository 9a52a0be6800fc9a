/** Aligns the leads of one channel group: passes rows on once every lead has been seen up to there, in whatever order the runs came. */

/** Where aligned rows go. */
export type RowTaker = {
  /** The first sample of any lead. */
  begin(k: number): void;
  /** n rows from index k on; of a lead that is missing they hold NaN. @param mayMiss may a whole row be missing? */
  rows(leads: readonly Float64Array[], n: number, k: number, mayMiss: boolean): void;
  /** No lead has [fromK, toK). */
  gap(fromK: number, toK: number): void;
};

/** A lead keeps a buffer for as many samples: a second and a bit, since devices send about one second at a time, which would otherwise be
 *  allocated anew each second; at least KEPT_MIN, several seconds of small rates, and at most KEPT_MAX, 512 kB. */
const KEPT_SEC = 1.25;
const KEPT_MIN = 2048;
const KEPT_MAX = 65_536;
const noSamples = new Float64Array(0);

/** Samples of one lead that wait for the other leads, or for a whole second: runs, back to back. Of many streams each packet finds its lead
 *  no longer in the cache, so what a packet needs to be put down is in this one object. */
export class Lead {
  /** First sample index that it has not seen; -1 before its first. */
  frontier = -1;
  /** Nothing is to be done before the frontier is here. */
  dueK = -1;
  samples: Float64Array = noSamples;
  used = 0;
  runCount = 0;
  mayMiss = false;
  /** Of each run: its first sample index, and where in `samples` it begins. */
  readonly k0: number[] = [];
  readonly at: number[] = [];
  /** Where the last run ends. */
  #endK = -1;
  readonly #keptSamples: number;

  constructor(keptSamples: number) {
    this.#keptSamples = keptSamples;
  }

  /** Room in `samples` for a run, to be filled with physical values by the caller before LeadFeed.advance().
   *  Runs come in order and do not overlap; what lies before the frontier is the caller's to cut off.
   *  @param mayMiss may it hold NaN?  @returns where in `samples` the run begins */
  room(k0: number, n: number, mayMiss: boolean): number {
    const at = this.used;
    if (at + n > this.samples.length) this.#grow(at + n);
    if (this.runCount === 0 || this.#endK !== k0) {
      this.k0[this.runCount] = k0;
      this.at[this.runCount++] = at;
    }
    this.used = at + n;
    this.frontier = this.#endK = k0 + n;
    this.mayMiss ||= mayMiss;
    return at;
  }

  #grow(atLeast: number): void {
    const ample = Math.min(2 * this.samples.length, atLeast + 1024);
    // not beyond what is kept, unless it has to: it would be dropped
    const size = atLeast <= this.#keptSamples ? Math.min(ample, this.#keptSamples) : ample;
    const grown = new Float64Array(Math.max(atLeast, size));
    grown.set(this.samples.subarray(0, this.used));
    this.samples = grown;
  }

  /** Nothing more before index k. */
  pass(k: number): void {
    if (k > this.frontier) this.frontier = k;
  }

  /** First sample index after a run. */
  endOf(run: number): number {
    return this.k0[run]! + (run + 1 < this.runCount ? this.at[run + 1]! : this.used) - this.at[run]!;
  }

  clear(): void {
    this.used = 0;
    this.runCount = 0;
    this.mayMiss = false;
    // grown by a reload from storage: 10,000 streams must not keep that
    if (this.samples.length > this.#keptSamples) this.samples = noSamples;
  }

  /** Drops samples before index k. */
  drop(k: number): void {
    let r = 0;
    while (r < this.runCount && this.endOf(r) <= k) r++;
    if (r === this.runCount) {
      this.clear();
      return;
    }
    const cut = Math.max(0, k - this.k0[r]!);
    const from = this.at[r]! + cut;
    this.runCount -= r;
    for (let i = 0; i < this.runCount; i++) {
      this.k0[i] = this.k0[i + r]!;
      this.at[i] = Math.max(0, this.at[i + r]! - from);
    }
    this.k0[0]! += cut;
    this.samples.copyWithin(0, from, this.used);
    this.used -= from;
  }
}

/** One block of aligned rows, shared by all groups of the thread: nothing of it outlives a call. */
const blockRows = 512;
const block: Float64Array[] = [];
const blockOf = (leads: number): Float64Array[] => {
  while (block.length < leads) block.push(new Float64Array(blockRows));
  return block;
};

export class LeadFeed {
  readonly leads: readonly Lead[];
  readonly #taker: RowTaker;
  readonly #rows: Float64Array[] = [];
  /** First sample index that has not gone on; -1 before the first sample. */
  #k = -1;

  /** @param rateNanoHz of the aligned rows */
  constructor(leadCount: number, rateNanoHz: number, taker: RowTaker) {
    const keptSamples = Math.min(KEPT_MAX, Math.max(KEPT_MIN, Math.ceil((KEPT_SEC * rateNanoHz) / 1e9)));
    this.leads = Array.from({ length: leadCount }, () => new Lead(keptSamples));
    this.#taker = taker;
  }

  /** First sample index that has not gone on; -1 before the group has begun. */
  get k(): number {
    return this.#k;
  }

  /** Nothing is to be done before every lead has been seen up to index k. */
  waitFor(k: number): void {
    for (let l = 0; l < this.leads.length; l++) this.leads[l]!.dueK = k;
  }

  /** First sample index that some lead has not seen. */
  get seen(): number {
    let seen = Number.POSITIVE_INFINITY;
    for (let l = 0; l < this.leads.length; l++) seen = Math.min(seen, this.leads[l]!.frontier);
    return seen;
  }

  /** Hands on what all leads have seen.  @returns false when there is nothing new */
  advance(): boolean {
    const to = this.seen;
    if (this.#k < 0 && !this.#begin(to)) return false;
    if (to <= this.#k) return false;
    this.#process(to);
    return true;
  }

  /** Hands on what any lead has seen, and `gapCount` missing rows after it.  @returns false before the first sample */
  flush(gapCount: number): boolean {
    if (this.#k < 0 && !this.#begin(Number.POSITIVE_INFINITY)) return false;
    let to = this.#k;
    for (const lead of this.leads) to = Math.max(to, lead.frontier);
    this.#process(to);
    this.#skip(to + gapCount);
    return true;
  }

  /** Begins with the first sample of any lead, once no other can have an earlier one: runs of several leads come in any order.
   *  @param seen first sample index that some lead has not seen */
  #begin(seen: number): boolean {
    let first = Number.POSITIVE_INFINITY;
    for (const lead of this.leads) if (lead.runCount > 0) first = Math.min(first, lead.k0[0]!);
    if (first === Number.POSITIVE_INFINITY || first > seen) return false;
    this.#k = first;
    this.#taker.begin(first);
    return true;
  }

  /** Rows [#k, to), of which every lead has seen all. */
  #process(to: number): void {
    const leads = this.leads;
    const only = leads[0]!;
    if (this.#sameRun() && only.endOf(0) === to) {
      this.#skip(only.k0[0]!);
      let mayMiss = false;
      for (let l = 0; l < leads.length; l++) {
        this.#rows[l] = leads[l]!.samples;
        mayMiss ||= leads[l]!.mayMiss;
      }
      this.#push(this.#rows, only.used, mayMiss);
      for (let l = 0; l < leads.length; l++) leads[l]!.clear();
      return;
    }
    const out = blockOf(leads.length);
    while (this.#k < to) {
      const start = this.#nextPresent(to);
      this.#skip(start);
      if (start >= to) break;
      const n = this.#gather(out, start, Math.min(to, start + blockRows));
      this.#push(out, n, true);
    }
    for (const lead of leads) lead.drop(to);
  }

  /** Do all leads hold one run, the same? Nearly always: then nothing needs to be copied. */
  #sameRun(): boolean {
    const leads = this.leads;
    const { k0, used } = leads[0]!;
    for (let l = 0; l < leads.length; l++) {
      const lead = leads[l]!;
      if (lead.runCount !== 1 || lead.k0[0] !== k0[0] || lead.used !== used) return false;
    }
    return true;
  }

  /** First index from #k on that any lead holds, at most `to`. */
  #nextPresent(to: number): number {
    let next = to;
    for (const lead of this.leads)
      for (let r = 0; r < lead.runCount; r++)
        if (lead.endOf(r) > this.#k) {
          next = Math.min(next, Math.max(this.#k, lead.k0[r]!));
          break;
        }
    return next;
  }

  /** Copies rows from `start` on, as long as some lead holds each.  @returns rows copied */
  #gather(out: Float64Array[], start: number, end: number): number {
    let covered = start;
    for (let again = true; again;) {
      again = false;
      for (const lead of this.leads)
        for (let r = 0; r < lead.runCount; r++) {
          const runEnd = lead.endOf(r);
          if (lead.k0[r]! <= covered && runEnd > covered) {
            covered = runEnd;
            again = true;
          }
        }
    }
    const n = Math.min(end, covered) - start;
    for (let l = 0; l < this.leads.length; l++) {
      const lead = this.leads[l]!;
      const target = out[l]!;
      target.fill(Number.NaN, 0, n);
      const { samples } = lead;
      for (let r = 0; r < lead.runCount; r++) {
        const from = Math.max(start, lead.k0[r]!);
        const to = Math.min(start + n, lead.endOf(r));
        const source = lead.at[r]! - lead.k0[r]!;
        // by hand: a view for some sixty samples costs more than they do
        for (let k = from; k < to; k++) target[k - start] = samples[source + k]!;
      }
    }
    return n;
  }

  #push(leads: readonly Float64Array[], n: number, mayMiss: boolean): void {
    this.#taker.rows(leads, n, this.#k, mayMiss);
    this.#k += n;
  }

  #skip(k: number): void {
    if (k <= this.#k) return;
    this.#taker.gap(this.#k, k);
    this.#k = k;
  }
}
