/** Writes a strip as WFDB: one record per rate, as two files each, in a ZIP archive. */
import { PipelineError } from '../errors.ts';
import { MISSING_SAMPLE } from '../formats/wfdb-samples.ts';
import { encodeRecord } from '../formats/wfdb-write.ts';
import type { LeadToWrite } from '../formats/wfdb-write.ts';
import { zipStored } from '../formats/zip.ts';
import { gridCeil } from '../signal.ts';
import type { SampleSegment } from './samples.ts';

/** Largest value of format 16; the one below its least means "missing". */
const FORMAT_16_MAX = 32_767;
/** Readers hold a baseline in 32 bits. */
const BASELINE_MAX = 2_147_483_647;
/** A header has nine decimal places and no exponent: these gains keep five digits. */
const GAIN_MIN = 1e-4;
const GAIN_MAX = 1e15;
/** Samples per archive, missing ones included: a minute of 64 channels at 2 kHz. One sample in a minute at 1 MHz takes as much room as a
 *  full minute. */
const PLACES_MAX = 8_000_000;

/** @param segments of any channels  @param epochNs Unix ns of grid index 0  @param range Unix ns, [from, to)
 *  @returns a ZIP of NAME.hea and NAME.dat; with several rates NAME_<rate in Hz> for each
 *  @throws PipelineError range_too_large */
export function stripWfdb(
  segments: readonly SampleSegment[],
  epochNs: bigint,
  range: Readonly<{ fromNs: bigint; toNs: bigint }>,
  name: string,
): Uint8Array {
  const channels = new Map(segments.map(({ channelNo, rateNanoHz }) => [channelNo, rateNanoHz]));
  const sec = Number(range.toNs - range.fromNs) / 1e9;
  const places = [...channels.values()].reduce((sum, rateNanoHz) => sum + (sec * rateNanoHz) / 1e9, 0);
  if (places > PLACES_MAX)
    throw new PipelineError(
      'range_too_large',
      `As WFDB this has ${Math.round(places)} places for samples, at most ${PLACES_MAX}: take less time, or CSV.`,
    );
  const rates = [...new Set(segments.map((segment) => segment.rateNanoHz))].toSorted((a, b) => b - a);
  const entries = rates.flatMap((rateNanoHz) => {
    const record = rates.length === 1 ? name : `${name}_${String(rateNanoHz / 1e9).replace('.', 'p')}`;
    const own = segments.filter((segment) => segment.rateNanoHz === rateNanoHz);
    const from = gridCeil(range.fromNs - epochNs, rateNanoHz);
    const length = gridCeil(range.toNs - epochNs, rateNanoHz) - from;
    const leads: LeadToWrite[] = [];
    const comments = [`start_unix_ns ${range.fromNs}`];
    for (const channelNo of new Set(own.map((segment) => segment.channelNo))) {
      const lead = leadOf(
        own.filter((segment) => segment.channelNo === channelNo),
        from,
        length,
      );
      if (typeof lead === 'string') comments.push(lead);
      else leads.push(lead);
    }
    const { hea, dat } = encodeRecord({ name: record, fs: rateNanoHz / 1e9, leads, comments });
    return [
      { name: `${record}.hea`, bytes: hea },
      { name: `${record}.dat`, bytes: dat },
    ];
  });
  return zipStored(entries);
}

/** Puts one lead on the grid; gaps become missing samples. Values that format 16 cannot carry (24 bits, fractions) are rescaled; a lead
 *  with negative gain is written inverted, which keeps its physical values.
 *  @returns the lead, or a sentence: no gain lets the format carry the values */
function leadOf(segments: readonly SampleSegment[], from: number, length: number): LeadToWrite | string {
  const { code, baseline, unit } = segments[0]!;
  const sign = segments[0]!.gain < 0 ? -1 : 1;
  const gain = Math.abs(segments[0]!.gain);
  let most = 0;
  let whole = Number.isInteger(baseline) && Math.abs(baseline) <= BASELINE_MAX;
  for (const { samples } of segments) {
    for (let i = 0; i < samples.length; i++) {
      const value = samples[i]!;
      if (Number.isFinite(value) && Math.abs(value) > most) most = Math.abs(value);
      if (!Number.isInteger(value)) whole = false;
    }
  }
  const fits = whole && most <= FORMAT_16_MAX;
  const scale = fits ? 1 : FORMAT_16_MAX / Math.max(Number.MIN_VALUE, most + Math.abs(baseline));
  const scaledGain = gain * scale;
  if (!(scaledGain >= GAIN_MIN && scaledGain <= GAIN_MAX)) return `channel ${code} is left out: gain ${sign * gain}, baseline ${baseline}`;
  const out = new Int32Array(length).fill(MISSING_SAMPLE);
  for (const { samples, k0 } of segments) {
    for (let i = 0; i < samples.length; i++) {
      const value = samples[i]!;
      if (Number.isFinite(value)) out[k0 + i - from] = sign * (fits ? value : Math.round((value - baseline) * scale));
    }
  }
  return { name: code, gain: scaledGain, baseline: fits && baseline !== 0 ? sign * baseline : 0, unit, samples: out };
}
