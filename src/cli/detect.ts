/** `biosignal detect`: R peaks of a WFDB record as a WFDB annotation file, so that anyone can score them with WFDB's own `bxb`; where P,
 *  QRS and T of each beat begin and end, too. */
import { dirname, join } from 'node:path';
import { Delineator, meansIn, noBoundaries } from '../dsp/ecg/delineation.ts';
import { findRPeaks } from '../dsp/ecg/r-peaks-record.ts';
import { intervalMaxUs } from '../dsp/hrv/beats.ts';
import type { FoundBeats } from '../dsp/kernels/contract.ts';
import { PipelineError } from '../errors.ts';
import { writeAnnotations } from '../formats/wfdb-annotations.ts';
import type { AnnotationToWrite } from '../formats/wfdb-annotations.ts';
import { physicalSamples, readRecord } from '../formats/wfdb-read.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { FORCE_OPTION, refuseExisting } from './export/whole-files.ts';
import { startProgress } from './progress.ts';

/** Finds the R peaks of a record and writes them as normal beats (N).
 *  @param recordPath of the .hea file  @param lead index or name of a lead; `all`: fuse the leads of the first one's rate
 *  @param annotator extension of the file to write, letters and digits  @param folder where to write; default: next to the record
 *  @param mayReplace a file that is there already: the references of a database lie next to its records
 *  @param withWaves boundaries of P, QRS and T of each beat in the lead, or in the first of all, as ecgpuwave writes them
 *  @returns path and number of beats
 *  @throws PipelineError validation_failed when the record has no such lead; UsageError when the file is there already */
export async function detectRecord(
  recordPath: string,
  lead: string,
  annotator: string,
  folder: string = dirname(recordPath),
  mayReplace = false,
  withWaves = false,
): Promise<{ path: string; beatCount: number }> {
  if (!/^[A-Za-z][A-Za-z0-9]{0,15}$/.test(annotator))
    throw new PipelineError('validation_failed', `annotator "${annotator}": letters and digits`);
  const record = await readRecord(recordPath);
  const index = /^\d+$/.test(lead) ? Number(lead) : record.leads.findIndex((l) => l.name === lead);
  const first = record.leads[lead === 'all' ? 0 : index];
  if (first === undefined) {
    throw new PipelineError('validation_failed', `${record.name}: no lead "${lead}"; it has ${record.leads.map((l) => l.name).join(', ')}`);
  }
  const leads = lead === 'all' ? record.leads.filter((l) => l.fs === first.fs) : [first];
  const path = join(folder, `${record.name}.${annotator}`);
  refuseExisting([path], mayReplace);
  const samples = leads.map(physicalSamples);
  const beats = findRPeaks(samples, first.fs);
  const perFrame = first.fs / record.fs; // annotations count frames
  const marks = Array.from(beats.position.subarray(0, beats.count), (at) => mark(at, 'N', 0));
  if (withWaves) marks.push(...wavesOf(samples[0]!, first.fs, beats));
  const annotations = marks.map(({ at, ...rest }) => ({ sample: Math.max(0, Math.round(at / perFrame)), ...rest }));
  await writeAnnotations(
    path,
    annotations.toSorted((a, b) => a.sample - b.sample),
  );
  return { path, beatCount: beats.count };
}

/** `at`: in samples of the lead. */
type Mark = Omit<AnnotationToWrite, 'sample'> & Readonly<{ at: number }>;
/** Numbers of the waves, as ecgpuwave has them. */
const [P, QRS, T] = [0, 1, 2] as const;
const mark = (at: number, code: string, number: number): Mark => ({ at, code, number });

/** Beginning, peak and end of the waves of each beat that has an interval before it, as the service has them for PR, QRS and QT. */
function wavesOf(x: Float64Array, fs: number, beats: FoundBeats): Mark[] {
  const delineator = new Delineator(fs);
  const meansOf = meansIn(x);
  const found = noBoundaries();
  const marks: Mark[] = [];
  for (let i = 1; i < beats.count; i++) {
    const at = beats.position[i]!;
    const intervalSec = (at - beats.position[i - 1]!) / fs;
    if (intervalSec > INTERVAL_MAX_SEC || !delineator.delineate(at, meansOf, intervalSec, found)) continue;
    const { pOnset, pPeak, pEnd, qrsOnset, qrsEnd, tOnset, tPeak, tEnd } = found;
    const waves = [
      [pOnset, '(', P],
      [pPeak, 'p', P],
      [pEnd, ')', P],
      [qrsOnset, '(', QRS],
      [qrsEnd, ')', QRS],
      [tOnset, '(', T],
      [tPeak, 't', T],
      [tEnd, ')', T],
    ] as const;
    for (const [sec, code, number] of waves) if (!Number.isNaN(sec)) marks.push(mark(at + sec * fs, code, number));
  }
  return marks;
}

/** Beats further apart have no interval between them. */
const INTERVAL_MAX_SEC = intervalMaxUs / 1e6;

export const detect: Command = {
  name: 'detect',
  summary: 'Find the R peaks of WFDB records and write them as annotation files.',
  positionals: 'RECORD.hea...',
  description: `Score them with WFDB: bxb -r RECORD -a atr bio -f 300
--waves also marks where P, QRS and T of each beat begin, peak and end, in brackets as ecgpuwave writes them.
A record that cannot be read is named, and does not stop the others; the command fails at its end.`,
  options: {
    lead: { type: 'string', value: 'N', fallback: '0', doc: 'Index or name of the lead, or all: fuse the leads.' },
    annotator: { type: 'string', value: 'NAME', fallback: 'bio', doc: 'Extension of the file to write.' },
    waves: { type: 'boolean', doc: 'Mark P, QRS and T of each beat, too.' },
    out: { type: 'string', value: 'DIR', doc: 'Folder to write to; default: next to the record.' },
    force: FORCE_OPTION,
  },
  examples: ['biosignal detect 100.hea --lead 0 --annotator bio', 'biosignal detect 100.hea --waves --annotator puw'],
  run: async ({ console, options, positionals, json }) => {
    if (positionals.length === 0) throw new UsageError('name at least one record');
    const results: { record: string; path: string; beatCount: number }[] = [];
    const progress = startProgress(console, 'detect', positionals.length);
    const startedMs = performance.now();
    let failed = 0;
    for (const record of positionals) {
      console.signal.throwIfAborted();
      const folder = options.text('out') || dirname(record);
      let result;
      try {
        const [lead, annotator] = [options.text('lead'), options.text('annotator')];
        result = await detectRecord(record, lead, annotator, folder, options.flag('force'), options.flag('waves'));
      } catch (error) {
        // one record is refused as any command is; of several, the others are still to be done
        if (positionals.length === 1 || !(error instanceof PipelineError)) throw error;
        failed++;
        progress.end();
        console.err(`biosignal detect: ${error.message}`);
        continue;
      }
      results.push({ record, ...result });
      const perMin = (60_000 * results.length) / (performance.now() - startedMs);
      progress.update(results.length, `${perMin.toFixed(0)} records/min`);
      if (json) continue;
      progress.end();
      console.out(`${result.path}: ${result.beatCount} beats`);
    }
    progress.end();
    if (json) console.out(JSON.stringify(results));
    return failed === 0 ? EXIT_OK : EXIT_FAILED;
  },
};
