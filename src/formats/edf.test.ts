import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRejected } from '../errors.ts';
import type { EdfFile } from './edf-read.ts';
import type { EdfToWrite } from './edf-write.ts';
import { parseEdf } from './edf-read.ts';
import { writeEdf } from './edf-write.ts';

const MISSING = -2_147_483_648;

function read(bytes: Uint8Array): EdfFile {
  const file = parseEdf(bytes);
  if (isRejected(file)) throw new Error(file.detail);
  return file;
}

const wave = (n: number, scale: number): Int32Array => Int32Array.from({ length: n }, (_, i) => Math.round(scale * Math.sin(i / 7)));

const example = (more: Partial<EdfToWrite> = {}): EdfToWrite => ({
  startUnixNs: BigInt(Date.UTC(2026, 10, 21, 3, 4, 5)) * 1_000_000n,
  missing: MISSING,
  signals: [
    { label: 'ECG II', unit: 'mV', rateNanoHz: 360e9, gain: 200, baseline: 0, samples: wave(3600, 1000) },
    { label: 'Temp', unit: 'Cel', rateNanoHz: 1e9, gain: 200, baseline: 0, samples: wave(10, 30) },
  ],
  annotations: [
    { onsetSec: 2.5, durationSec: Number.NaN, text: 'button' },
    { onsetSec: 4, durationSec: 1.25, text: 'Lagewechsel ä' },
  ],
  ...more,
});

test('what is written reads back sample by sample, with times, scales and annotations', () => {
  const source = example();
  const { bytes, rescaled, gainError } = writeEdf(source);
  const file = read(bytes);
  expect(file.variant).toBe('edf+c');
  expect(file.startUnixNs).toBe(source.startUnixNs);
  expect(file.recording).toContain('Startdate 21-NOV-2026');
  expect(file.signals.map(({ label, unit, fs }) => [label, unit, fs])).toEqual([
    ['ECG II', 'mV', 360],
    ['Temp', 'Cel', 1],
  ]);
  source.signals.forEach((signal, i) => {
    expect([...file.signals[i]!.samples]).toEqual([...signal.samples]);
    expect(file.signals[i]!.gain).toBeCloseTo(signal.gain, 9);
    expect(file.signals[i]!.baseline).toBeCloseTo(signal.baseline, 6);
  });
  expect(file.annotations).toEqual(source.annotations);
  expect(rescaled).toEqual([]);
  expect(gainError).toBe(0);
});

test('the physical range is near the values: viewers draw it from edge to edge', () => {
  const signals = [{ label: 'ECG II', unit: 'mV', rateNanoHz: 250e9, gain: 200, baseline: 0, samples: wave(2500, 300) }];
  const header = Buffer.from(writeEdf(example({ signals, annotations: [] })).bytes).toString('latin1');
  const signalCount = Number(header.slice(252, 256));
  const [lowest, highest] = [104, 112].map((offset) => Number(header.slice(256 + offset * signalCount).slice(0, 8)));
  expect([lowest, highest]).toEqual([-2, 2]);
});

test('a unit that is no ASCII is spelled, and cut to what fits', () => {
  const of = (unit: string): string =>
    read(writeEdf(example({ signals: [{ label: 'x', unit, rateNanoHz: 1e9, gain: 1, baseline: 0, samples: wave(10, 30) }] })).bytes)
      .signals[0]!.unit;
  expect(['\u00b5V', '\u03bcS', '°C', 'k\u2126', 'm/s²', 'é', '漢', 'a very long unit'].map(of)).toEqual([
    'uV',
    'uS',
    'degC',
    'kOhm',
    'm/s2',
    'e',
    '_',
    'a very l',
  ]);
});

