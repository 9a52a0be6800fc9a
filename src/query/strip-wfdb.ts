/** A strip as WFDB: one record per rate, as the two files of each in a ZIP archive. */
import { encodeRecord, MISSING_SAMPLE } from '../formats/wfdb.ts';
import type { LeadToWrite } from '../formats/wfdb.ts';
import { zipStored } from '../formats/zip.ts';
import { gridCeil } from '../signal.ts';
import type { SampleSegment } from './samples.ts';

/** Largest value of format 16; the one below its least means "missing". */
const FORMAT_16_MAX = 32_767;

/** @param segments of any channels  @param epochNs Unix ns of grid index 0  @param range Unix ns, [from, to)
 *  @returns a ZIP of NAME.hea and NAME.dat; with several rates NAME_<rate in Hz> for each */
export function stripWfdb(
  segments: readonly SampleSegment[],
  epochNs: bigint,
  range: Readonly<{ fromNs: bigint; toNs: bigint }>,
  name: string,
): Uint8Array {
  const rates = [...new Set(segments.map((segment) => segment.rateNanoHz))].toSorted((a, b) => b - a);
  const entries = rates.flatMap((rateNanoHz) => {
    const record = rates.length === 1 ? name : `${name}_${String(rateNanoHz / 1e9).replace('.', 'p')}`;
    const own = segments.filter((segment) => segment.rateNanoHz === rateNanoHz);
    const from = gridCeil(range.fromNs - epochNs, rateNanoHz);
    const length = gridCeil(range.toNs - epochNs, rateNanoHz) - from;
    const leads = [...new Set(own.map((segment) => segment.channelNo))].map((channelNo) =>
      leadOf(
        own.filter((segment) => segment.channelNo === channelNo),
        from,
        length,
      ),
    );
    const comments = [`start_unix_ns ${range.fromNs}`];
    const { hea, dat } = encodeRecord({ name: record, fs: rateNanoHz / 1e9, leads, comments });
    return [
      { name: `${record}.hea`, bytes: hea },
      { name: `${record}.dat`, bytes: dat },
    ];
  });
  return zipStored(entries);
}

/** One lead on the grid, gaps missing. Values that format 16 cannot carry (24 bits, fractions) are put on a scale that it can. */
function leadOf(segments: readonly SampleSegment[], from: number, length: number): LeadToWrite {
  const { code, gain, baseline, unit } = segments[0]!;
  let most = 0;
  let whole = Number.isInteger(baseline);
  for (const { samples } of segments) {
    for (let i = 0; i < samples.length; i++) {
      const value = samples[i]!;
      if (Math.abs(value) > most) most = Math.abs(value);
      if (!Number.isInteger(value)) whole = false;
    }
  }
  const fits = whole && most <= FORMAT_16_MAX;
  const scale = fits ? 1 : FORMAT_16_MAX / Math.max(Number.MIN_VALUE, most + Math.abs(baseline));
  const out = new Int32Array(length).fill(MISSING_SAMPLE);
  for (const { samples, k0 } of segments) {
    for (let i = 0; i < samples.length; i++) {
      const value = samples[i]!;
      if (Number.isFinite(value)) out[k0 + i - from] = fits ? value : Math.round((value - baseline) * scale);
    }
  }
  return { name: code, gain: gain * scale, baseline: fits ? baseline : 0, unit, samples: out };
}
