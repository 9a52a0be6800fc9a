/** Draws a strip of a waveform on electrocardiograph paper: 25 mm/s, 10 mm/mV, a thin line per millimetre and a strong one every five, a
 *  calibration pulse, person and time above, the service's beats marked. Gaps stay empty; unusable samples are grey and dashed. */
import { withoutDirections } from '../text.ts';
import { leadName } from '../signal.ts';
import type { ChannelKind } from '../signal.ts';
import type { SampleSegment } from './samples.ts';
import type { BeatClass } from './beat-classes.ts';
import type { beatKinds } from './series-pages.ts';
import { stripLetters, stripWords } from './strip-words.ts';
import type { StripLanguage, StripLetter } from './strip-words.ts';

export const PX_PER_MM = 4;
const MM_PER_SEC = 25;
export const PX_PER_SEC = MM_PER_SEC * PX_PER_MM;
export const LINE_PX = 14;
/** Three lines of text above the paper, one below. */
const HEADER_PX = 3 * LINE_PX + 6;
const FOOTER_PX = LINE_PX + 6;
/** Room for the calibration pulse, mm; the trace begins after it. */
const LEFT_MM = 10;
/** Least width, so that the header's lines fit. */
const WIDTH_MIN_PX = 380;
/** Above and below the trace, for beat marks and flags, mm. */
const MARGIN_MM = 5;
const PAPER_MM_MIN = 40;
const TRACE_MM_MAX = 80;
/** Standard, half, quarter …: the first with which the trace fits, as on paper. */
const GAINS_MM_PER_MV = [10, 5, 2.5, 1, 0.5, 0.2, 0.1] as const;
/** Height of a signal that is not a voltage. */
const FITTED_MM = 30;
const RIBBON_PX = 8;
const HATCH_PX = 5;
/** More points than this per pixel column become its minimum and maximum. */
const POINTS_PER_PX = 2;
/** Larger physical values are left out, and a smaller span counts as flat, so that arithmetic on the rest stays finite. */
const DRAWN_MAX = 1e150;
const SPAN_MIN = 1e-100;
const PER_MILLIVOLT: Readonly<Record<string, number>> = { mV: 1, uV: 1000, V: 0.001 };

/** x, y, x, y … in pixels, rounded to 0.01. */
export type Polyline = readonly number[];
type BeatKind = (typeof beatKinds)[number];
export type StripBeat = Readonly<{ tsNs: bigint; kind: BeatKind; aami: BeatClass | null; qmask: number }>;
export type Strip = Readonly<{
  widthPx: number;
  heightPx: number;
  /** The paper between header and footer. */
  topPx: number;
  bottomPx: number;
  header: readonly string[];
  footer: string;
  good: readonly Polyline[];
  bad: readonly Polyline[];
  pulse: Polyline;
  /** A triangle where the letter is empty. `doubtful`: the beat is flagged. */
  marks: readonly Readonly<{ x: number; letter: string; doubtful: boolean }>[];
  /** Below the trace: hatched where samples are suspect, solid where they are unusable. */
  hatches: readonly Polyline[];
  blocks: readonly Readonly<{ x: number; widthPx: number }>[];
}>;

export type StripOf = Readonly<{
  /** Of one channel, ascending. */
  segments: readonly SampleSegment[];
  fromNs: bigint;
  durationSec: number;
  /** Name of the person, for the header. */
  person: string;
  /** IANA name of the zone in which the time is written. */
  timeZone: string;
  /** Code of the channel, even if it has no samples. */
  channel: string;
  beats: readonly StripBeat[];
  /** Method that found the beats; empty without beats. */
  method: string;
  language?: StripLanguage;
}>;

const letters = { normal: '', ectopic: 'E', artefact: 'x', interpolated: 'i' } as const;

/** As the viewer marks them: S or V where its class is known; E: early, of unknown origin; Q: of unknown kind. With a question mark where
 *  an ectopic beat is suspect. */
