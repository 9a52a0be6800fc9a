/** Reader of CapnoBase recordings as they are distributed: gzipped text of fields, each a line with its name and a line with its values. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

export type CapnobaseRecording = Readonly<{
  name: string;
  fs: number;
  ppg: Float64Array;
  /** Pulse peaks marked by an expert, s. */
  peakSec: Float64Array;
  /** Stretches marked as artefact, s, flattened pairs; empty where the file has no such field. */
  artefactSec: Float64Array;
}>;

/** Every recording of a folder; empty where it is absent. One that cannot be read is said and left out. */
export function readCapnobase(dir: string): CapnobaseRecording[] {
  if (!existsSync(dir)) return [];
  const files = readdirSync(dir).filter((file) => /^capnobase_\d+\.csv\.gz$/.test(file));
  return files.toSorted().flatMap((file) => {
    try {
      return [parseCapnobase(file.slice(0, -'.csv.gz'.length), gunzipSync(readFileSync(join(dir, file))).toString())];
    } catch (error) {
      console.warn(`SKIPPED ${file}: ${error instanceof Error ? error.message : String(error)}`);
      return [];
    }
  });
}

/** @throws RangeError where a field is missing */
export function parseCapnobase(name: string, text: string): CapnobaseRecording {
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < lines.length; i += 2) fields.set(lines[i]!.trim(), lines[i + 1]!);
  const numbers = (field: string): Float64Array => {
    const line = fields.get(field);
    if (line === undefined) throw new RangeError(`${name}: no field "${field}"`);
    return Float64Array.from(line.split(','), Number);
  };
  const fs = numbers('PPG_fs')[0]!;
  if (!(fs > 0)) throw new RangeError(`${name}: PPG_fs is no rate`);
  const seconds = (sampleNumber: number): number => (sampleNumber - 1) / fs; // counted from 1
  const artefacts = [...fields.keys()].find((field) => /artefact|artifact/i.test(field));
  return {
    name,
    fs,
    ppg: numbers('PPG Signal'),
    peakSec: numbers('PPG Peaks').map(seconds),
    artefactSec: artefacts === undefined ? new Float64Array(0) : numbers(artefacts).map(seconds),
  };
}
