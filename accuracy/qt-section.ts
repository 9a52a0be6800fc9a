/** QT and QTc against the marks of a cardiologist (QTDB, q1c): per recording the median of the marked beats, from the marked onset of QRS,
 *  end of T and R peaks, and ours of the same beats; then mean and standard deviation of (ours - mark) over recordings. */
import { join } from 'node:path';
import { Delineator, meansIn, noBoundaries } from '../src/dsp/ecg/delineation.ts';
import { corrected } from '../src/dsp/engine/intervals.ts';
import { medianOf } from '../src/dsp/hrv/median.ts';
import { readAnnotations } from '../src/formats/wfdb-annotations.ts';
import { physicalSamples, readRecord } from '../src/formats/wfdb-read.ts';
import { markedBeats } from './delineation-section.ts';
import { ecgChannels } from './ecg-detection-section.ts';
import { beatSeconds, streamRows } from './hrv-stream.ts';
import { beatsMin, markedRecordings, windowsOf } from './qt-windows.ts';
import type { Section } from './section.ts';

const measures = {
  QT: (qtMs: number): number => qtMs,
  'QTc Bazett': corrected.bazett,
  'QTc Fridericia': corrected.fridericia,
  'QTc Framingham': corrected.framingham,
  'QTc Hodges': corrected.hodges,
};
type Measure = keyof typeof measures;
const measureNames = Object.keys(measures) as Measure[];
/** A detected beat is the marked one within this, s. */
const matchSec = 0.15;
/** Beats further apart have no interval, s. */
const intervalMaxSec = 3;

/** Of one beat: its QT, ms, and the interval before it, s. */
type Beat = Readonly<{ qtMs: number; rrSec: number }>;
/** Of each beat the mark, and ours in one lead. */
type Pairs = (readonly [mark: Beat, ours: Beat])[];

type Recording = Readonly<{
  name: string;
  /** Pairs of each lead. */
  leads: readonly Pairs[];
  /** Does the service flag most of its values of the marked beats 0? */
  isGood: boolean;
}>;

async function pairsOf(folder: string, name: string): Promise<Recording> {
  const { fs, leads } = await readRecord(join(folder, `${name}.hea`));
  const xs = leads.map(physicalSamples);
  const stored = streamRows(ecgChannels(xs, fs));
  const beats = beatSeconds(stored, 'ecg');
  const delineator = new Delineator(fs);
  const marks = markedBeats(await readAnnotations(join(folder, `${name}.q1c`)), fs);
  const ours = marks.map(({ r }) => beats.findIndex((t) => Math.abs(t - r) < matchSec));
  const found = noBoundaries();
  const windows = windowsOf(stored, marks);
  const isGood = 2 * windows.filter((one) => one.isGood).length > windows.length;
  const leadPairs = xs.map((x) => {
    const meansOf = meansIn(x);
    const pairs: Pairs = [];
    marks.forEach((mark, k) => {
      const i = ours[k]!;
      const before = marks[k - 1];
      // marks may leave beats out: both have the same interval
      if (i < 1 || before === undefined || ours[k - 1] !== i - 1 || mark.qrsOnset === undefined || mark.tEnd === undefined) return;
      const rrSec = beats[i]! - beats[i - 1]!;
      if (rrSec > intervalMaxSec || !delineator.delineate(beats[i]! * fs, meansOf, rrSec, found)) return;
      const qtMs = 1000 * (found.tEnd - found.qrsOnset);
      if (!Number.isNaN(qtMs))
        pairs.push([
          { qtMs: 1000 * (mark.tEnd - mark.qrsOnset), rrSec: mark.r - before.r },
          { qtMs, rrSec },
        ]);
    });
    return pairs;
  });
  return { name, leads: leadPairs, isGood };
}

/** Ours minus mark, of the medians of each; NaN: too few beats. */
function errorOf(pairs: Pairs, measure: Measure): number {
  if (pairs.length < beatsMin) return Number.NaN;
  const [mark, ours] = [0, 1].map((side) => {
    const values = Float64Array.from(pairs, (pair) => measures[measure](pair[side]!.qtMs, pair[side]!.rrSec));
    return medianOf(values, values.length);
  });
  return ours! - mark!;
}

/** Leads of a recording that a row is of. */
const chosenLeads = {
  first: ({ leads }: Recording): readonly Pairs[] => leads.slice(0, 1),
  'first, flagged 0': ({ leads, isGood }: Recording): readonly Pairs[] => (isGood ? leads.slice(0, 1) : []),
  nearer: ({ leads }: Recording): readonly Pairs[] => leads,
};

export async function run(dataDir: string): Promise<Section | null> {
  const folder = join(dataDir, 'qtdb');
  const recordings = markedRecordings(folder);
  if (recordings.length === 0) return null;
  const all: Recording[] = [];
  for (const name of recordings) all.push(await pairsOf(folder, name));
  const rows: string[][] = [['median of a recording', 'lead', 'recordings', 'beats', 'mean, ms', 'SD, ms', 'within 20 ms', 'worst']];
  const json: Record<string, unknown> = {};
  for (const [lead, chosen] of Object.entries(chosenLeads))
    for (const measure of measureNames) {
      const errors = all.flatMap((one) => {
        const own = chosen(one)
          .map((pairs) => ({ name: one.name, ms: errorOf(pairs, measure), beats: pairs.length }))
          .filter(({ ms }) => !Number.isNaN(ms));
        return own.toSorted((a, b) => Math.abs(a.ms) - Math.abs(b.ms)).slice(0, 1);
      });
      const mean = errors.reduce((sum, { ms }) => sum + ms, 0) / errors.length;
      const sd = Math.sqrt(errors.reduce((sum, { ms }) => sum + (ms - mean) ** 2, 0) / (errors.length - 1));
      const near = errors.filter(({ ms }) => Math.abs(ms) <= 20).length;
      const worst = errors.toSorted((a, b) => Math.abs(b.ms) - Math.abs(a.ms)).slice(0, 3);
      json[`${measure}, ${lead} lead`] = { mean, sd, recordings: errors.length };
      rows.push([
        measure,
        lead,
        String(errors.length),
        String(errors.reduce((sum, { beats }) => sum + beats, 0)),
        mean.toFixed(1),
        sd.toFixed(1),
        String(near),
        worst.map(({ name, ms }) => `${name} ${ms.toFixed(0)}`).join(', '),
      ]);
    }
  return {
    title: 'ECG: QT and QTc against a cardiologist, QTDB',
    rows,
    json,
    notes: [
      `Ours minus mark, of the medians of the beats that were marked, have their R peak, onset of QRS and end of T in both, and follow a marked beat; at least ${beatsMin} of them; then mean and standard deviation over recordings. QTc of each beat by the interval before it. The service measures in the first lead; flagged 0: so are most of its values of the minutes that hold the marked beats. The cardiologist saw two leads: nearer is the one whose median is nearer to the mark. Delineation was chosen on these recordings.`,
    ],
  };
}
