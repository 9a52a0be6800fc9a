/** Round trips by fast-check; hostile files by hand; the real recordings where they are present. */

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { isRejected } from '../errors.ts';
import { encodeAnnotations, parseAnnotations, readAnnotations, writeAnnotations } from './wfdb-annotations.ts';
import { parseHeader, readHeader } from './wfdb-header.ts';
import type { WfdbHeader } from './wfdb-header.ts';
import { decodeGroup, physicalSamples, readRecord } from './wfdb-read.ts';
import { MISSING_SAMPLE } from './wfdb-samples.ts';
import { writeRecord } from './wfdb-write.ts';

const dataDir = process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '../../../shared/data');
const mitdb = join(dataDir, 'mitdb');
const havePhysioNet = existsSync(join(mitdb, '101.hea'));
if (!havePhysioNet) console.warn(`SKIPPED: no recordings in ${mitdb} (set BIO_TEST_DATA)`);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wfdb-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

function header(text: string): WfdbHeader {
  const parsed = parseHeader(text);
  if (isRejected(parsed)) throw new Error(parsed.detail);
  return parsed;
}

describe('header', () => {
  test('reads gain, baseline, unit, offset and description', () => {
    const h = header(
      'r1 2 360/720(1) 650000 12:00:00 01/02/1975\n# 69 M\nr1.dat 212x2:3+16 200.5(-12)/uV 11 1024 995 -22131 0 MLII lead\nr1.dat 212x1+16 0 11 1024\n',
    );
    expect(h).toMatchObject({ name: 'r1', fs: 360, frameCount: 650_000, baseTime: '12:00:00 01/02/1975', comments: ['69 M'] });
    expect(h.signals[0]).toMatchObject({
      format: 212,
      samplesPerFrame: 2,
      skew: 3,
      byteOffset: 16,
      gain: 200.5,
      baseline: -12,
      unit: 'uV',
      name: 'MLII lead',
      checksum: -22_131,
    });
    expect(h.signals[1]).toMatchObject({ gain: 200, baseline: 1024, unit: 'mV', name: 'signal 1', checksum: null });
  });

  test.each([
    ['12:00:00 01/02/1975', Date.UTC(1975, 1, 1, 12)],
    ['1:2:3.5 31/12/1999', Date.UTC(1999, 11, 31, 1, 2, 3, 500)],
    ['17:30:54.123 07/12/2112', Date.UTC(2112, 11, 7, 17, 30, 54, 123)],
    ['12:00:00', null],
    ['12:00:00 31/02/1999', null],
    ['12:00:00 01/01/1899', null],
    ['25:00:00 01/01/1999', null],
  ])('base time and date "%s" are the start, in UTC', (base, ms) => {
    const expected = ms === null ? null : BigInt(ms) * 1_000_000n;
    expect(header(`r 0 360 10 ${base}\n`).startUnixNs).toBe(expected);
  });

  test('a comment with the start to the nanosecond goes before them; a gain may be negative', () => {
    const h = header('r 1 360 10 12:00:00 01/02/1975\nr.dat 16 -200(3)/mV\n# start_unix_ns 1767225599123456789\n');
    expect(h.startUnixNs).toBe(1_767_225_599_123_456_789n);
    expect(h.signals[0]).toMatchObject({ gain: -200, baseline: 3 });
  });

  it.each([
    ['', 'record name'],
    ['r/3 2 360 10', 'multi-segment'],
    ['../r 0 360', 'multi-segment'],
    ['r 300 360 10', 'signal count'],
    ['r -1 360 10', 'signal count'],
    ['r 1 0 10\nr.dat 16', 'sampling rate'],
    ['r 1 1e9 10\nr.dat 16', 'sampling rate'],
    ['r 1 360 99999999999\nr.dat 16', 'sample count'],
    ['r 2 360 10\nr.dat 16', 'announced'],
    ['r 1 360 10\n../r.dat 16', 'plain name'],
    ['r 1 360 10\n/etc/passwd 16', 'plain name'],
    ['r 1 360 10\nsub/r.dat 16', 'plain name'],
    ['r 1 360 10\nsub\\r.dat 16', 'plain name'],
    ['r 1 360 10\n.hidden 16', 'plain name'],
    ['r 1 360 10\n- 16', 'plain name'],
    ['r 1 360 10\n~ 0', 'plain name'],
    ['r 1 360 10\nr.dat 9', 'format'],
    ['r 1 360 10\nr.dat 16x0', 'out of range'],
    ['r 1 360 10\nr.dat 16 --5', 'gain'],
    ['r 1 360 10\nr.dat 16 1e999', 'gain'],
    ['r 3 360 10\na.dat 16\nb.dat 16\na.dat 16', 'returns'],
    ['r 2 360 10\na.dat 16\na.dat 212', 'two formats'],
  ])('refuses %j', (text, why) => {
    const parsed = parseHeader(text);
    expect(isRejected(parsed) && parsed.detail).toContain(why);
  });

  test('never throws on any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => void parseHeader(text)));
  });
});

