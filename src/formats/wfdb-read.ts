/** Reads the signals of WFDB records (.dat), the format of PhysioNet: header(5) and signal(5) of the WFDB Applications Guide (Moody).
 *  The parsers return `Rejected`; the functions that open files throw PipelineError.
 *
 *  Read: signal formats 8, 16, 24, 32, 61, 80, 160, 212, 310 and 311, several samples per frame, skew, byte offsets, several files per
 *  record. Not read: the FLAC formats. */
import { dirname, join } from 'node:path';
import { PipelineError } from '../errors.ts';
import type { Rejected } from '../errors.ts';
import { bad, nanoHz, orThrow } from './wfdb-fields.ts';
import { readInFolder } from './wfdb-files.ts';
import { SAMPLE_COUNT_MAX, readHeader } from './wfdb-header.ts';
import type { WfdbSignal, WfdbHeader } from './wfdb-header.ts';
import { decodeSamples, formats, MISSING_SAMPLE, samplesIn } from './wfdb-samples.ts';

export type WfdbLead = Readonly<{
  name: string;
  gain: number;
  baseline: number;
  unit: string;
  fs: number;
  rateNanoHz: number;
  /** Digital values; MISSING_SAMPLE where the recorder had none. */
  samples: Int32Array;
  /** Does the sum of the samples agree with the header? True where the header states none. */
  checksumOk: boolean;
}>;

export type WfdbRecord = Readonly<{
  name: string;
  /** Frame rate in Hz, that of every lead with one sample per frame. */
  fs: number;
  rateNanoHz: number;
  /** See WfdbHeader. */
  startUnixNs: bigint | null;
  leads: readonly WfdbLead[];
  comments: readonly string[];
}>;

/** Reads a record whole: header and all of its samples.
 *  @param path of the .hea file; the extension may be left out */
export async function readRecord(path: string): Promise<WfdbRecord> {
  const header = await readHeader(path);
  const folder = dirname(path);
  const leads: WfdbLead[] = [];
  for (let first = 0; first < header.signals.length;) {
    let end = first + 1;
    while (end < header.signals.length && header.signals[end]!.file === header.signals[first]!.file) end++;
    const group = header.signals.slice(first, end);
    const bytes = await readInFolder(folder, group[0]!.file, SAMPLE_COUNT_MAX * 4).catch((error: unknown) => {
      throw isMissing(error) ? withoutSamples(path, join(folder, group[0]!.file)) : error;
    });
    leads.push(...orThrow(decodeGroup(bytes, group, header), join(folder, group[0]!.file)));
    first = end;
  }
  const { name, fs, startUnixNs, comments } = header;
  return { name, fs, rateNanoHz: nanoHz(fs), startUnixNs, leads, comments };
}

const isMissing = (error: unknown): boolean => error instanceof PipelineError && (error.cause as { code?: string })?.code === 'ENOENT';

function withoutSamples(header: string, file: string): PipelineError {
  return new PipelineError(
    'not_found',
    `${file}: no such file; the header ${header} says that its samples are there. Put it next to the header, or, for annotations alone, ` +
      'write a header of 0 signals',
  );
}

/** Physical values of a lead; NaN where a sample is missing. */
export function physicalSamples(lead: Pick<WfdbLead, 'gain' | 'baseline' | 'samples'>): Float64Array {
  const { samples, gain, baseline } = lead;
  const out = new Float64Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    const digital = samples[i]!;
    out[i] = digital === MISSING_SAMPLE ? Number.NaN : (digital - baseline) / gain;
  }
  return out;
}

/** Decodes one data file into the leads that share it. */
export function decodeGroup(bytes: Uint8Array, group: readonly WfdbSignal[], header: WfdbHeader): WfdbLead[] | Rejected {
  const { format, byteOffset, file } = group[0]!;
  let perFrame = 0;
  for (const signal of group) perFrame += signal.samplesPerFrame;
  const skewMax = Math.max(...group.map((signal) => signal.skew));
  const available = samplesIn(Math.max(0, bytes.length - byteOffset), format);
  const frames = header.frameCount === 0 ? Math.floor(available / perFrame) : header.frameCount;
  // Skewed tails may lie beyond the end; those samples are then missing. Everything else must be there.
  if (frames * perFrame > available) return bad(`file "${file}" ends early: ${frames * perFrame} samples announced, ${available} present`);
  if (frames * perFrame > SAMPLE_COUNT_MAX) return bad(`file "${file}": more than ${SAMPLE_COUNT_MAX} samples`);
  const framesStored = Math.min(Math.floor(available / perFrame), frames + skewMax);

  const flat = decodeSamples(bytes.subarray(byteOffset), format, framesStored * perFrame);
  const leads: WfdbLead[] = [];
  let column = 0;
  for (const signal of group) {
    const { samplesPerFrame, skew } = signal;
    if (format === 8) addUp(flat, signal, column, perFrame);
    const samples = new Int32Array(frames * samplesPerFrame);
    const { missing } = formats[format];
    let sum = 0;
    for (let frame = 0; frame < frames; frame++) {
      for (let s = 0; s < samplesPerFrame; s++) {
        const from = frame + skew;
        const value = from < framesStored ? flat[from * perFrame + column + s]! : missing;
        sum = (sum + value) & 0xffff;
        samples[frame * samplesPerFrame + s] = value === missing ? MISSING_SAMPLE : value;
      }
    }
    leads.push({
      name: signal.name,
      gain: signal.gain,
      baseline: signal.baseline,
      unit: signal.unit,
      fs: header.fs * samplesPerFrame,
      rateNanoHz: nanoHz(header.fs) * samplesPerFrame,
      samples,
      checksumOk: signal.checksum === null || (signal.checksum & 0xffff) === sum,
    });
    column += samplesPerFrame;
  }
  return leads;
}

/** Makes samples of the differences of one signal, in place. @param column its first in a frame */
function addUp(flat: Int32Array, { samplesPerFrame, initial }: WfdbSignal, column: number, perFrame: number): void {
  let value = initial;
  for (let frame = 0; frame < flat.length; frame += perFrame)
    for (let s = 0; s < samplesPerFrame; s++) {
      value = (value + flat[frame + column + s]!) | 0;
      flat[frame + column + s] = value;
    }
}
