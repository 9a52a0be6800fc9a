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