describe('signals', () => {
  const range = { 16: 32_767, 212: 2047 } as const;
  it.each([16, 212] as const)('format %i comes back as it was written', async (format) => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.integer({ min: -range[format], max: range[format] }), { maxLength: 40 }),
        async (count, values) => {
          const leads = Array.from({ length: count }, (_, i) => ({
            name: `lead ${i}`,
            gain: 200.25 + i,
            baseline: 12 - i,
            unit: 'mV',
            samples: Int32Array.from(values, (v, at) => (at % 7 === i ? MISSING_SAMPLE : v)),
          }));
          await writeRecord(folder, { name: 'trip', fs: 130.1, leads, comments: ['hello'] }, format);
          const back = await readRecord(join(folder, 'trip.hea'));
          expect(back).toMatchObject({ name: 'trip', fs: 130.1, rateNanoHz: 130_100_000_000, comments: ['hello'] });
          expect(back.leads).toEqual(leads.map((lead) => ({ ...lead, fs: 130.1, rateNanoHz: 130_100_000_000, checksumOk: true })));
        },
      ),
      { numRuns: 30 },
    );
  });

  it.each([
    [16, [0x34, 0x12, 0xff, 0xff], [0x1234, -1]],
    [61, [0x12, 0x34, 0xff, 0xff], [0x1234, -1]],
    [160, [0x00, 0x80, 0x01, 0x00], [0, -32_767]],
    [80, [0x80, 0xff, 0x00], [0, 127, MISSING_SAMPLE]],
    [24, [0xff, 0xff, 0xff, 0x01, 0x00, 0x40], [-1, 0x400001]],
    [32, [0xfe, 0xff, 0xff, 0xff], [-2]],
    [212, [0x01, 0xf0, 0xff], [1, -1]],
    [212, [0x00, 0x08], [MISSING_SAMPLE]],
    // 1, -1, 10 bits of the highest five of both pairs: 0b00010 and 0b11111
    [310, [0x02, 0x10, 0xfe, 0xff], [1, -1, -30]],
    [310, [0x00, 0x04], [MISSING_SAMPLE]],
    [311, [0x01, 0xfc, 0xef, 0x1f], [1, -1, 510]],
    [311, [0x00, 0x02], [MISSING_SAMPLE]],
    [8, [0x01, 0xff, 0x7f], [1, 0, 127]],
  ])('format %i decodes %j', (format, bytes, want) => {
    const h = header(`r 1 360 0\nr.dat ${format}`);
    const leads = decodeGroup(Uint8Array.from(bytes), h.signals, h);
    expect(isRejected(leads) ? leads : [...leads[0]!.samples]).toEqual(want);
  });

  test('differences of format 8 begin at the initial value of each signal', () => {
    const h = header('r 2 100 3\nr.dat 8 200 8 0 50\nr.dat 8 200 8 0 -7');
    const leads = decodeGroup(Uint8Array.of(0, 1, 0x80, 1, 3, 0xfe), h.signals, h);
    if (isRejected(leads)) throw new Error(leads.detail);
    expect(leads.map(({ samples }) => [...samples])).toEqual([
      [50, -78, -75],
      [-6, -5, -7],
    ]);
  });

  test('a pair of bytes at the end of format 310 is one sample', () => {
    const h = header('r 1 360 5\nr.dat 310');
    expect(isRejected(decodeGroup(new Uint8Array(6), h.signals, h))).toBe(true);
    expect(isRejected(decodeGroup(new Uint8Array(8), h.signals, h))).toBe(false);
  });

  test('several samples per frame make a faster lead, a skew is taken off', () => {
    const h = header('r 2 100 3\nr.dat 80x2\nr.dat 80:1');
    const leads = decodeGroup(
      Uint8Array.from([1, 2, 9, 3, 4, 10, 5, 6, 11], (v) => v + 128),
      h.signals,
      h,
    );
    if (isRejected(leads)) throw new Error(leads.detail);
    expect(leads[0]).toMatchObject({ fs: 200, samples: Int32Array.of(1, 2, 3, 4, 5, 6) });
    expect(leads[1]).toMatchObject({ fs: 100, samples: Int32Array.of(10, 11, MISSING_SAMPLE) });
    expect([...physicalSamples({ gain: 2, baseline: 8, samples: leads[1]!.samples })]).toEqual([1, 1.5, Number.NaN]);
  });

  test('a file shorter than its header says is refused at every length', () => {
    const h = header('r 2 360 5\nr.dat 212\nr.dat 212');
    for (let n = 0; n < 15; n++) expect(isRejected(decodeGroup(new Uint8Array(n), h.signals, h))).toBe(true);
    expect(isRejected(decodeGroup(new Uint8Array(15), h.signals, h))).toBe(false);
  });

  test('a sample outside the format is refused when writing', async () => {
    const lead = { name: 'a', gain: 1, baseline: 0, unit: 'mV', samples: Int32Array.of(2048) };
    await expect(writeRecord(folder, { name: 'x', fs: 1, leads: [lead] }, 212)).rejects.toThrow('2048');
    await expect(writeRecord(folder, { name: '../x', fs: 1, leads: [lead] })).rejects.toThrow('name');
  });
});

