/** Rows on their way out of a worker: six numbers each, so that no object is made for them. */

/** First number of a row. */
export const rowCode = { ecgBeat: 0, ppgBeat: 1, quality: 2, feature: 16 } as const;
/** code, channelNo, t µs, then: a beat ibi, verdict (see packVerdict), flag; a quality sqi, flag; a feature value, flag. */
export const rowWidth = 6;

/** Steps of a confidence, per unit. */
export const CONFIDENCE_STEPS = 100;
const VERDICT_BITS = 8;

/** Kind, reason and confidence of a beat as one number. @param confidence rounded to hundredths; NaN: unknown */
export const packVerdict = (kind: number, reason: number, confidence: number): number =>
  ((Number.isNaN(confidence) ? 0 : Math.round(confidence * CONFIDENCE_STEPS) + 1) << VERDICT_BITS) | (kind << 6) | reason;

/** @param verdict of packVerdict */
export function readVerdict(verdict: number): { kind: number; reason: number; confidence: number } {
  const steps = (verdict >> VERDICT_BITS) - 1;
  return { kind: (verdict >> 6) & 3, reason: verdict & 63, confidence: steps < 0 ? Number.NaN : steps / CONFIDENCE_STEPS };
}

/** Rows as numbers, growing. */
export class RowBuffer {
  rows = new Float64Array(rowWidth * 8);
  count = 0;

  add(code: number, channelNo: number, tUs: number, a: number, b: number, c: number): void {
    const at = this.count * rowWidth;
    if (at + rowWidth > this.rows.length) {
      const grown = new Float64Array(this.rows.length * 2);
      grown.set(this.rows);
      this.rows = grown;
    }
    const r = this.rows;
    r[at] = code;
    r[at + 1] = channelNo;
    r[at + 2] = tUs;
    r[at + 3] = a;
    r[at + 4] = b;
    r[at + 5] = c;
    this.count++;
  }

  /** Moves the rows with t < endUs to the end of `out`; the rest stays. */
  moveBefore(endUs: number, out: RowBuffer): number {
    const { rows } = this;
    let kept = 0;
    let moved = 0;
    for (let i = 0; i < this.count; i++) {
      const at = i * rowWidth;
      if (rows[at + 2]! < endUs) {
        out.add(rows[at]!, rows[at + 1]!, rows[at + 2]!, rows[at + 3]!, rows[at + 4]!, rows[at + 5]!);
        moved++;
      } else rows.copyWithin(rowWidth * kept++, at, at + rowWidth);
    }
    this.count = kept;
    return moved;
  }
}