test('any samples and scales come back as the same physical values', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -30_000, max: 30_000 }), { minLength: 1, maxLength: 300 }),
      fc.constantFrom(1, 200, 1000, 4096, 10_000, 333.25, 0.5),
      fc.integer({ min: -2000, max: 2000 }),
      (values, gain, baseline) => {
        const samples = Int32Array.from(values);
        const { bytes, gainError } = writeEdf(
          example({ signals: [{ label: 'x', unit: '1', rateNanoHz: 100e9, gain, baseline, samples }] }),
        );
        const signal = read(bytes).signals[0]!;
        expect([...signal.samples.subarray(0, samples.length)]).toEqual(values);
        expect(gainError).toBeLessThan(1e-4);
        const lsb = Math.abs(signal.baseline - baseline);
        expect(lsb).toBeLessThan(Math.max(0.5, gain * 5e-4));
      },
    ),
    { seed: 20_261_121 },
  );
});

// promise: export-edf-says
test('values beyond 16 bits are moved, and divided only when their range is too wide', () => {
  const moved = writeEdf(example({ signals: [{ label: 'ppg', unit: '1', rateNanoHz: 100e9, gain: 1, baseline: 0, samples: Int32Array.of(100_000, 120_001, 90_000) }] })); // prettier-ignore
  expect(moved.rescaled).toEqual([]);
  const signal = read(moved.bytes).signals[0]!;
  const physical = [...signal.samples.subarray(0, 3)].map((value) => (value - signal.baseline) / signal.gain);
  physical.forEach((value, i) => expect(value).toBeCloseTo([100_000, 120_001, 90_000][i]!, 2));
  const wide = writeEdf(
    example({ signals: [{ label: 'w', unit: '1', rateNanoHz: 1e9, gain: 1, baseline: 0, samples: Int32Array.of(0, 600_000) }] }),
  );
  expect(wide.rescaled).toEqual([{ label: 'w', by: 10 }]);
});

test('whole missing records make the file discontinuous, shorter gaps are named by an annotation', () => {
  const samples = wave(1000, 500);
  samples.fill(MISSING, 300, 600);
  samples.fill(MISSING, 820, 850);
  const { bytes } = writeEdf(
    example({ annotations: [], signals: [{ label: 'e', unit: 'mV', rateNanoHz: 100e9, gain: 200, baseline: 0, samples }] }),
  );
  const file = read(bytes);
  expect(file.variant).toBe('edf+d');
  expect([...file.recordStartSec]).toEqual([0, 1, 2, 6, 7, 8, 9]);
  expect(file.annotations).toEqual([{ onsetSec: 8.2, durationSec: 0.3, text: 'missing e' }]);
  expect([...file.signals[0]!.samples.subarray(300, 400)]).toEqual([...samples.subarray(600, 700)]);
});

test('the fraction of the first second is kept', () => {
  const source = example({ startUnixNs: 1_700_000_000_125_000_100n });
  const file = read(writeEdf(source).bytes);
  expect(file.startUnixNs).toBe(1_700_000_000_125_000_100n);
  expect([...file.recordStartSec.subarray(0, 3)]).toEqual([0, 1, 2]);
  expect(file.annotations).toEqual(source.annotations);
});

test.each([
  ['1900-01-01T00:00:00Z', '01.01.yy'],
  ['1969-07-20T20:17:40Z', '20.07.yy'],
  ['1989-04-24T16:13:00Z', '24.04.89'],
  ['2084-12-31T23:59:59Z', '31.12.84'],
  ['2181-06-01T08:00:00Z', '01.06.yy'],
  ['2199-12-31T23:59:59Z', '31.12.yy'],
])('a start of %s is kept', (iso, written) => {
  const startUnixNs = BigInt(Date.parse(iso)) * 1_000_000n + 250_000_100n;
  const { bytes } = writeEdf(example({ startUnixNs }));
  expect(String.fromCharCode(...bytes.subarray(168, 176))).toBe(written);
  expect(read(bytes).startUnixNs).toBe(startUnixNs);
});