function lettersOf({ kind, aami, qmask }: StripBeat): readonly StripLetter[] {
  const letter = aami === 'S' || aami === 'V' ? aami : letters[kind];
  if (letter === '') return aami === 'Q' ? ['Q'] : [];
  return kind === 'ectopic' && qmask > 0 ? [letter, '?'] : [letter];
}

export function layOutStrip(of: StripOf): Strip {
  const { segments, fromNs, durationSec, beats, language = 'en' } = of;
  const words = stripWords[language];
  const [low, high] = extentOf(segments);
  const unit = segments[0]?.unit ?? '';
  const scale = scaleOf(unit, high - low, language);
  const paperMm = Math.max(PAPER_MM_MIN, 5 * Math.ceil(Math.min(TRACE_MM_MAX, (high - low) * scale.mmPerUnit) / 5 + (2 * MARGIN_MM) / 5));
  const topPx = HEADER_PX;
  const bottomPx = topPx + paperMm * PX_PER_MM;
  const middle = (topPx + bottomPx) / 2;
  const clamp = (y: number): number => Math.min(bottomPx, Math.max(topPx, y));
  const y = (value: number): number => clamp(middle - (value - (low + high) / 2) * scale.mmPerUnit * PX_PER_MM);
  const x = (ns: bigint): number => round(LEFT_MM * PX_PER_MM + (Number(ns - fromNs) / 1e9) * PX_PER_SEC);
  const good: Polyline[] = [];
  const bad: Polyline[] = [];
  const hatches: Polyline[] = [];
  const blocks: { x: number; widthPx: number }[] = [];
  for (const segment of segments) {
    tracesOf(segment, x(segment.t0Ns), y, good, bad);
    flagsOf(segment, x(segment.t0Ns), bottomPx, hatches, blocks);
  }
  const widthPx = Math.max(WIDTH_MIN_PX, LEFT_MM * PX_PER_MM + Math.round(durationSec * PX_PER_SEC));
  const fromMs = Number(fromNs / 1_000_000n);
  const marks = beats.map((beat) => ({ x: x(beat.tsNs), letter: lettersOf(beat).join(''), doubtful: beat.qmask > 0 }));
  const shown = new Set(beats.flatMap(lettersOf));
  const key = stripLetters.filter((letter) => shown.has(letter)).map((letter) => `${letter}${words.colon} ${words.letters[letter]}`);
  return {
    widthPx,
    heightPx: bottomPx + FOOTER_PX,
    topPx,
    bottomPx,
    header: [
      `${of.person}, ${leadOf(segments[0], of.channel)}`,
      `${clockOf(fromMs, of.timeZone, language)}, ${format(durationSec, language)} s`,
      `${MM_PER_SEC} mm/s, ${scale.label}${of.method === '' ? '' : `, ${words.beats}${words.colon} ${of.method}`}`,
    ].map(withoutDirections),
    footer: `${key.join(', ')}${key.length === 0 ? '' : `${words.semicolon} `}${words.flags}`,
    good,
    bad,
    pulse: pulseOf(middle, scale.pulseMm),
    marks,
    hatches,
    blocks,
  };
}

/** Scale of the trace: voltages use the gains of paper; anything else is fitted, and its scale printed. */
function scaleOf(unit: string, span: number, language: StripLanguage): Readonly<{ mmPerUnit: number; pulseMm: number; label: string }> {
  const perMillivolt = PER_MILLIVOLT[unit];
  if (perMillivolt === undefined) {
    const mmPerUnit = FITTED_MM / span;
    return { mmPerUnit, pulseMm: 10, label: `10 mm = ${format(10 / mmPerUnit, language)} ${unit === '1' ? '' : unit}`.trim() };
  }
  const gain = GAINS_MM_PER_MV.find((mm) => (span / perMillivolt) * mm <= TRACE_MM_MAX) ?? 0.1;
  return { mmPerUnit: gain / perMillivolt, pulseMm: gain, label: `${gain} mm/mV` };
}

/** 1 mV (or 10 mm of a fitted scale) for 0.2 s. */
function pulseOf(middle: number, heightMm: number): Polyline {
  const top = middle - heightMm * PX_PER_MM;
  const mm = (n: number): number => n * PX_PER_MM;
  return [mm(1), middle, mm(2.5), middle, mm(2.5), top, mm(7.5), top, mm(7.5), middle, mm(9), middle];
}

