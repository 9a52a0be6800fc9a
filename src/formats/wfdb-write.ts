/** Writes WFDB records (.hea, .dat) in signal formats 16 and 212. */
import { join } from 'node:path';
import { asciiOf } from './ascii.ts';
import { plainName, plainDecimal } from './wfdb-fields.ts';
import { replaceFile } from './wfdb-files.ts';
import { RATE_MAX } from './wfdb-header.ts';
import { formats, MISSING_SAMPLE } from './wfdb-samples.ts';

export type LeadToWrite = Readonly<{ name: string; gain: number; baseline: number; unit: string; samples: Int32Array }>;

export type RecordToWrite = Readonly<{
  name: string;
  fs: number;
  leads: readonly LeadToWrite[];
  comments?: readonly string[];
  /** Unix ns of the first sample: written as base time (to the ms, as header(5) has it) and date, and exactly as the comment
   *  `start_unix_ns`. */
  startUnixNs?: bigint;
}>;

/** Writes NAME.hea and NAME.dat into a folder, replacing them whole.
 *  @throws RangeError as encodeRecord does */
export async function writeRecord(folder: string, record: RecordToWrite, format: 16 | 212 = 16): Promise<void> {
  const { hea, dat } = encodeRecord(record, format);
  await replaceFile(join(folder, `${record.name}.dat`), dat);
  await replaceFile(join(folder, `${record.name}.hea`), hea);
}

/** The two files of a record.
 *  @param record leads of one length; samples within the range of the format, or MISSING_SAMPLE
 *  @throws RangeError on a name, rate, length or sample that the format cannot carry */
export function encodeRecord(record: RecordToWrite, format: 16 | 212 = 16): Readonly<{ hea: Uint8Array; dat: Uint8Array }> {
  const { name, fs, leads } = record;
  if (!plainName(name) || name.includes('.')) throw new RangeError(`record name "${name}"`);
  if (!(fs > 0 && fs <= RATE_MAX)) throw new RangeError(`rate ${fs} Hz`);
  const n = leads[0]?.samples.length ?? 0;
  const { bits, missing } = formats[format];
  const limit = 2 ** (bits - 1) - 1;
  const flat = new Int32Array(n * leads.length);
  const start = record.startUnixNs === undefined ? '' : ` ${baseTimeOf(record.startUnixNs)}`;
  const lines = [`${name} ${leads.length} ${plainDecimal(fs)} ${n}${start}`];
  for (const [column, lead] of leads.entries()) {
    if (lead.samples.length !== n) throw new RangeError(`lead ${lead.name}: ${lead.samples.length} samples, the first has ${n}`);
    if (!(lead.gain > 0) || !Number.isInteger(lead.baseline)) throw new RangeError(`lead ${lead.name}: gain or baseline`);
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const value = lead.samples[i]! === MISSING_SAMPLE ? missing : lead.samples[i]!;
      if (value < missing || value > limit)
        throw new RangeError(`lead ${lead.name}: sample ${i} is ${value}, format ${format} ends at ${limit}`);
      flat[i * leads.length + column] = value;
      sum = (sum + value) & 0xffff;
    }
    const first = n === 0 ? 0 : flat[column]!;
    const checksum = (sum << 16) >> 16;
    const scale = `${plainDecimal(lead.gain)}(${lead.baseline})/${asciiOf(lead.unit).replaceAll(' ', '_') || 'NU'}`;
    lines.push(`${name}.dat ${format} ${scale} ${bits} 0 ${first} ${checksum} 0 ${lineOf(lead.name)}`);
  }
  if (record.startUnixNs !== undefined) lines.push(`# start_unix_ns ${record.startUnixNs}`);
  for (const comment of record.comments ?? []) lines.push(`# ${lineOf(comment)}`);
  return { hea: Buffer.from(`${lines.join('\n')}\n`, 'ascii'), dat: encodeSamples(flat, format) };
}

const lineOf = (text: string): string => asciiOf(text.replaceAll(/\s/g, ' '));

/** `HH:MM:SS.mmm DD/MM/YYYY` */
function baseTimeOf(unixNs: bigint): string {
  const ms = unixNs / 1_000_000n - (unixNs % 1_000_000n < 0n ? 1n : 0n);
  const [date = '', time = ''] = new Date(Number(ms)).toISOString().slice(0, -1).split('T');
  return `${time.replace(/\.000$/, '')} ${date.split('-').toReversed().join('/')}`;
}

function encodeSamples(flat: Int32Array, format: 16 | 212): Uint8Array {
  const n = flat.length;
  if (format === 16) {
    const out = new Uint8Array(2 * n);
    for (let i = 0; i < n; i++) {
      out[2 * i] = flat[i]! & 0xff;
      out[2 * i + 1] = (flat[i]! >> 8) & 0xff;
    }
    return out;
  }
  const out = new Uint8Array(Math.ceil(n / 2) * 3);
  for (let i = 0; i < n; i++) {
    const at = (i >> 1) * 3;
    const value = flat[i]!;
    if ((i & 1) === 0) {
      out[at] = value & 0xff;
      out[at + 1] = (value >> 8) & 0x0f;
    } else {
      out[at + 2] = value & 0xff;
      out[at + 1] = out[at + 1]! | ((value >> 4) & 0xf0);
    }
  }
  return n % 2 === 1 ? out.subarray(0, out.length - 1) : out;
}