test('an unknown start stays unknown', () => {
  expect(read(writeEdf(example({ startUnixNs: null })).bytes).startUnixNs).toBeNull();
});

test('annotations without signals are a file of one record', () => {
  const file = read(writeEdf(example({ signals: [] })).bytes);
  expect([file.signals, file.annotations]).toEqual([[], example().annotations]);
});

/** What the specification of EDF+ says of annotations, and nothing of the reader above. */
function listsOf(bytes: Uint8Array): { recordBytes: number; starts: string[]; notes: { onset: string; duration: string; text: string }[] } {
  const text = (from: number, length: number): string => new TextDecoder('latin1').decode(bytes.subarray(from, from + length)).trim();
  const [headerBytes, recordCount, signalCount] = [Number(text(184, 8)), Number(text(236, 8)), Number(text(252, 4))];
  const widths = Array.from({ length: signalCount }, (_, i) => 2 * Number(text(256 + signalCount * 216 + 8 * i, 8)));
  const listAt = Array.from(widths.keys(), (i) => text(256 + 16 * i, 16)).indexOf('EDF Annotations');
  const recordBytes = widths.reduce((a, b) => a + b, 0);
  expect(bytes.length).toBe(headerBytes + recordCount * recordBytes);
  const before = widths.slice(0, listAt).reduce((a, b) => a + b, 0);
  const starts: string[] = [];
  const notes: { onset: string; duration: string; text: string }[] = [];
  for (let record = 0; record < recordCount; record++) {
    const from = headerBytes + record * recordBytes + before;
    const list = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(from, from + widths[listAt]!));
    const used = list.replace(/\0+$/, '');
    expect(list.length).toBeGreaterThan(used.length); // the last list of a record is ended too
    for (const [i, tal] of used.split('\0').entries()) {
      const [, onset, duration, rest] = /^([+-]\d+(?:\.\d+)?)(?:\u0015(\d+(?:\.\d+)?))?\u0014([^]*)\u0014$/.exec(tal)!; // eslint-disable-line no-control-regex
      if (i === 0) expect(rest).toBe(''); // its time
      if (i === 0) starts.push(onset!);
      else notes.push({ onset: onset!, duration: duration ?? '', text: rest! });
    }
  }
  return { recordBytes, starts, notes };
}

/** 255 bytes, as long as an export writes them. */
const longNote = (i: number): string => `${i} ${'ä'.repeat(130)}`.slice(0, 128).padEnd(130, 'ä');

test.each([
  ['in one gap of a recording of an hour', 3600, (i: number) => 1000 + i / 200, 5],
  ['in its last second', 3600, (i: number) => 3599 + i / 20_000, 5],
  ['over all of it', 3600, (i: number) => i * 0.18, 3],
  ['before it', 3600, (i: number) => -20_000 + i, 5],
  ['without samples', 0, (i: number) => i / 10, 0],
] as const)('20,000 long notes %s are written whole, in a file of a fair size', (_, seconds, onsetOf, sizeOfSamples) => {
  const samples = wave(250 * seconds, 300);
  if (seconds > 0) samples.fill(MISSING, 1000 * 250, 1100 * 250);
  const signals = seconds === 0 ? [] : [{ label: 'ECG II', unit: 'mV', rateNanoHz: 250e9, gain: 200, baseline: 0, samples }];
  const annotations = Array.from({ length: 20_000 }, (_note, i) => ({ onsetSec: onsetOf(i), durationSec: i % 2 === 0 ? 1.5 : Number.NaN, text: longNote(i) })); // prettier-ignore
  const { bytes } = writeEdf(example({ signals, annotations }));
  const { recordBytes, starts, notes } = listsOf(bytes);
  expect(recordBytes).toBeLessThanOrEqual(61_440);
  expect(bytes.length).toBeLessThan(sizeOfSamples * 2 * samples.length + 2 * 20_000 * 300);
  const expected = Array.from({ length: seconds }, (_second, i) => i).filter((i) => i < 1000 || i >= 1100);
  expect(new Set(starts)).toEqual(new Set(seconds === 0 ? ['+0'] : expected.map((i) => `+${i}`)));
  expect(new Set(notes.map(({ text }) => text))).toEqual(new Set(annotations.map(({ text }) => text)));
  expect(notes.length).toBe(20_000);
  const byText = new Map(notes.map((note) => [note.text, note]));
  for (const { onsetSec, durationSec, text } of annotations) {
    const { onset, duration } = byText.get(text)!;
    expect(Number(onset)).toBeCloseTo(onsetSec, 8);
    expect(duration).toBe(Number.isNaN(durationSec) ? '' : '1.5');
  }
  expect(read(bytes).annotations.map(({ text }) => text)).toEqual(annotations.map(({ text }) => text));
});