/** `ECG aVR (ecg.avr)` */
function leadOf(segment: SampleSegment | undefined, channel: string): string {
  if (segment === undefined) return channel;
  const kind: ChannelKind = segment.kind;
  return `${kind === 'other' ? segment.lead : `${kind.toUpperCase()} ${leadName(segment)}`} (${segment.code})`
    .trim()
    .replaceAll(/ +/g, ' ');
}

/** `05.01.2026, 09:00:00 GMT+01:00`: as the pages of the language write times, of no offset `UTC`; milliseconds where there are some. */
function clockOf(timeMs: number, timeZone: string, language: StripLanguage): string {
  const parts = new Intl.DateTimeFormat(language, { timeZone, dateStyle: 'medium', timeStyle: 'medium' }).formatToParts(timeMs);
  const ms = timeMs - 1000 * Math.floor(timeMs / 1000);
  const fraction = ms === 0 ? '' : `${language === 'en' ? '.' : ','}${String(ms).padStart(3, '0')}`;
  // The letters of a PNG have no narrow space.
  const time = parts.map(({ type, value }) => (type === 'second' ? value + fraction : value.replaceAll('\u202f', ' '))).join('');
  const named = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(timeMs);
  const offset = named.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return `${time} ${offset === 'GMT' ? 'UTC' : offset.replace('GMT+00:00', 'UTC')}`;
}

