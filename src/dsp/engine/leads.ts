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

/** Samples of one lead that wait for the other leads: runs of `samples`, back to back, run i from sample index k0[i] on. */
type Lead = { frontier: number; samples: Float64Array; used: number; k0: number[]; n: number[]; runCount: number; mayMiss: boolean };

const keptSamples = 2048;
const noSamples = new Float64Array(0);

/** One block of aligned rows, shared by all groups of the thread: nothing of it outlives a call. */
const blockRows = 512;
const block: Float64Array[] = [];
const blockOf = (leads: number): Float64Array[] => {
  while (block.length < leads) block.push(new Float64Array(blockRows));
  return block;
};

export class LeadFeed {
  readonly #leads: readonly Lead[];
  readonly #taker: RowTaker;
  readonly #rows: Float64Array[] = [];
  /** First sample index that has not gone on; -1 before the first sample. */
  #k = -1;

  constructor(leadCount: number, taker: RowTaker) {
    this.#leads = Array.from({ length: leadCount }, () => ({
      frontier: -1,
      samples: noSamples,
      used: 0,
      k0: [],
      n: [],
      runCount: 0,
      mayMiss: false,
    }));
    this.#taker = taker;
  }

  /** First sample index that has not gone on; -1 before the first sample. */
  get k(): number {
    return this.#k;
  }

  /** Room for a run of one lead, to be filled with physical values by the caller before advance().
   *  Runs of a lead come in order and do not overlap; what lies before its frontier is the caller's to cut off.
   *  @param mayMiss may it hold NaN?  @returns where in samplesOf(lead) the run begins */
  room(lead: number, k0: number, n: number, mayMiss: boolean): number {
    const l = this.#leads[lead]!;
    if (l.used + n > l.samples.length) {
      const grown = new Float64Array(Math.max(l.used + n, Math.min(2 * l.samples.length, l.used + n + 1024)));
      grown.set(l.samples.subarray(0, l.used));
      l.samples = grown;
    }
    const last = l.runCount - 1;
    if (last >= 0 && l.k0[last]! + l.n[last]! === k0) l.n[last]! += n;
    else {
      l.k0[l.runCount] = k0;
      l.n[l.runCount++] = n;
    }
    const at = l.used;
    l.used += n;
    l.frontier = k0 + n;
    l.mayMiss ||= mayMiss;
    return at;
  }

  /** The buffer that room() spoke of; valid until the next call of anything else. */
  samplesOf(lead: number): Float64Array {
    return this.#leads[lead]!.samples;
  }

  /** First sample index that a lead has not seen; -1 before its first. */
  frontier(lead: number): number {
    return this.#leads[lead]!.frontier;
  }

  /** Nothing more of a lead before index k. */
  pass(lead: number, k: number): void {
    const l = this.#leads[lead]!;
    if (k > l.frontier) l.frontier = k;
  }

  /** First sample index that some lead has not seen. */
  get seen(): number {
    let seen = Number.POSITIVE_INFINITY;
    for (let l = 0; l < this.#leads.length; l++) seen = Math.min(seen, this.#leads[l]!.frontier);
    return seen;
  }

  /** Hands on what all leads have seen.  @returns false when there is nothing new */
  advance(): boolean {
    const to = this.seen;
    if (this.#k < 0 && !this.#begin()) return false;
    if (to <= this.#k) return false;
    this.#process(to);
    return true;
  }

  /** Hands on what any lead has seen, and `gapCount` missing rows after it.  @returns false before the first sample */
  flush(gapCount: number): boolean {
    if (this.#k < 0 && !this.#begin()) return false;
    let to = this.#k;
    for (const lead of this.#leads) to = Math.max(to, lead.frontier);
    this.#process(to);
    this.#skip(to + gapCount);
    return true;
  }

  #begin(): boolean {
    let first = Number.POSITIVE_INFINITY;
    for (const lead of this.#leads) if (lead.runCount > 0) first = Math.min(first, lead.k0[0]!);
    if (first === Number.POSITIVE_INFINITY) return false;
    this.#k = first;
    this.#taker.begin(first);
    return true;
  }

  /** Rows [#k, to), of which every lead has seen all. */
  #process(to: number): void {
    const leads = this.#leads;
    const only = leads[0]!;
    if (this.#sameRun() && only.k0[0]! + only.n[0]! === to) {
      this.#skip(only.k0[0]!);
      let mayMiss = false;
      for (let l = 0; l < leads.length; l++) {
        this.#rows[l] = leads[l]!.samples;
        mayMiss ||= leads[l]!.mayMiss;
      }
      this.#push(this.#rows, only.n[0]!, mayMiss);
      for (let l = 0; l < leads.length; l++) this.#clear(leads[l]!);
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
    for (const lead of leads) this.#drop(lead, to);
  }

  /** Do all leads hold one run, the same? Nearly always: then nothing needs to be copied. */
  #sameRun(): boolean {
    const leads = this.#leads;
    const [k0, n] = [leads[0]!.k0[0], leads[0]!.n[0]];
    for (let l = 0; l < leads.length; l++) {
      const lead = leads[l]!;
      if (lead.runCount !== 1 || lead.k0[0] !== k0 || lead.n[0] !== n) return false;
    }
    return true;
  }

  /** First index from #k on that any lead holds, at most `to`. */
  #nextPresent(to: number): number {
    let next = to;
    for (const lead of this.#leads)
      for (let r = 0; r < lead.runCount; r++)
        if (lead.k0[r]! + lead.n[r]! > this.#k) {
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
      for (const lead of this.#leads)
        for (let r = 0; r < lead.runCount; r++) {
          const runEnd = lead.k0[r]! + lead.n[r]!;
          if (lead.k0[r]! <= covered && runEnd > covered) {
            covered = runEnd;
            again = true;
          }
        }
    }
    const n = Math.min(end, covered) - start;
    for (let l = 0; l < this.#leads.length; l++) {
      const lead = this.#leads[l]!;
      const target = out[l]!;
      target.fill(Number.NaN, 0, n);
      let at = 0;
      for (let r = 0; r < lead.runCount; r++) {
        const from = Math.max(start, lead.k0[r]!);
        const to = Math.min(start + n, lead.k0[r]! + lead.n[r]!);
        if (to > from) {
          // by hand: a view for some sixty samples costs more than they do
          const samples = lead.samples;
          const source = at - lead.k0[r]!;
          for (let k = from; k < to; k++) target[k - start] = samples[source + k]!;
        }
        at += lead.n[r]!;
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

  #clear(lead: Lead): void {
    lead.used = 0;
    lead.runCount = 0;
    lead.mayMiss = false;
    // grown by a reload from storage: 10,000 streams must not keep that
    if (lead.samples.length > keptSamples) lead.samples = noSamples;
  }

  /** Drops a lead's samples before index k. */
  #drop(lead: Lead, k: number): void {
    let at = 0;
    let r = 0;
    while (r < lead.runCount && lead.k0[r]! + lead.n[r]! <= k) at += lead.n[r++]!;
    if (r === lead.runCount) {
      this.#clear(lead);
      return;
    }
    const cut = Math.max(0, k - lead.k0[r]!);
    lead.runCount -= r;
    if (r > 0)
      for (let i = 0; i < lead.runCount; i++) {
        lead.k0[i] = lead.k0[i + r]!;
        lead.n[i] = lead.n[i + r]!;
      }
    lead.k0[0]! += cut;
    lead.n[0]! -= cut;
    lead.samples.copyWithin(0, at + cut, lead.used);
    lead.used -= at + cut;
  }
}
