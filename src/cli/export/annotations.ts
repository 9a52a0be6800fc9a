/** Writes annotations of people: for WFDB next to the detected beats, into the annotations of EDF+, and as FHIR Observations. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Pool } from 'pg';
import type { EdfAnnotation } from '../../formats/edf-common.ts';
import { writeAnnotations } from '../../formats/wfdb-annotations.ts';
import type { AnnotationToWrite } from '../../formats/wfdb-annotations.ts';
import { correctBeats, MATCH_NS } from '../../query/corrected-beats.ts';
import { fhirAnnotation } from '../../query/fhir.ts';
import { timestampAt } from '../../query/time-bounds.ts';
import { listAnnotations } from '../../records/annotations.ts';
import type { Annotation } from '../../records/annotations.ts';
import { fitText } from '../../text.ts';
import { personStem } from './stretch.ts';
import type { PersonRow, Range, StreamExport } from './stretch.ts';

const PAGE = 1000;
/** Of the text of a WFDB annotation, and of EDF+: there, every record of the file is as wide as the longest. */
const TEXT_BYTES_MAX = 255;

type Whose = Readonly<{ subjectId: string; streamId: number | null }>;

/** Newest versions of all annotations in a range, by their start. */
async function* annotationsOf(pool: Pool, whose: Whose, { fromNs, toNs }: Range): AsyncGenerator<Annotation> {
  let after: readonly [string, string] | null = null;
  for (;;) {
    const page: readonly Annotation[] = await listAnnotations(pool, {
      ...whose,
      since: timestampAt(fromNs),
      until: timestampAt(toNs),
      kind: null,
      after,
      limit: PAGE,
    });
    yield* page;
    const last = page.at(-1);
    if (page.length < PAGE || last === undefined) return;
    after = [last.starts_at, last.id];
  }
}

/** Beats of one record and near it (CORRECTED_NS) as they were computed, and what WFDB calls each of them. */
export type RecordBeats = Readonly<{ tsNs: BigInt64Array; kinds: Uint8Array; codes: readonly string[]; channels: readonly string[] }>;

/** Of one record: `.mrk` has what was marked, `.cor` all beats as people corrected them.
 *  @param codes of the channels in the record  @returns paths of the files; none without annotations */
export async function exportMarks(
  { pool, stream, range, folder }: StreamExport,
  record: Readonly<{ name: string; startNs: bigint; fs: number; channels: readonly string[] }>,
  beats: RecordBeats,
): Promise<string[]> {
  const { name, startNs, fs, channels } = record;
  const own: Annotation[] = [];
  const near = { fromNs: range.fromNs - MATCH_NS, toNs: range.toNs + MATCH_NS };
  for await (const annotation of annotationsOf(pool, { subjectId: stream.xuser_id, streamId: stream.id }, near))
    if (annotation.channel === null || channels.includes(annotation.channel)) own.push(annotation);
  /** WFDB has no number for all signals: those marks have that of the first. */
  const numberOf = (channel: string | null): number => Math.max(0, channels.indexOf(channel ?? ''));
  const sampleAt = (ns: bigint): number => Math.round((Number(ns - startNs) / 1e9) * fs);
  const marks = own
    .filter(({ kind, starts_at: from, ends_at: to }) => kind !== 'beat' && nsOf(to ?? from) >= range.fromNs && nsOf(from) < range.toNs)
    .flatMap((annotation) => wfdbMarks(annotation, (iso) => sampleAt(nsOf(iso)), numberOf(annotation.channel)));
  const files: string[] = [];
  if (marks.length > 0) files.push(await write(join(folder, `${name}.mrk`), marks));
  const corrections = own
    .filter(({ kind }) => kind === 'beat')
    .toSorted((a, b) => (a.made_at < b.made_at ? -1 : 1))
    .map(({ id, starts_at: at, beat, channel }) => ({ id, tsNs: nsOf(at), beat: beat ?? 'none', channel }));
  if (corrections.length > 0) {
    const unused = { intervalMs: new Float64Array(beats.tsNs.length), accepted: new Uint8Array(beats.tsNs.length) };
    const corrected = correctBeats({ ...beats, ...unused }, corrections, range).beats;
    const codes = corrected.map(({ tsNs, said, saidOf, index }) => ({
      sample: sampleAt(tsNs),
      code: said ?? beats.codes[index] ?? '?',
      channel: numberOf(saidOf),
    }));
    files.push(await write(join(folder, `${name}.cor`), codes));
  }
  return files;
}