export function stripSvg(strip: Strip): string {
  const { widthPx: width, heightPx: height, topPx, bottomPx, header, footer, good, bad, marks, blocks, hatches } = strip;
  const paper = `y="${topPx}" width="${width}" height="${bottomPx - topPx}"`;
  const lines = header.map((line, i) => `<text x="4" y="${(i + 1) * LINE_PX}"${i === 0 ? ' class="who"' : ''}>${escape(line)}</text>`);
  const beats = marks.map(({ x, letter, doubtful }) => {
    const look = doubtful ? ' class="doubtful"' : '';
    return letter === ''
      ? `<path d="M${x - 3} ${topPx + 3}h6l-3 6z" class="mark${doubtful ? ' doubtful' : ''}"/>`
      : `<text x="${x}" y="${topPx + 11}" text-anchor="middle"${look}>${letter}</text>`;
  });
  // In millimetres: printed at its own size, a second is 25 mm.
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width / PX_PER_MM}mm" height="${height / PX_PER_MM}mm" role="img" aria-label="${escape(header.join(', '))}">
<title>${escape(header.join(', '))}</title>
<style>path{fill:none;stroke:#111;stroke-width:1.2}.minor{stroke:#f3c6c6;stroke-width:.5}.major{stroke:#e29a9a;stroke-width:.8}.bad{stroke:#999;stroke-dasharray:3 3}.mark{fill:#111;stroke:none}.doubtful{fill:#999}.hatch{stroke:#8a5600}rect.block{fill:#999}text{font:11px sans-serif;fill:#333}.who{font-weight:700}</style>
<defs><pattern id="mm" width="${PX_PER_MM}" height="${PX_PER_MM}" y="${topPx}" patternUnits="userSpaceOnUse"><path d="M0 ${PX_PER_MM}V0H${PX_PER_MM}" class="minor"/></pattern><pattern id="mm5" width="${5 * PX_PER_MM}" height="${5 * PX_PER_MM}" y="${topPx}" patternUnits="userSpaceOnUse"><path d="M0 ${5 * PX_PER_MM}V0H${5 * PX_PER_MM}" class="major"/></pattern></defs>
<rect width="100%" height="100%" fill="#fff"/><rect ${paper} fill="url(#mm)"/><rect ${paper} fill="url(#mm5)"/>
${blocks.map(({ x, widthPx }) => `<rect x="${x}" y="${bottomPx - RIBBON_PX}" width="${widthPx}" height="${RIBBON_PX}" class="block"/>`).join('')}${hatches.map((line) => `<path d="${pathOf(line)}" class="hatch"/>`).join('')}
<path d="${pathOf(strip.pulse)}"/>${good.map((line) => `<path d="${pathOf(line)}"/>`).join('')}${bad.map((line) => `<path d="${pathOf(line)}" class="bad"/>`).join('')}
${beats.join('')}${lines.join('')}<text x="4" y="${height - 6}">${escape(footer)}</text>
</svg>
`;
}

function pathOf(line: Polyline): string {
  let path = '';
  for (let i = 0; i + 1 < line.length; i += 2) path += `${i === 0 ? 'M' : 'L'}${line[i]} ${line[i + 1]}`;
  return path;
}

/** Extent of the samples that are not bad and can be drawn, in physical units; a flat line gets room. */
function extentOf(segments: readonly SampleSegment[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const { samples, qmask, gain, baseline } of segments) {
    for (let i = 0; i < samples.length; i++) {
      if (qmask !== null && qmask[i] === 2) continue;
      const value = (samples[i]! - baseline) / gain;
      if (!isDrawn(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (low === Infinity) return [-1, 1];
  const size = Math.max(Math.abs(low), Math.abs(high));
  // A span within rounding error of the values' size is flat too.
  if (high - low > Math.max(SPAN_MIN, size * 1e-9)) return [low, high];
  const room = Math.max(1, size * 1e-6);
  return [low - room, high + room];
}

/** Can the value be drawn? Not if missing, infinite, or so large that its distance from another value is infinite. */
function isDrawn(value: number): boolean {
  return Math.abs(value) <= DRAWN_MAX;
}

function tracesOf(segment: SampleSegment, x0: number, y: (value: number) => number, good: Polyline[], bad: Polyline[]): void {
  const { samples, qmask, gain, baseline, rateNanoHz } = segment;
  const step = PX_PER_SEC / (rateNanoHz / 1e9);
  const stride = Math.max(1, Math.floor(1 / step / POINTS_PER_PX));
  let line: number[] = [];
  let lineIsBad = false;
  const flush = (): void => {
    if (line.length > 0) (lineIsBad ? bad : good).push(line);
    line = [];
  };
  for (let i = 0; i < samples.length; i += stride) {
    const isBad = qmask !== null && qmask[i] === 2;
    if (isBad !== lineIsBad) flush();
    lineIsBad = isBad;
    const end = Math.min(samples.length, i + stride);
    let min = Infinity;
    let max = -Infinity;
    for (let j = i; j < end; j++) {
      const value = (samples[j]! - baseline) / gain;
      if (!isDrawn(value)) continue;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    if (min === Infinity) {
      flush(); // a gap is a gap
      continue;
    }
    const x = round(x0 + i * step);
    line.push(x, round(y(min)));
    if (max !== min) line.push(x, round(y(max)));
  }
  flush();
}

/** Stretches of one flag, of at least a pixel. */
function flagsOf(
  segment: SampleSegment,
  x0: number,
  bottomPx: number,
  hatches: Polyline[],
  blocks: { x: number; widthPx: number }[],
): void {
  const { qmask, rateNanoHz } = segment;
  if (qmask === null) return;
  const step = PX_PER_SEC / (rateNanoHz / 1e9);
  for (let from = 0, to = 0; from < qmask.length; from = to) {
    while (to < qmask.length && qmask[to] === qmask[from]) to++;
    const x = round(x0 + from * step);
    const widthPx = round(Math.max(1, (to - from) * step));
    if (qmask[from] === 2) blocks.push({ x, widthPx });
    if (qmask[from] !== 1) continue;
    for (let at = Math.ceil(x / HATCH_PX) * HATCH_PX; at < x + widthPx; at += HATCH_PX) {
      hatches.push([at, bottomPx, at + RIBBON_PX, bottomPx - RIBBON_PX]);
    }
  }
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function format(value: number, language: StripLanguage): string {
  return Number(value.toPrecision(3))
    .toString()
    .replace('.', language === 'en' ? '.' : ',');
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[\ufffe\uffff]/g, '\ufffd'); // no XML holds those
}
