/** Programs that others read recordings with, where they are installed: WFDB's C tools, EDFlib, DuckDB's command, pandas. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const bytesMax = 256 * 1024 * 1024;
const read = (command: string, args: readonly string[], cwd?: string): string =>
  execFileSync(command, args, { encoding: 'utf8', maxBuffer: bytesMax, ...(cwd === undefined ? {} : { cwd }) });

/** Says so where it is not. */
function isInstalled(name: string, command: string, args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    console.warn(`SKIPPED: ${name} is not installed: exports are not read with it`);
    return false;
  }
}

export const hasWfdbTools = isInstalled("WFDB's rdsamp and rdann", 'sh', ['-c', 'command -v rdsamp && command -v rdann']);
export const hasEdflib = isInstalled('EDFlib (libedf-dev) or a C compiler', 'sh', ['-c', 'command -v cc && test -e /usr/include/edflib.h']);
export const hasDuckdb = isInstalled('duckdb', 'sh', ['-c', 'command -v duckdb']);
export const hasPandas = isInstalled('pandas', 'python3', ['-c', 'import pandas']);

/** Digital samples by rdsamp, one array per signal; null: missing. @param header the .hea file */
export function samplesOfRdsamp(header: string): (number | null)[][] {
  const rows = read('rdsamp', ['-r', basename(header, '.hea')], dirname(header))
    .trim()
    .split('\n');
  const signals: (number | null)[][] = [];
  for (const row of rows) {
    const values = row.trim().split(/\s+/).slice(1);
    for (const [i, value] of values.entries()) (signals[i] ??= []).push(value === '-32768' || value === '-' ? null : Number(value));
  }
  return signals;
}

/** Samples and codes by rdann. */
export function annotationsOfRdann(header: string, annotator: string): [sample: number, code: string][] {
  const rows = read('rdann', ['-r', basename(header, '.hea'), '-a', annotator], dirname(header))
    .trim()
    .split('\n');
  return rows.map((row) => {
    // [08:00:00.250 05/01/2026] or 0:02.000, then the sample and the code
    const [, sample = '', code = ''] = /^\s*(?:\[[^\]]*\]|\S+)\s+(\d+)\s+(\S+)/.exec(row) ?? [];
    return [Number(sample), code];
  });
}

const edfProgram = `#include <stdio.h>
#include <stdlib.h>
#include <edflib.h>
int main(int argc, char **argv) {
  struct edf_hdr_struct h;
  if (argc < 2 || edfopen_file_readonly(argv[1], &h, EDFLIB_READ_ALL_ANNOTATIONS)) { fprintf(stderr, "edflib refuses it: %d\\n", h.filetype); return 1; }
  printf("{\\"type\\":%d,\\"annotations\\":%lld,\\"signals\\":[", h.filetype, (long long)h.annotations_in_file);
  for (int s = 0; s < h.edfsignals; s++) {
    long long n = h.signalparam[s].smp_in_file;
    int *values = malloc(n * sizeof(int));
    if (edfread_digital_samples(h.handle, s, n, values) != n) return 2;
    printf("%s{\\"label\\":\\"%s\\",\\"samples\\":[", s ? "," : "", h.signalparam[s].label);
    for (long long i = 0; i < n; i++) printf("%s%d", i ? "," : "", values[i]);
    printf("]}");
    free(values);
  }
  printf("]}\\n");
  return edfclose_file(h.handle);
}
`;

/** What EDFlib's own reader gives of a file. @throws Error where EDFlib refuses it */
export function readWithEdflib(
  file: string,
  folder: string,
): { type: number; annotations: number; signals: { label: string; samples: number[] }[] } {
  const source = join(folder, 'read-edf.c');
  const program = join(folder, 'read-edf');
  writeFileSync(source, edfProgram);
  read('cc', ['-o', program, source, '-ledf']);
  try {
    return JSON.parse(read(program, [file])) as ReturnType<typeof readWithEdflib>;
  } finally {
    for (const path of [source, program]) rmSync(path);
  }
}

/** The rows that a question has, as text. */
export function askDuckdb(sql: string): string[][] {
  const [, ...rows] = read('duckdb', ['-csv', '-c', sql]).trim().split('\n');
  return rows.map((row) => row.split(','));
}

/** Columns of a CSV file as pandas reads it with lines of # left out: names, count of numbers, sum. */
export function columnsOfPandas(file: string): Record<string, { count: number; sum: number; type: string }> {
  const program = `import json, pandas, sys
frame = pandas.read_csv(sys.argv[1], comment='#')
print(json.dumps({name: {'count': int(column.count()), 'sum': float(column.sum()) if column.dtype.kind in 'fi' else 0, 'type': str(column.dtype)} for name, column in frame.items()}))`;
  return JSON.parse(read('python3', ['-c', program, file])) as ReturnType<typeof columnsOfPandas>;
}