test('a few notes stand in the record that covers them', () => {
  const text = Buffer.from(writeEdf(example()).bytes).toString('latin1');
  const at = (second: number): number => text.indexOf(`+${second}\u0014\u0014\0`);
  expect([text.indexOf('button'), text.indexOf('Lagewechsel')].map((found, i) => found > at([2, 4][i]!) && found < at([3, 5][i]!))).toEqual([true, true]); // prettier-ignore
});

test('more notes than a short recording has room for make its records as wide as they need', () => {
  const signals = [{ label: 'ECG II', unit: 'mV', rateNanoHz: 250e9, gain: 200, baseline: 0, samples: wave(500, 300) }];
  const annotations = Array.from({ length: 1000 }, (_, i) => ({ onsetSec: 0.5, durationSec: Number.NaN, text: longNote(i) }));
  const { recordBytes, notes } = listsOf(writeEdf(example({ signals, annotations })).bytes);
  expect(notes.length).toBe(1000);
  expect(recordBytes).toBeLessThan(200_000); // half of the notes, and a quarter
});

test('records as long as fractional rates need', () => {
  const file = read(
    writeEdf(example({ signals: [{ label: 'r', unit: '1', rateNanoHz: 130.1e9, gain: 1, baseline: 0, samples: wave(1301, 9) }] })).bytes,
  );
  expect(file.recordDurationSec).toBe(10);
  expect(file.signals[0]!.rateNanoHz).toBe(130.1e9);
});

test('a file that is cut off anywhere is refused or read as far as it goes, and never throws', () => {
  const { bytes } = writeEdf(example());
  for (let end = 0; end < bytes.length; end += end < 1100 ? 1 : 97) {
    const file = parseEdf(bytes.subarray(0, end));
    if (!isRejected(file)) expect(file.signals[0]!.samples.length).toBeLessThanOrEqual(3600);
  }
});

test('mutated files are refused or read, quickly and without throwing', () => {
  const { bytes } = writeEdf(example());
  let seed = 7;
  const random = (n: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % n;
  };
  for (let round = 0; round < 3000; round++) {
    const copy = bytes.slice();
    for (let i = 0; i < 1 + random(6); i++) copy[random(random(2) === 0 ? 1024 : copy.length)] = random(256);
    const file = parseEdf(copy);
    if (!isRejected(file)) expect(file.signals.length).toBeLessThanOrEqual(3);
  }
});

test('says which field is wrong', () => {
  const { bytes } = writeEdf(example());
  const wrong = bytes.slice();
  wrong.set(new TextEncoder().encode('99999999'), 256 + 3 * 216);
  expect(parseEdf(wrong)).toMatchObject({ rejected: true, detail: expect.stringContaining('samples per record') as string });
  expect(parseEdf(new Uint8Array(10))).toMatchObject({ rejected: true });
  const bdf = bytes.slice();
  bdf[0] = 0xff;
  expect(parseEdf(bdf)).toMatchObject({ detail: expect.stringContaining('BDF') as string });
});