async function write(path: string, annotations: readonly AnnotationToWrite[]): Promise<string> {
  const sorted = annotations.filter(({ sample }) => sample >= 0).toSorted((a, b) => a.sample - b.sample);
  await writeAnnotations(path, sorted);
  return path;
}

/** A change of rhythm is `+`, of quality `~`, all else a note; the end of a stretch is a note of its own. */
function wfdbMarks(annotation: Annotation, sampleAt: (iso: string) => number, channel: number): AnnotationToWrite[] {
  const { kind, text, starts_at: start, ends_at: end } = annotation;
  const code = kind === 'rhythm' ? '+' : kind === 'artefact' ? '~' : '"';
  const said = kind === 'note' || kind === 'rhythm' ? text : text === '' ? kind : `${kind}: ${text}`;
  const marks = [{ sample: sampleAt(start), code, channel, aux: cut(said === '' ? kind : said) }];
  if (end !== null) marks.push({ sample: sampleAt(end), code: '"', channel, aux: cut(`end of ${kind}${text === '' ? '' : `: ${text}`}`) });
  return marks;
}

/** Of one recording, for its EDF+ file. One of a signal names it after `@@`, as EDF+ does; a corrected beat has its kind.
 *  A signal that is not in the file is named in the text.
 *  @param startNs Unix ns of the file's start  @param labels of the signals in the file, by the code of their channel */
export async function edfMarks(
  { pool, stream, range }: StreamExport,
  startNs: bigint,
  labels: ReadonlyMap<string, string>,
): Promise<EdfAnnotation[]> {
  const marks: EdfAnnotation[] = [];
  for await (const { kind, beat, text, channel, starts_at: start, ends_at: end } of annotationsOf(
    pool,
    { subjectId: stream.xuser_id, streamId: stream.id },
    range,
  )) {
    const what = beat === null ? kind : `beat ${beat}`;
    const label = labels.get(channel ?? '');
    const of = channel === null ? '' : label === undefined ? ` (${channel})` : `@@${label}`;
    const said = cut(text === '' ? what : `${what}: ${text}`, TEXT_BYTES_MAX - Buffer.byteLength(of));
    const durationSec = end === null ? Number.NaN : Number(nsOf(end) - nsOf(start)) / 1e9;
    marks.push({ onsetSec: Number(nsOf(start) - startNs) / 1e9, durationSec, text: said + of });
  }
  return marks;
}

/** Start of a recording's first mark in the range, Unix ns; null: there is none. */
export async function firstMarkNs({ pool, stream, range }: StreamExport): Promise<bigint | null> {
  for await (const { starts_at: start } of annotationsOf(pool, { subjectId: stream.xuser_id, streamId: stream.id }, range))
    return nsOf(start);
  return null;
}

const cut = (text: string, bytesMax = TEXT_BYTES_MAX): string => fitText(text, 'text', bytesMax);

/** Unix ns of a time with microseconds. */
function nsOf(iso: string): bigint {
  const fraction = /\.(\d+)/.exec(iso)?.[1] ?? '';
  const seconds = BigInt(Date.parse(iso.replace(/\.\d+/, ''))) / 1000n;
  return seconds * 1_000_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9));
}

/** @returns paths of the file, if anything was marked */
export async function exportFhirAnnotations({ pool, range, folder }: Omit<StreamExport, 'stream'>, person: PersonRow): Promise<string[]> {
  const found = annotationsOf(pool, { subjectId: person.xuser_id, streamId: null }, range);
  const first = await found.next();
  if (first.done === true) return [];
  async function* lines(): AsyncGenerator<string> {
    yield `${JSON.stringify(fhirAnnotation(first.value as Annotation))}\n`;
    for await (const annotation of found) yield `${JSON.stringify(fhirAnnotation(annotation))}\n`;
  }
  const path = join(folder, `${personStem(person)}-annotations.ndjson`);
  await pipeline(Readable.from(lines()), createWriteStream(path));
  return [path];
}
