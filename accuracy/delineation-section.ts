/** Boundaries of P, QRS and T against the marks of a cardiologist (QTDB, q1c), as Martinez et al. 2004 score them: mean and standard
 *  deviation of (ours - mark) over the beats of a recording, then the mean over recordings; of two leads the one nearer to the mark. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Delineator, meansIn, noBoundaries } from '../src/dsp/ecg/delineation.ts';
import type { Boundaries } from '../src/dsp/ecg/delineation.ts';
import { readAnnotations } from '../src/formats/wfdb-annotations.ts';
import type { Annotation } from '../src/formats/wfdb-annotations.ts';
import { physicalSamples, readRecord } from '../src/formats/wfdb-read.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import type { DatabaseFigure, Section } from './section.ts';

const scored = ['pOnset', 'pEnd', 'qrsOnset', 'qrsEnd', 'tOnset', 'tPeak', 'tEnd'] as const satisfies (keyof Boundaries)[];
type Scored = (typeof scored)[number];
const names: Readonly<Record<Scored, string>> = {
  pOnset: 'onset of P',
  pEnd: 'end of P',
  qrsOnset: 'onset of QRS',
  qrsEnd: 'end of QRS',
  tOnset: 'onset of T',
  tPeak: 'peak of T',
  tEnd: 'end of T',
};
/** A detected beat is the marked one within this. */
const matchSec = 0.15;

type Marks = Partial<Record<Scored, number>> & { r: number };

/** Marked beats, s: waves in brackets, `(` onset, `)` end. */
export function markedBeats(annotations: readonly Annotation[], fs: number): Marks[] {
  const beats: Marks[] = [];
  let pOnset: number | undefined;
  let pEnd: number | undefined;
  annotations.forEach(({ code, sample, isBeat }, i) => {
    const before = annotations[i - 1];
    const after = annotations[i + 1];
    const onset = before?.code === '(' ? before.sample / fs : undefined;
    const end = after?.code === ')' ? after.sample / fs : undefined;
    const last = beats.at(-1);
    if (code === 'p') [pOnset, pEnd] = [onset, end];
    else if (isBeat) {
      const beat: Marks = { r: sample / fs };
      if (pOnset !== undefined && beat.r - pOnset < 0.4) beat.pOnset = pOnset;
      if (pEnd !== undefined && beat.r - pEnd < 0.35) beat.pEnd = pEnd;
      if (onset !== undefined) beat.qrsOnset = onset;
      if (end !== undefined) beat.qrsEnd = end;
      beats.push(beat);
      pOnset = pEnd = undefined;
    } else if (code === 't' && last !== undefined && last.tPeak === undefined) {
      last.tPeak = sample / fs;
      if (onset !== undefined) last.tOnset = onset;
      // a second phase of T may be marked before its end
      const close = annotations.slice(i + 1, i + 3).find((a) => a.code === ')');
      if (close !== undefined) last.tEnd = close.sample / fs;
    }
  });
  return beats;
}

type Errors = Record<Scored, number[]>;

async function errorsOf(folder: string, name: string): Promise<{ errors: Errors; missed: number; marked: number }> {
  const { fs, leads } = await readRecord(join(folder, `${name}.hea`));
  const xs = leads.map(physicalSamples);
  const beats = beatSeconds(streamRows(ecgChannels(xs, fs)), 'ecg');
  const errors: Errors = { pOnset: [], pEnd: [], qrsOnset: [], qrsEnd: [], tOnset: [], tPeak: [], tEnd: [] };
  const delineator = new Delineator(fs);
  const marks = markedBeats(await readAnnotations(join(folder, `${name}.q1c`)), fs);
  let missed = 0;
  for (const mark of marks) {
    const i = beats.findIndex((t) => Math.abs(t - mark.r) < matchSec);
    if (i < 0) {
      missed++;
      continue;
    }
    const at = beats[i]!;
    const found = xs.map((x) => {
      const out = noBoundaries();
      delineator.delineate(at * fs, meansIn(x), at - (beats[i - 1] ?? at - 1), out);
      return out;
    });
    for (const key of scored) {
      if (mark[key] === undefined) continue;
      const ms = found.map((out) => 1000 * (at + out[key] - mark[key]!)).filter((e) => !Number.isNaN(e));
      if (ms.length > 0) errors[key].push(ms.reduce((a, b) => (Math.abs(b) < Math.abs(a) ? b : a)));
    }
  }
  return { errors, missed, marked: marks.length };
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

function deviation(values: readonly number[]): number {
  const m = mean(values);
  return Math.sqrt(values.reduce((sum, v) => sum + (v - m) ** 2, 0) / (values.length - 1));
}

export async function run(dataDir: string): Promise<Section | null> {
  const folder = join(dataDir, 'qtdb');
  if (!existsSync(folder)) return null;
  const recordings = readdirSync(folder)
    .filter((file) => file.endsWith('.q1c'))
    .map((file) => file.slice(0, -'.q1c'.length))
    .toSorted();
  if (recordings.length === 0) return null;
  const all = [];
  for (const name of recordings) all.push({ name, ...(await errorsOf(folder, name)) });
  const rows: string[][] = [['boundary', 'recordings', 'beats', 'mean, ms', 'SD, ms', 'worst SD']];
  const json: Record<string, unknown> = {};
  const byDatabase: DatabaseFigure[] = [];
  for (const key of scored) {
    const own = all.filter(({ errors }) => errors[key].length > 1);
    const deviations = own.map(({ name, errors }) => ({ name, sd: deviation(errors[key]) }));
    const figures = { mean: mean(own.map(({ errors }) => mean(errors[key]))), sd: mean(deviations.map(({ sd }) => sd)) };
    const worst = deviations.toSorted((a, b) => b.sd - a.sd).slice(0, 3);
    json[key] = { ...figures, absoluteMean: Math.abs(figures.mean) };
    const beats = own.reduce((sum, { errors }) => sum + errors[key].length, 0);
    byDatabase.push({
      what: `${names[key]}: mean, SD, ms`,
      database: 'qtdb',
      chosenOn: 'yes',
      n: `${own.length} recordings, ${beats} beats`,
      figure: `${figures.mean.toFixed(1)}, ${figures.sd.toFixed(1)}`,
    });
    const text = worst.map(({ name, sd }) => `${name} ${sd.toFixed(0)}`).join(', ');
    rows.push([names[key], String(own.length), String(beats), figures.mean.toFixed(1), figures.sd.toFixed(1), text]);
  }
  const missed = all.reduce((sum, one) => sum + one.missed, 0);
  const marked = all.reduce((sum, one) => sum + one.marked, 0);
  return {
    title: 'ECG: boundaries of P, QRS and T against a cardiologist, QTDB',
    rows,
    json,
    byDatabase,
    notes: [
      `Ours minus mark; standard deviation within each recording, then the mean over recordings; the nearer of two leads. Beats as the service finds them; ${missed} of ${marked} marked beats not found. Chosen on these recordings, in which the cardiologist marked four in ten onsets of T.`,
    ],
  };
}
