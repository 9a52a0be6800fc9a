/** `biosignal detect`: R peaks of a WFDB record as a WFDB annotation file, so that anyone can score them with WFDB's own `bxb`. */
import { dirname, join } from 'node:path';
import { findRPeaks } from '../dsp/ecg/r-peaks-record.ts';
import { PipelineError } from '../errors.ts';
import { writeAnnotations } from '../formats/wfdb-annotations.ts';
import { physicalSamples, readRecord } from '../formats/wfdb-read.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { FORCE_OPTION, refuseExisting } from './export/whole-files.ts';
import { startProgress } from './progress.ts';

/** Finds the R peaks of a record and writes them as normal beats (N).
 *  @param recordPath of the .hea file  @param lead index or name of a lead; `all`: fuse the leads of the first one's rate
 *  @param annotator extension of the file to write, letters and digits  @param folder where to write; default: next to the record
 *  @param mayReplace a file that is there already: the references of a database lie next to its records
 *  @returns path and number of beats
 *  @throws PipelineError validation_failed when the record has no such lead; UsageError when the file is there already */
export async function detectRecord(
  recordPath: string,
  lead: string,
  annotator: string,
  folder: string = dirname(recordPath),
  mayReplace = false,
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
  const beats = findRPeaks(leads.map(physicalSamples), first.fs);
  const perFrame = first.fs / record.fs; // annotations count frames
  const annotations = [];
  for (let i = 0; i < beats.count; i++) annotations.push({ sample: Math.round(beats.position[i]! / perFrame), code: 'N' });
  await writeAnnotations(path, annotations);
  return { path, beatCount: beats.count };
}

export const detect: Command = {
  name: 'detect',
  summary: 'Find the R peaks of WFDB records and write them as annotation files.',
  positionals: 'RECORD.hea...',
  description: `Score them with WFDB: bxb -r RECORD -a atr bio -f 300
A record that cannot be read is named, and does not stop the others; the command fails at its end.`,
  options: {
    lead: { type: 'string', value: 'N', fallback: '0', doc: 'Index or name of the lead, or all: fuse the leads.' },
    annotator: { type: 'string', value: 'NAME', fallback: 'bio', doc: 'Extension of the file to write.' },
    out: { type: 'string', value: 'DIR', doc: 'Folder to write to; default: next to the record.' },
    force: FORCE_OPTION,
  },
  examples: ['biosignal detect 100.hea --lead 0 --annotator bio'],
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
        result = await detectRecord(record, options.text('lead'), options.text('annotator'), folder, options.flag('force'));
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
