import { expect, it } from 'vitest';
import { CopyBuffer, microseconds } from './copy-binary.ts';

it('takes microseconds of nanoseconds as the division of bigints does, rounded down', () => {
  const floor = (ns: bigint): number => Number(ns >= 0n ? ns / 1000n : (ns - 999n) / 1000n);
  const edges = [
    0n,
    1n,
    999n,
    1000n,
    4_294_967_295n,
    4_294_967_296n,
    1_763_700_000_123_456_789n,
    1_763_700_000_123_999_999n,
    8_999_999_999_999_999_999n,
  ];
  for (const edge of edges) for (const ns of [edge, -edge, edge + 1n, -edge - 1n]) expect(microseconds(ns), `${ns}`).toBe(floor(ns));
  for (let i = 0n; i < 2000n; i++) {
    const ns = (i * 6_364_136_223_846_793n + 1_442_695_040n) % 9_000_000_000_000_000_000n;
    expect(microseconds(ns - 4_000_000_000_000_000n)).toBe(floor(ns - 4_000_000_000_000_000n));
  }
});

it('writes the fields of binary COPY, growing as it must', () => {
  const rows = new CopyBuffer(32);
  for (let i = 0; i < 50; i++) {
    rows.row(8);
    rows.int2(-2);
    rows.int4(-3);
    rows.int8(-4n);
    rows.float4(1.5);
    rows.float8(Number.NaN);
    rows.timestamptz(946_684_799_999_999);
    rows.text('é');
    rows.bytea(Uint8Array.of(1, 2, 3), 1, 3);
  }
  const row = [
    '0008',
    '00000002fffe',
    '00000004fffffffd',
    '00000008fffffffffffffffc',
    '000000043fc00000',
    'ffffffff',
    '00000008ffffffffffffffff',
    '00000002c3a9',
    '000000020203',
  ].join('');
  const bytes = rows.finish();
  expect(bytes.toString('hex', 0, 11)).toBe(Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1').toString('hex'));
  expect(bytes.toString('hex', 19)).toBe(`${row.repeat(50)}ffff`);
});

const fieldOf = (write: (rows: CopyBuffer) => void, room = 64): string => {
  const rows = new CopyBuffer(room);
  write(rows);
  expect(rows.bytes).toBeLessThanOrEqual(19 + 64);
  return rows.finish().toString('hex', 19).slice(0, -4);
};

it.each([
  ['the least of 2 bytes', (rows) => rows.int2(-32_768), '000000028000'],
  ['the most of 4 bytes', (rows) => rows.int4(2_147_483_647), '000000047fffffff'],
  ['the least of 8 bytes', (rows) => rows.int8(-(2n ** 63n)), '000000088000000000000000'],
  ['NaN of 4 bytes as null', (rows) => rows.float4(Number.NaN), 'ffffffff'],
  ['a number of 8 bytes', (rows) => rows.float8(-2.5), '00000008c004000000000000'],
  ['infinity', (rows) => rows.float4(-Infinity), '00000004ff800000'],
  ['no text', (rows) => rows.text(''), '00000000'],
  ['the year 2000', (rows) => rows.timestamptz(946_684_800_000_000), '000000080000000000000000'],
  ['2^32 us later', (rows) => rows.timestamptz(946_684_800_000_000 + 2 ** 32 + 7), '000000080000000100000007'],
  ['1970', (rows) => rows.timestamptz(0), `00000008${(2n ** 64n - 946_684_800_000_000n).toString(16)}`],
  ['bytes', (rows) => rows.bytea(Uint8Array.of(1, 2, 3)), '00000003010203'],
  ['bytes from the second', (rows) => rows.bytea(Uint8Array.of(1, 2, 3), 1), '000000020203'],
  ['bytes up to the second', (rows) => rows.bytea(Uint8Array.of(1, 2, 3), 0, 2), '000000020102'],
  [
    'bytes in place, fewer than there was room for',
    (rows) => rows.byteaInPlace(40, (out, at) => out.fill(7, at, at + 3) && at + 3),
    '00000003070707',
  ],
] as const satisfies readonly (readonly [string, (rows: CopyBuffer) => void, string])[])('writes %s', (_, write, wanted) => {
  // in every amount of room that there is left, the header's alone at least
  for (let room = 19; room < 90; room++) expect(fieldOf(write, room), `room ${room}`).toBe(wanted);
});

it('counts rows and bytes', () => {
  const rows = new CopyBuffer();
  expect([rows.rowCount, rows.bytes]).toEqual([0, 19]);
  rows.row(1);
  rows.null();
  rows.row(1);
  rows.int2(7);
  expect([rows.rowCount, rows.bytes]).toEqual([2, 19 + 2 + 4 + 2 + 6]);
});
