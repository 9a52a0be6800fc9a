/** Light that is hard to read, made, through the engine: what is given out, and whether it is right. Nothing is read from disk. */
import { streamRows } from './hrv-stream.ts';
import { calibration, groups } from './ppg-scenarios.ts';
import type { Beat, Made, Scenario, Truth } from './ppg-scenarios.ts';
import type { Section } from './section.ts';

/** Values given: flagged 0 and right, flagged 0 and wrong, flagged 1 or 2. */
export type Tally = { right: number; wrong: number; flagged: number };

/** Is a value of a time right? Null: not judged. */
type Judge = (truth: Truth, sec: number, value: number) => boolean | null;

const rateWithin = 5;
const spo2Within = 2;
const sdnnWithin = { share: 0.1, ms: 2 };
const perfusionWithin = 0.25;

function rate(truth: Truth, sec: number, value: number): boolean | null {
  if (!truth.hasPulse) return false;
  const intervals = intervalsOf(truth, sec, 8);
  if (intervals.length < 2) return null;
  return Math.abs(value - (60 * intervals.length) / intervals.reduce((sum, { sec: length }) => sum + length, 0)) <= rateWithin;
}

function sdnn(truth: Truth, sec: number, value: number): boolean | null {
  if (!truth.hasVariability) return false;
  const ms = intervalsOf(truth, sec, 300).flatMap(({ sec: length, isNormal }) => (isNormal ? [1000 * length] : []));
  if (ms.length < 2) return false;
  const mean = ms.reduce((sum, x) => sum + x, 0) / ms.length;
  const own = Math.sqrt(ms.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (ms.length - 1));
  return Math.abs(value - own) <= Math.max(sdnnWithin.ms, sdnnWithin.share * own);
}

/** Between beats of the window that ends at a time of the device. */
function intervalsOf({ beats, heartSec }: Truth, sec: number, windowSec: number): { sec: number; isNormal: boolean }[] {
  const to = heartSec(sec);
  const inside = beats.filter((beat) => beat.sec > to - windowSec && beat.sec <= to);
  return inside.slice(1).map((beat: Beat, i) => ({ sec: beat.sec - inside[i]!.sec, isNormal: beat.isNormal && inside[i]!.isNormal }));
}

/** Columns; of a wave named `ecg.` by the features of ECG. */
const columns: Readonly<Record<string, Readonly<{ features: readonly string[]; judge: Judge }>>> = {
  rate: { features: ['hr_ppg', 'hr_ecg'], judge: rate },
  'rate in motion': { features: ['hr_ppg_motion'], judge: rate },
  saturation: {
    features: ['spo2'],
    judge: ({ spo2 }, _, value) => spo2 !== null && Math.abs(value - spo2) <= spo2Within,
  },
  SDNN: { features: ['prv_sdnn_300s', 'hrv_sdnn_300s'], judge: sdnn },
  worn: { features: ['worn_ppg'], judge: ({ worn }, _, value) => (Number.isNaN(worn) ? null : value === worn) },
  perfusion: {
    features: ['perfusion_index'],
    judge: ({ perfusion }, _, value) =>
      perfusion !== null && value >= (1 - perfusionWithin) * perfusion[0] && value <= (1 + perfusionWithin) * perfusion[1],
  },
  'QRS, QT': { features: ['qrs_60s', 'qt_60s'], judge: ({ isEcg }) => isEcg },
};

export function tallies(recordings: readonly Made[]): Record<string, Tally> {
  const found: Record<string, Tally> = {};
  for (const { channels, truth } of recordings) {
    const { features } = streamRows(channels, calibration);
    for (const [name, { features: own, judge }] of Object.entries(columns)) {
      const tally = (found[name] ??= { right: 0, wrong: 0, flagged: 0 });
      for (const { tNs, value, qmask } of own.flatMap((feature) => features.get(feature) ?? [])) {
        const isRight = judge(truth, Number(tNs) / 1e9, value);
        if (isRight === null) continue;
        if (qmask !== 0) tally.flagged++;
        else if (isRight) tally.right++;
        else tally.wrong++;
      }
    }
  }
  return found;
}

export function run(): Promise<Section | null> {
  const names = Object.keys(columns);
  const rows: string[][] = [['made light', ...names]];
  const json: Record<string, Record<string, Tally>> = {};
  const note = ({ name, recordings }: Scenario, title: string): void => {
    const found = tallies(recordings());
    json[name] = found;
    rows.push([title, ...names.map((column) => cell(found[column]!))]);
  };
  for (const { control, hard } of groups) {
    note(control, `**control: ${control.name}**`);
    for (const scenario of hard) note(scenario, scenario.name);
  }
  return Promise.resolve({
    title: 'PPG: made light that is hard to read, through the engine',
    rows,
    json,
    notes: [
      'Each: values flagged 0 and right / flagged 0 and wrong / flagged 1 or 2; ".": none is given. Three recordings of 420 s of red and infrared light, three shapes of pulse (accuracy/ppg-scenarios.ts). A control is the same light without what is hard.',
      `Right: rates within ${rateWithin} /min of the heart (all its beats); saturation, with a calibration, within ${spo2Within} %; SDNN of 300 s within ${100 * sdnnWithin.share} % or ${sdnnWithin.ms} ms of that between normal beats; worn as it is; perfusion of the first light within ${100 * perfusionWithin} %. Where there is no pulse, no rate is right. QRS and QT: right of an ECG, whatever they are, and of nothing else.`,
    ],
  });
}

function cell({ right, wrong, flagged }: Tally): string {
  return right + wrong + flagged === 0 ? '.' : `${right} / ${wrong} / ${flagged}`;
}
