import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isRejected } from '../errors.ts';
import type { CsvTable } from './csv.ts';
import { parseCsv, writeCsv } from './csv.ts';

const MISSING = -2_147_483_648;
const options = { missing: MISSING };

function read(text: string, more = {}): CsvTable {
  const table = parseCsv(text, { ...options, ...more });
  if (isRejected(table)) throw new Error(table.detail);
  return table;
}

test('what is written reads back to the same digital samples, gaps included', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 9, arbitrary: fc.integer({ min: -8_000_000, max: 8_000_000 }) }, { weight: 1, arbitrary: fc.constant(MISSING) }), { minLength: 1, maxLength: 80 }), // prettier-ignore
      fc.constantFrom(1, 200, 1000, 333.25, 1e6, 0.1),
      fc.integer({ min: -5000, max: 5000 }),
      fc.constantFrom(250e9, 130.1e9, 64e9, 1e9, 333_333_333_333),
      (values, gain, baseline, rateNanoHz) => {
        const config = { code: 'ecg.ii', kind: 'ecg', rateNanoHz, gain, baseline, unit: 'mV', lead: 'II' } as const;
        const startUnixNs = 1_700_000_000_123_456_789n;
        const text = [...writeCsv({ startUnixNs, missing: MISSING, channels: [{ config, samples: Int32Array.from(values) }] })].join('');
        const table = parseCsv(text, options);
        if (isRejected(table)) throw new Error(table.detail);
        if (values.every((value) => value === MISSING)) return;
        const first = values.findIndex((value) => value !== MISSING);
        const last = values.findLastIndex((value) => value !== MISSING);
        expect(table.channels[0]!.config).toEqual(config);
        expect([...table.channels[0]!.samples]).toEqual(values.slice(first, last + 1));
        if (first === 0) expect(table.startUnixNs).toBe(startUnixNs);
      },
    ),
    { seed: 20_261_121 },
  );
});

test.each(['a,b', 'a;b;c;d', '"a"', ',', '"'])('a channel of the code %s is in one column, and comes back', (code) => {
  const config = { code, kind: 'other', rateNanoHz: 1e9, gain: 10, baseline: 0, unit: '1', lead: '' } as const;
  const channels = [
    { config, samples: Int32Array.of(1, 2, 3) },
    { config: { ...config, code: 'other' }, samples: Int32Array.of(4, 5, 6) },
  ];
  const table = read([...writeCsv({ startUnixNs: 1_700_000_000_000_000_000n, missing: MISSING, channels })].join(''));
  expect(table.channels).toEqual(channels);
});

test('reads other programs tables: separators, units in names, times in seconds', () => {
  const table = read('t [s];ECG [mV];Pulse\n0.000;0.125;1\n0.004;-0.5;\n0.008;1e-3;3\n0.012;0;4\n');
  expect(table.rateNanoHz).toBe(250e9);
  expect(table.startUnixNs).toBeNull();
  expect(table.channels.map(({ config }) => [config.code, config.unit, config.gain])).toEqual([
    ['ECG', 'mV', 1000],
    ['Pulse', '1', 1],
  ]);
  expect([...table.channels[0]!.samples]).toEqual([125, -500, 1, 0]);
  expect([...table.channels[1]!.samples]).toEqual([1, MISSING, 3, 4]);
});

test('reads a table without times at a stated rate', () => {
  const table = read('ecg\n1\n2\n3\n', { rateNanoHz: 100e9 });
  expect(table.rateNanoHz).toBe(100e9);
  expect([...table.channels[0]!.samples]).toEqual([1, 2, 3]);
});

/** Rows of a table at a rate, their times written by `format`. */
const tableOf = (header: string, hz: number, format: (ns: bigint) => string, n = 64): string =>
  `${header}\n${Array.from({ length: n }, (_, i) => `${format(1_767_225_599_000_000_000n + BigInt(Math.round((i * 1e9) / hz)))};${i}`).join('\n')}\n`;
const iso = (digits: number) => (ns: bigint) =>
  `${new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19)}.${String(ns % 1_000_000_000n).padStart(9, '0').slice(0, digits)}`; // prettier-ignore

