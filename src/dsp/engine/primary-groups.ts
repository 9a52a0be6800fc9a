/** Which group gives a stream's heart rate and variability, where its first lead is in several: a device that changed the rate of one lead
 *  and not of the others has both groups at the same time.
 *
 *  In each second it is the one in which the first lead has samples; where it has none in any, one in which another lead has. Of several,
 *  that of the greatest rate. A value is that of the second that it ends with, so what is given hangs on samples alone: it waits until they
 *  are known. The first lead begins anew with its new rate: in the first minutes values with a long window are missing. */
import type { QualityFlag } from '../../signal.ts';
import { positionUs } from '../kernels/segment-grid.ts';
import type { ValueSink } from '../hrv/values.ts';
import type { BeatChain, RowSink } from './beat-chain.ts';

const secondUs = 1_000_000;
/** How much of a group there is in a second. */
const rank = { nothing: 0, otherLead: 1, firstLead: 2 } as const;

/** By second: what a group has of it. Its first lead is the stream's. */
export class SecondsSeen {
  readonly #rateNanoHz: number;
  /** Ascending: rows come in order. */
  readonly #ranks = new Map<number, number>();

  constructor(rateNanoHz: number) {
    this.#rateNanoHz = rateNanoHz;
  }

  rows(leads: readonly Float64Array[], leadCount: number, n: number, k: number): void {
    for (let i = 0; i < n; i++) {
      const sec = Math.floor(positionUs(k + i, this.#rateNanoHz) / secondUs);
      const known = this.#ranks.get(sec) ?? rank.nothing;
      if (known === rank.firstLead) continue;
      let here: number = rank.nothing;
      for (let l = 0; l < leadCount; l++)
        if (!Number.isNaN(leads[l]![i]!)) here = Math.max(here, l === 0 ? rank.firstLead : rank.otherLead);
      if (here > known) this.#ranks.set(sec, here);
    }
  }

  rankOf(sec: number): number {
    return this.#ranks.get(sec) ?? rank.nothing;
  }

  forgetBefore(beforeSec: number): void {
    for (const sec of this.#ranks.keys()) {
      if (sec >= beforeSec) break;
      this.#ranks.delete(sec);
    }
  }
}

type Member = { readonly rateNanoHz: number; readonly seen: SecondsSeen; chain: BeatChain | null };
type Waiting = Readonly<{ of: Member; method: number; channelNo: number; tUs: number; value: number; flag: QualityFlag }>;

export class PrimaryGroups {
  readonly #members: Member[] = [];
  readonly #sink: ValueSink;
  #waiting: Waiting[] = [];

  constructor(sink: ValueSink) {
    this.#sink = sink;
  }

  /** @param build makes the group's chain
   *  @param rows where what is the group's own goes: beats, quality, values of a channel */
  add(rateNanoHz: number, rows: RowSink, build: (sink: RowSink, seen: SecondsSeen) => BeatChain): BeatChain {
    const member: Member = { rateNanoHz, seen: new SecondsSeen(rateNanoHz), chain: null };
    const sink: RowSink = {
      beat: (...row) => rows.beat(...row),
      quality: (...row) => rows.quality(...row),
      value: (method, channelNo, tUs, value, flag) => {
        if (channelNo >= 0) rows.value(method, channelNo, tUs, value, flag);
        else this.#waiting.push({ of: member, method, channelNo, tUs, value, flag });
      },
    };
    member.chain = build(sink, member.seen);
    this.#members.push(member);
    return member.chain;
  }

  /** Gives out what need not wait any longer. @param all the data end here */
  advance(all: boolean): void {
    const waiting: Waiting[] = [];
    let neededUs = Number.POSITIVE_INFINITY;
    for (const row of this.#waiting) {
      const given = this.#isGiven(row, all);
      if (given === true) this.#sink.value(row.method, row.channelNo, row.tUs, row.value, row.flag);
      else if (given === null) {
        waiting.push(row);
        neededUs = Math.min(neededUs, row.tUs);
      }
    }
    this.#waiting = waiting;
    for (const { chain } of this.#members) neededUs = Math.min(neededUs, chain!.finalUs);
    for (const { seen } of this.#members) seen.forgetBefore(Math.floor(neededUs / secondUs) - 1);
  }

  /** Null: not known yet. */
  #isGiven({ of, tUs }: Waiting, all: boolean): boolean | null {
    const sec = Math.floor((tUs - 1) / secondUs);
    const own = of.seen.rankOf(sec);
    let isKnown = true;
    for (const other of this.#members) {
      if (other === of) continue;
      const theirs = other.seen.rankOf(sec);
      const yields = other.rateNanoHz < of.rateNanoHz;
      if (theirs > own || (theirs === own && !yields)) return false;
      // more of the second may come of it
      if (!(own === rank.firstLead && yields) && !all && knownUs(other) < tUs) isKnown = false;
    }
    return isKnown ? true : null;
  }
}

/** Time before which it is known what samples a group has, µs. */
function knownUs({ chain, rateNanoHz }: Member): number {
  const { feed } = chain!;
  return positionUs(feed.k < 0 ? Math.max(0, feed.seen) : feed.k, rateNanoHz);
}
