/** Reads and writes WFDB annotation files (.atr and kin) in MIT format: annot(5) of the WFDB Applications Guide (Moody).
 *  AHA annotations are not read. */
import type { Rejected } from '../errors.ts';
import { bad, orThrow, decimal } from './wfdb-fields.ts';
import { readBounded, replaceFile } from './wfdb-files.ts';

const ANNOTATION_BYTES_MAX = 64 * 1024 * 1024;

export type Annotation = Readonly<{
  /** Sample index at the record's frame rate (or at the file's own time resolution, see AnnotationFile). */
  sample: number;
  /** Mnemonic as WFDB prints it: `N`, `V`, `+`, `~` …; `[n]` for a code without one. */
  code: string;
  /** Does it mark a QRS complex (WFDB's isqrs)? */
  isBeat: boolean;
  subtype: number;
  channel: number;
  number: number;
  /** Text, e.g. `(AFIB` of a rhythm change; usually empty. */
  aux: string;
}>;

/** Where an annotation file states its own time resolution, `timeResolutionHz` has it; else null: the record's frame rate holds. */
export type AnnotationFile = Readonly<{ annotations: readonly Annotation[]; timeResolutionHz: number | null }>;

/** Reads an annotation file whole.
 *  @param path with its annotator as extension, e.g. `100.atr`
 *  @returns annotations in file order, which ascends in time */
export async function readAnnotations(path: string): Promise<readonly Annotation[]> {
  return (await readAnnotationFile(path)).annotations;
}

/** As readAnnotations, with the time resolution of the file. */
export async function readAnnotationFile(path: string): Promise<AnnotationFile> {
  return orThrow(parseAnnotations(await readBounded(path, ANNOTATION_BYTES_MAX)), path);
}

/** Mnemonics by code, WFDB's ecgcodes.h; index = code. */
const mnemonics = ' NLRaVFJASEj/Q~ | sT*D"=pB^t+u?![]en@xf()r'.split('');

const beatCodes = new Set([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 25, 30, 34, 35, 38, 41]);
const SKIP = 59;
const NUM = 60;
const SUB = 61;
const CHN = 62;
const AUX = 63;
const CODE_MAX = 49; // ACMAX: larger ones are pseudo-annotations
const NOTE = 22;
const SAMPLE_MAX = 2 ** 52;

/** Parses an annotation file in MIT format: 16-bit little-endian words, 6 bits of code and 10 of time difference. */
export function parseAnnotations(bytes: Uint8Array): AnnotationFile | Rejected {
  const annotations: Annotation[] = [];
  let timeResolutionHz: number | null = null;
  let sample = 0;
  let channel = 0;
  let number = 0;
  let at = 0;
  for (;;) {
    if (at + 2 > bytes.length) return bad(`annotations end at byte ${at} without their end mark`);
    let code = bytes[at + 1]! >> 2;
    let data = bytes[at]! | ((bytes[at + 1]! & 3) << 8);
    at += 2;
    if (code === 0 && data === 0) break;
    while (code === SKIP) {
      if (at + 6 > bytes.length) return bad(`annotations end within a skip at byte ${at}`);
      // A PDP-11 long: the high half first, each half little-endian.
      sample += (bytes[at]! << 16) | (bytes[at + 1]! << 24) | bytes[at + 2]! | (bytes[at + 3]! << 8);
      code = bytes[at + 5]! >> 2;
      data = bytes[at + 4]! | ((bytes[at + 5]! & 3) << 8);
      at += 6;
    }
    if (code === 0 && data === 0) break;
    if (code > CODE_MAX) return bad(`annotation code ${code} at byte ${at - 2} modifies nothing`);
    sample += data;
    if (sample < 0 || sample > SAMPLE_MAX) return bad(`annotation at byte ${at - 2} lies at sample ${sample}`);

    let subtype = 0;
    let aux = '';
    // The modifiers follow the annotation that they belong to; NUM and CHN hold for the later ones too.
    for (;;) {
      if (at + 2 > bytes.length) break;
      const modifier = bytes[at + 1]! >> 2;
      const value = bytes[at]! | ((bytes[at + 1]! & 3) << 8);
      if (modifier === NUM) number = signedByte(value);
      else if (modifier === SUB) subtype = signedByte(value);
      else if (modifier === CHN) channel = value & 0xff;
      else if (modifier === AUX) {
        if (at + 2 + value > bytes.length) return bad(`annotation text at byte ${at} is cut off`);
        aux = text(bytes, at + 2, value);
        at += value + (value & 1);
      } else break;
      at += 2;
    }
    if (code === NOTE && sample === 0 && aux.startsWith('## ')) {
      const resolution = /^## time resolution: ([0-9.]+)$/.exec(aux);
      if (resolution !== null) timeResolutionHz = decimal(resolution[1]);
      continue; // file-level declarations, not annotations
    }
    annotations.push({ sample, code: mnemonic(code), isBeat: beatCodes.has(code), subtype, channel, number, aux });
  }
  return { annotations, timeResolutionHz };
}