test.each([
  ['time', 512, (ns: bigint) => `${iso(6)(ns)}Z`],
  ['time', 512, (ns: bigint) => iso(6)(ns).replace('T', ' ')],
  ['timestamp', 2048, (ns: bigint) => `${iso(9)(ns)}+00:00`],
  ['datetime', 2048, (ns: bigint) => iso(6)(ns)],
  ['time', 256, (ns: bigint) => iso(6)(ns).replace(/^(\d+)-(\d+)-(\d+)T(.*)\.(\d+)$/, '$3.$2.$1 $4,$5')],
  ['time', 250, (ns: bigint) => String(ns / 1_000_000n)],
  ['time', 512, (ns: bigint) => String(ns / 1000n)],
  ['time', 2048, (ns: bigint) => String(ns)],
  ['time', 250, (ns: bigint) => `${ns / 1_000_000_000n},${String(ns % 1_000_000_000n).padStart(9, '0')}`],
  ['time [ms]', 250, (ns: bigint) => String(ns / 1_000_000n)],
])('%s at %d Hz, however its times are written: %s', (header, hz, format) => {
  const table = read(tableOf(`${header};x`, hz, format));
  expect(table.startUnixNs).toBe(1_767_225_599_000_000_000n);
  expect(table.rateNanoHz).toBe(hz * 1e9);
  expect([...table.channels[0]!.samples]).toEqual(Array.from({ length: 64 }, (_, i) => i));
});

test('offsets are applied, dates before 1970 and after 2100 are dates, the last of nine decimals counts', () => {
  expect(read('time,x\n2026-01-01T01:59:59.123456789+02:00,1\n2026-01-01T02:00:00.123456789+02:00,2\n2026-01-01T02:00:01.123456789+02:00,3\n').startUnixNs).toBe(1_767_225_599_123_456_789n); // prettier-ignore
  expect(read('time,x\n1950-01-01T00:00:00Z,1\n1950-01-01T00:00:01Z,1\n1950-01-01T00:00:02Z,1\n').startUnixNs).toBe(-631_152_000_000_000_000n); // prettier-ignore
  expect(read('time,x\n2181-06-01 00:00:00,1\n2181-06-01 00:00:01,1\n2181-06-01 00:00:02,1\n').startUnixNs).toBe(BigInt(Date.UTC(2181, 5, 1)) * 1_000_000n); // prettier-ignore
});

test('a first column of times whose name is not known is said to be one, with the names that are', () => {
  for (const time of ['31.01.2026 08:00:00', '2026-01-31T08:00:00Z', '08:00:00']) {
    const table = parseCsv(`Datum Zeit;II\n${time};1\n`, { missing: MISSING });
    expect(table).toMatchObject({
      detail: `line 2: "${time}" is a time, and Datum Zeit is not known for a column of times: name the first column time, timestamp, date time, t or seconds`,
    });
  }
});

test('decimal commas where the separator is no comma', () => {
  const table = read('Time (s);EKG (mV);Temp\n0,000;0,125;36,6\n0,004;-0,5;\n0,008;1;36,7\n');
  expect(table.rateNanoHz).toBe(250e9);
  expect([...table.channels[0]!.samples]).toEqual([125, -500, 1000]);
  expect([...table.channels[1]!.samples]).toEqual([366, MISSING, 367]);
});

test('left-out rows are gaps', () => {
  const table = read('time_ms,x\n0,1\n10,2\n20,3\n50,6\n60,7\n70,8\n80,9\n90,10\n100,11\n110,12\n120,13\n130,14\n');
  expect([...table.channels[0]!.samples.subarray(0, 7)]).toEqual([1, 2, 3, MISSING, MISSING, 6, 7]);
});

test.each([
  ['', 'no header'],
  ['1,2\n3,4\n', 'a header is needed'],
  ['time_s,x\n0,1\n1\n', 'fields'],
  ['time_s,x\n0,1\nx,2\n', 'write ISO 8601'],
  ['time,x\n03/04/2026 08:00:00,1\n', 'day/month or month/day'],
  ['time,x\n08:00:00,1\n', 'has no date'],
  ['time,x\n2026-02-30T08:00:00Z,1\n', 'write ISO 8601'],
  ['time;x\n0;1,5\n1;1.234\n', 'with one point (or one comma'],
  ['time;x\n0;1.234,5\n', 'thousands without a mark'],
  [`time,x\n${Array.from({ length: 60 }, (_, i) => `${i === 15 ? 14 : i},1`).join('\n')}\n`, 'write times in order'],
  ['time_s,x\n0,1\n1,abc\n', 'no number'],
  ['time_s,x\n0,1\n5,1\n6,1\n60,1\n61,9\n300,2\n', 'evenly'],
  ['time_s,x\n0,1\n1,2\n', 'the table has only 2 rows'],
  ['time_s,x\n0,1\n', 'the table has only one row'],
  ['time_s,x\n', 'no rows'],
  ['x\n1\n', 'name the first column time'],
  ['# channel a {"kind":"nonsense"}\ntime_s,a\n0,1\n', 'kind'],
])('refuses %j and says why', (text, why) => {
  const table = parseCsv(text, options);
  expect(isRejected(table) ? table.detail : 'read').toContain(why);
});