describe('files', () => {
  test('text of a device is one field of the header, and no line of its own, whatever it is', async () => {
    // Cut to their low byte, U+010A is a line feed, U+0120 a space and U+0123 a number sign.
    const leads = ['kΩ', '\u03bcV', 'a\u010ab', 'a\u0120b', '\u0123a', 'm V'].map((unit) => ({
      name: `lead ${unit}`,
      gain: 200,
      baseline: 0,
      unit,
      samples: Int32Array.from([1, 2]),
    }));
    await writeRecord(folder, { name: 'units', fs: 1, leads, comments: ['unit \u010a1 2'] });
    const { signals, comments } = await readHeader(join(folder, 'units'));
    expect(signals.map(({ unit }) => unit)).toEqual(['kOhm', 'uV', 'aCb', 'aGb', 'ga', 'm_V']);
    expect(signals.map(({ name }) => name)).toEqual(['lead kOhm', 'lead uV', 'lead aCb', 'lead aGb', 'lead ga', 'lead m V']);
    expect(comments).toEqual(['unit C1 2']);
  });

  test('a link out of the folder, a pipe and a folder are refused', async () => {
    const inner = join(folder, 'inner');
    await mkdir(inner, { recursive: true });
    await writeFile(join(folder, 'secret.dat'), new Uint8Array(4));
    await symlink(join(folder, 'secret.dat'), join(inner, 'link.dat'));
    await writeFile(join(inner, 'link.hea'), 'link 1 360 2\nlink.dat 16\n');
    await expect(readRecord(join(inner, 'link.hea'))).rejects.toMatchObject({
      code: 'validation_failed',
      message: expect.stringContaining('out of the folder'),
    });
    execFileSync('mkfifo', [join(inner, 'pipe.dat')]);
    await writeFile(join(inner, 'pipe.hea'), 'pipe 1 360 2\npipe.dat 16\n');
    await expect(readRecord(join(inner, 'pipe.hea'))).rejects.toMatchObject({ code: 'validation_failed' });
    await mkdir(join(inner, 'dir.dat'));
    await writeFile(join(inner, 'dir.hea'), 'dir 1 360 2\ndir.dat 16\n');
    await expect(readRecord(join(inner, 'dir.hea'))).rejects.toMatchObject({ code: 'validation_failed' });
    await expect(readHeader(join(inner, 'absent'))).rejects.toMatchObject({ code: 'not_found' });
    await writeFile(join(inner, 'big.hea'), '#'.repeat(70_000));
    await expect(readHeader(join(inner, 'big'))).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});

describe('annotations', () => {
  const annotation = fc.record({
    step: fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 0, max: 2 ** 33 })),
    code: fc.constantFrom('N', 'V', '+', '~', '/', '"', 'r', '@'),
    subtype: fc.integer({ min: -128, max: 127 }),
    channel: fc.integer({ min: 0, max: 255 }),
    number: fc.integer({ min: -128, max: 127 }),
    aux: fc.stringMatching(/^[ -~]{0,21}$/),
  });
  const isBeat = (code: string): boolean => 'NV/r'.includes(code);

  test('come back as they were written, and are refused when cut off at any byte', () => {
    fc.assert(
      fc.property(fc.array(annotation, { maxLength: 12 }), (steps) => {
        let sample = 1;
        const list = steps.map(({ step, ...rest }) => ({ ...rest, sample: (sample += step), isBeat: isBeat(rest.code) }));
        const bytes = encodeAnnotations(list);
        expect(parseAnnotations(bytes)).toEqual({ annotations: list, timeResolutionHz: null });
        for (let n = 0; n < bytes.length; n++) expect(isRejected(parseAnnotations(bytes.subarray(0, n)))).toBe(true);
      }),
    );
  });

  test('never throw on any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => void parseAnnotations(bytes)));
  });

  test('a stated time resolution is reported, not listed', () => {
    const bytes = encodeAnnotations([
      { sample: 0, code: '"', aux: '## time resolution: 1000' },
      { sample: 5, code: 'N' },
    ]);
    expect(parseAnnotations(bytes)).toMatchObject({ timeResolutionHz: 1000, annotations: [{ sample: 5 }] });
  });

  test('a modifier without an annotation and a time before 0 are refused', () => {
    expect(parseAnnotations(Uint8Array.of(0, 61 << 2, 0, 0))).toMatchObject({ rejected: true });
    expect(parseAnnotations(Uint8Array.of(0, 59 << 2, 0xff, 0xff, 0, 0, 1, 1 << 2, 0, 0))).toMatchObject({ rejected: true });
    expect(() =>
      encodeAnnotations([
        { sample: 5, code: 'N' },
        { sample: 4, code: 'N' },
      ]),
    ).toThrow('after 5');
    expect(() => encodeAnnotations([{ sample: 5, code: 'no' }])).toThrow('code');
  });
});

describe.skipIf(!havePhysioNet)('MIT-BIH', () => {
  test('record 101: the sums of its samples agree with the header, 1,865 beats', async () => {
    const record = await readRecord(join(mitdb, '101.hea'));
    expect(record.leads.map((lead) => [lead.name, lead.samples.length, lead.checksumOk])).toEqual([
      ['MLII', 650_000, true],
      ['V1', 650_000, true],
    ]);
    const annotations = await readAnnotations(join(mitdb, '101.atr'));
    expect(annotations.filter((a) => a.isBeat)).toHaveLength(1865);
    expect(annotations[0]).toMatchObject({ sample: 7, code: '+', aux: '(N' });
    const path = join(folder, '101.cpy');
    await writeAnnotations(path, annotations);
    expect(await readAnnotations(path)).toEqual(annotations);
  });
});