export type AnnotationToWrite = Readonly<{
  sample: number;
  code: string;
  subtype?: number;
  channel?: number;
  number?: number;
  aux?: string;
}>;

/** Writes an annotation file in MIT format, replacing it whole.
 *  @param annotations ascending in time; integer samples >= 0; codes as WFDB prints them; text of at most 255 bytes */
export async function writeAnnotations(path: string, annotations: readonly AnnotationToWrite[]): Promise<void> {
  await replaceFile(path, encodeAnnotations(annotations));
}

/** The bytes of an annotation file. */
export function encodeAnnotations(annotations: readonly AnnotationToWrite[]): Uint8Array {
  const out: number[] = [];
  const word = (code: number, data: number): void => void out.push(data & 0xff, (code << 2) | ((data >> 8) & 3));
  let time = 0;
  let channel = 0;
  let number = 0;
  for (const annotation of annotations) {
    const code = mnemonics.indexOf(annotation.code, 1);
    if (code < 1 || annotation.code === ' ') throw new RangeError(`annotation code "${annotation.code}"`);
    let step = annotation.sample - time;
    if (!Number.isInteger(step) || step < 0) throw new RangeError(`annotation at sample ${annotation.sample} after ${time}`);
    while (step > 1023) {
      const skip = Math.min(step, 0x7fff_ffff);
      word(SKIP, 0);
      out.push((skip >> 16) & 0xff, (skip >> 24) & 0xff, skip & 0xff, (skip >> 8) & 0xff);
      step -= skip;
    }
    word(code, step);
    time = annotation.sample;
    const aux = Buffer.from(annotation.aux ?? '', 'utf8');
    if (aux.length > 255) throw new RangeError(`annotation text of ${aux.length} bytes`);
    if ((annotation.subtype ?? 0) !== 0) word(SUB, annotation.subtype! & 0xff);
    if ((annotation.channel ?? 0) !== channel) word(CHN, (channel = annotation.channel ?? 0) & 0xff);
    if ((annotation.number ?? 0) !== number) word(NUM, (number = annotation.number ?? 0) & 0xff);
    if (aux.length > 0) {
      word(AUX, aux.length);
      out.push(...aux);
      if (aux.length % 2 === 1) out.push(0);
    }
  }
  word(0, 0);
  return Uint8Array.from(out);
}

function mnemonic(code: number): string {
  const known = mnemonics[code];
  return known === undefined || known === ' ' ? `[${code}]` : known;
}

function signedByte(value: number): number {
  return (value << 24) >> 24;
}

/** Latin-1 up to the first NUL: WFDB ends the text of some annotations with one. */
export function text(bytes: Uint8Array, from: number, length: number): string {
  const slice = Buffer.from(bytes.buffer, bytes.byteOffset + from, length);
  const nul = slice.indexOf(0);
  return slice.toString('utf8', 0, nul < 0 ? length : nul);
}