test('mutated tables are read or refused, never a throw', () => {
  const config = { code: 'a', kind: 'ecg', rateNanoHz: 100e9, gain: 10, baseline: 0, unit: 'mV', lead: '' } as const;
  const text = [...writeCsv({ startUnixNs: 1_700_000_000_000_000_000n, missing: MISSING, channels: [{ config, samples: Int32Array.from({ length: 40 }, (_, i) => i) }] })].join(''); // prettier-ignore
  let seed = 3;
  const random = (n: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return (seed >>> 8) % n;
  };
  for (let round = 0; round < 3000; round++) {
    const characters = [...text];
    for (let i = 0; i < 1 + random(4); i++) characters[random(characters.length)] = String.fromCharCode(random(128));
    parseCsv(characters.join(''), options);
  }
});

/** A sine of 2500 rows at 250 Hz, one value of which is another. */
const sineWith = (value: string, decimals = 3): string =>
  `time_s,ECG\n${Array.from({ length: 2500 }, (_, i) => `${(i / 250).toFixed(3)},${i === 1000 ? value : (0.9 * Math.sin(i / 10)).toFixed(decimals)}`).join('\n')}\n`;

test.each(['9.9E+36', '-9.9E+36', '1000000000', '3000000.5'])(
  'a value that would cost the others their decimals is refused: %s',
  (value) => {
    const table = parseCsv(sineWith(value, 9), options);
    expect(isRejected(table) && table.detail).toContain(`line 1002, ECG: ${Number(value)} `);
  },
);

test('a value beyond 32 bits is refused in a column without decimals, and in one that is described', () => {
  const plain = parseCsv('time_s,ADC\n0,1\n1,3000000000\n2,3\n', options);
  expect(isRejected(plain) && plain.detail).toContain('line 3, ADC: 3000000000 does not fit');
  const channel = '# channel ecg.ii {"kind":"ecg","rate_nhz":1000000000,"gain":1000,"baseline":0,"unit":"mV","lead":"II"}';
  const described = parseCsv(`${channel}\ntime_ns,ecg.ii\n0,1\n\n1000000000,2147484\n`, options);
  expect(isRejected(described) && described.detail).toContain('line 5, ecg.ii: 2147484 does not fit');
});

test('a large value that leaves the others their decimals is read, and so is a wide range that many values have', () => {
  expect(read(sineWith('50000')).channels[0]!.config.gain).toBe(1000);
  expect(read(sineWith('5.123456789', 9)).channels[0]!.config.gain).toBe(1e8);
  const peaks = Array.from({ length: 1000 }, (_, i) => `${i},${i % 20 === 0 ? '500.123456789' : '0.000123456'}`);
  expect(read(`time_s,force\n${peaks.join('\n')}\n`).channels[0]!.config.gain).toBe(1e6);
});

test('a column too small for nine decimals is said to have become 0', () => {
  const table = read('time_s,MEG [T]\n0,1.5e-13\n1,-2e-13\n2,1e-13\n');
  expect(table.notKept).toEqual([expect.stringContaining('MEG [T]: all its values are rounded to 0')]);
  expect(read('time_s,a\n0,0.0\n1,0.0\n2,0\n').notKept).toEqual([]);
});

test.each([0n, -1n, 999_999_999n, 1_000_000_000n, 1_700_000_000_123_456_789n, -5_000_000_001n])(
  'times of rows from %s are exact',
  (startUnixNs) => {
    for (const rateNanoHz of [1e9, 7e9, 360e9, 333_333_333_333, 130.1e9]) {
      const config = { code: 'ecg.ii', kind: 'ecg', rateNanoHz, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
      const samples = Int32Array.from({ length: 1500 }, (_, i) => i);
      const rows = [...writeCsv({ startUnixNs, missing: MISSING, channels: [{ config, samples }] })].join('').trim().split('\n').slice(3); // prettier-ignore
      const exact = [...samples].map(
        (i) => `${startUnixNs + (BigInt(i) * 10n ** 18n + BigInt(rateNanoHz) / 2n) / BigInt(rateNanoHz)},${i / 200}`,
      );
      expect(rows).toEqual(exact);
    }
  },
);
