import { expect, test } from 'vitest';
import { JsonColumns, setTime } from './json-columns.ts';

function written(write: (json: JsonColumns) => void): string {
  const json = new JsonColumns(0);
  write(json);
  return Buffer.from(json.take()).toString();
}

test('numbers have the digits that String gives them', () => {
  const values = [
    0,
    -0,
    1,
    -1,
    0.5,
    72.04,
    72.004,
    -0.001,
    1.0005,
    1e-7,
    -1e-7,
    1 / 3,
    0.1 + 0.2,
    1e21,
    -1e300,
    5e-324,
    2147483.647,
    2147483.648,
  ];
  for (let i = 0; i < 20_000; i++) values.push(((i * 7919) % 200_003) / 1000 - 60, Math.sin(i) * 10 ** ((i % 40) - 20));
  expect(written((json) => json.numbers(new Float64Array(values)))).toBe(`[${values.map(String).join()}]`);
  expect(written((json) => json.numbers(new Float64Array([NaN, 1, NaN])))).toBe('[null,1,null]');
  expect(written((json) => json.numbers(new Uint8Array([0, 1, 2, 255])))).toBe('[0,1,2,255]');
});

test('times are exact to the last digit, from 1677 to 2262', () => {
  const sec = [0n, 1n, -1n, 59n, 1_767_225_599n, 1_767_225_600n, 2_147_483_647n, 2_147_483_648n, 9_223_372_035n, -9_223_372_036n];
  const within = [0n, 1n, 999n, 1000n, 500_000n, 999_999n, 1_000_000n, 500_000_000n, 999_999_999n];
  const times = sec.flatMap((s) => within.map((ns) => s * 1_000_000_000n + ns));
  expect(written((json) => json.times(BigInt64Array.from(times), 'ns'))).toBe(`[${times.join()}]`);
});

test('milliseconds have the microseconds behind them, when there are some', () => {
  const times = BigInt64Array.of(
    1_767_225_600_000_000_000n,
    1_767_225_600_000_999_999n,
    1_767_225_601_500_000_000n,
    4_000_000_000_012_345_000n,
  );
  expect(written((json) => json.times(times, 'ms'))).toBe('[1767225600000,1767225600000.999,1767225601500,4000000000012.345]');
});

test('a time is set from its minute without a bigint', () => {
  const column = new BigInt64Array(1);
  for (const minute of [0, 1, 29_453_760, 29_453_761, 50_000_000, 150_000_000])
    for (const ns of [0, 1, 999_999_999, 1_000_000_000, 31_234_567_891, 59_999_999_999]) {
      setTime(new Int32Array(column.buffer), 0, minute, ns);
      expect(column[0]).toBe(BigInt(minute) * 60_000_000_000n + BigInt(ns));
    }
});

test('empty columns, choices and names are written, and room is found', () => {
  expect(written((json) => json.numbers(new Float64Array(0)))).toBe('[]');
  expect(written((json) => json.times(new BigInt64Array(0), 'ns'))).toBe('[]');
  expect(written((json) => json.choices(['false', 'true'], new Uint8Array([1, 0, 1])))).toBe('[true,false,true]');
  expect(written((json) => json.choices(['false', 'true'], new Uint8Array(0)))).toBe('[]');
  const name = JSON.stringify('Größe ♥ 😀'.repeat(100));
  expect(written((json) => json.text(name))).toBe(name);
});
