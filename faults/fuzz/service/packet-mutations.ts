/** Mutations of a packet that know its schema: plain JSON, so that a case can be kept in a file and cut down. Places are fractions of what
 *  there is, so that a mutation means something whatever the others did. */
import type { Random } from '../../../src/cli/simulator/random.ts';
import { placesOf, readTree, varintBytes, writeTree } from './packet-tree.ts';
import type { Field, Place, WireType } from './packet-tree.ts';

/** A value as JSON: digits of an integer, or bytes in base64. */
type Given = Readonly<{ int: string }> | Readonly<{ base64: string }>;
export type Mutation =
  | Readonly<{ op: 'set'; path: string; at: number; value: Given }>
  | Readonly<{ op: 'samples'; at: number; field: 3 | 4 | 5 | 6; pattern: SamplePattern; count: number }>
  | Readonly<{ op: 'quality'; at: number; runs: readonly number[] }>
  | Readonly<{ op: 'wire'; at: number; wire: WireType }>
  | Readonly<{ op: 'repeat'; at: number; times: number }>
  | Readonly<{ op: 'drop'; at: number }>
  | Readonly<{ op: 'unknown'; at: number; no: number; wire: WireType; size: number }>
  | Readonly<{ op: 'length'; at: number; off: number }>
  | Readonly<{ op: 'pad'; at: number; bytes: number }>
  | Readonly<{ op: 'swap'; at: number; to: number }>
  | Readonly<{ op: 'cut'; at: number }>
  | Readonly<{ op: 'flip'; at: number; bit: number }>;

export const samplePatterns = ['extremes', 'constant', 'nan', 'infinite', 'huge', 'noise', 'spikes'] as const;
export type SamplePattern = (typeof samplePatterns)[number];

const int = (value: bigint | number): Given => ({ int: String(value) });
const bytes = (value: Uint8Array): Given => ({ base64: Buffer.from(value).toString('base64') });
const text = (value: string): Given => bytes(Buffer.from(value));
const float = (value: number): Given => {
  const buffer = Buffer.alloc(8);
  buffer.writeDoubleLE(value);
  return int(buffer.readBigUInt64LE());
};

const SEC = 1_000_000_000n;
const edges = [
  0n,
  1n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 63n - 1n,
  2n ** 63n,
  2n ** 64n - 1n,
];
/** Unix ns of days at which something begins or ends: calendars, clocks that were never set, 32 bits of seconds, 64 bits of ns. */
const days = ['1900-01-01', '1970-01-02', '2000-01-01', '2015-01-01', '2038-01-19', '2199-12-31', '2200-01-02'].map(
  (day) => BigInt(Date.parse(day)) * 1_000_000n,
);
const times = [...edges, ...days.flatMap((day) => [day - 1n, day, day + 1n])];
const texts = [
  '',
  'a',
  'x'.repeat(16),
  'x'.repeat(17),
  'x'.repeat(64),
  'x'.repeat(65),
  'x'.repeat(256),
  'x'.repeat(5000),
  'a\0b',
  '\u001b[2J',
  '\u0085',
  '\u202eabc',
  "'; drop table stream; --",
  '{"a":1}',
  '../../etc/passwd',
  '__proto__',
  '%s%n',
  '\\u0000',
  '=1+1',
  '<b>&amp;',
  'a,b;"c"\n',
  '\u{1F600}'.repeat(16),
  'e\u0301',
  '\ufeffx',
].map(text);
const badUtf8 = [
  Uint8Array.of(0xff),
  Uint8Array.of(0xed, 0xa0, 0x80),
  Uint8Array.of(0xc0, 0x80),
  Uint8Array.of(0xf4, 0x90, 0x80, 0x80),
].map(bytes);
const offsets = [...edges, 1n, 999_999_999n, 3600n * SEC, 86_400n * SEC, 86_400n * SEC + 1n].map(int);
const doubles = [0, -0, 1, -1, 5e-324, -5e-324, 1e-30, 1e30, 1.7976931348623157e308, -1.7976931348623157e308, NaN, Infinity, -Infinity].map(
  float,
);
const codes = [
  'ecg.ii',
  'ppg.ir',
  'eda',
  'temp.skin',
  'resp',
  'acc.x',
  'other',
  'hr',
  'steps',
  'spo2',
  'battery',
  'ECG',
  'a b',
  'x'.repeat(32),
  'x'.repeat(33),
  '.',
  '-',
].map(text);
const units = ['', '1', 'mV', 'uV', 'Cel', '%', '/min', 'x'.repeat(16), 'x'.repeat(17), '\u00b5V', 'mV\0'].map(text);
const rates = [0, 1, 999_999, 1_000_000, 3_333_333, 1e9, 130_100_000_000, 512e9, 1e12, 1e15, 1e15 + 1].map(int);

/** What a field is set to, by its path. */
const values: Readonly<Record<string, readonly Given[]>> = {
  '1': edges.map(int),
  '2': [...texts, ...badUtf8],
  '3': [0, 1, 15, 16, 17, 4000].map((size) => bytes(new Uint8Array(size).fill(size === 16 ? 0xff : 7))),
  '4': [...edges, 2n ** 53n - 2n, 4096n].map(int),
  '5': [...times, 2n ** 52n - 1n, 2n ** 52n, 2n ** 62n - 1n, 2n ** 62n].map(int),
  '6': times.map(int),
  '7': times.map(int),
  '8': [...texts, ...badUtf8],
  '9': [...texts, ...badUtf8],
  '13': [...times, ...days.map((day) => -day), -1n, -(2n ** 63n)].map(int),
  '10.2': offsets,
  '10.1.1': [...codes, ...texts],
  '10.1.2': [...edges, 2n, 5n, 8n, 9n].map(int),
  '10.1.3': rates,
  '10.1.4': doubles,
  '10.1.5': doubles,
  '10.1.6': [...units, ...texts],
  '10.1.7': texts,
  '11.1': [...codes, ...texts],
  '11.2': offsets,
  '11.3': doubles,
  '11.4': [...units, ...texts],
  '11.5': [...edges, 2n, 3n].map(int),
  '12.1': [...codes, ...texts],
  '12.2': offsets,
  '12.3': [...texts, ...badUtf8],
};
const wireOf: Readonly<Record<string, WireType>> = { '5': 1, '6': 1, '7': 1, '13': 1, '10.1.4': 1, '10.1.5': 1, '11.3': 1 };
const paths = Object.keys(values);

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;
const below = (random: Random, n: number): number => Math.floor(random.next() * n);

/** One mutation. Two thirds of them leave a well-formed packet whose values are at an end of what they may be. */
export function makeMutation(random: Random): Mutation {
  const at = random.next();
  const kind = random.next();
  if (kind < 0.5) {
    const path = pick(random, paths);
    return { op: 'set', path, at, value: pick(random, values[path]!) };
  }
  if (kind < 0.62)
    return {
      op: 'samples',
      at,
      field: pick(random, [3, 4, 5, 6] as const),
      pattern: pick(random, samplePatterns),
      count: pick(random, [0, 1, 2, 250, 250, 4000, 262_144, 300_000]),
    };
  if (kind < 0.68)
    return { op: 'quality', at, runs: pick(random, [[0], [1001], [1, 2], [4, 5, 6], [2 ** 31], [4 * 250 + 3], [4 * 249 + 2]]) };
  switch (below(random, 9)) {
    case 0:
      return { op: 'wire', at, wire: pick(random, [0, 1, 2, 5] as const) };
    case 1:
      return { op: 'repeat', at, times: pick(random, [1, 2, 64, 255, 256, 300]) };
    case 2:
      return { op: 'drop', at };
    case 3:
      return {
        op: 'unknown',
        at,
        no: pick(random, [0, 8, 14, 15, 100, 2 ** 29 - 1]),
        wire: pick(random, [0, 1, 2, 5] as const),
        size: pick(random, [0, 1, 100, 70_000]),
      };
    case 4:
      return { op: 'length', at, off: pick(random, [-1, 1, 2, 1000, 2 ** 31, 2 ** 32]) };
    case 5:
      return { op: 'pad', at, bytes: pick(random, [1, 3, 9, 20]) };
    case 6:
      return { op: 'swap', at, to: random.next() };
    case 7:
      return { op: 'cut', at };
    default:
      return { op: 'flip', at, bit: below(random, 8) };
  }
}

/** @param valid one packet */
export function mutatePacket(valid: Uint8Array, mutations: readonly Mutation[]): Uint8Array {
  const tree = readTree(valid);
  let out: Uint8Array | null = null;
  for (const mutation of mutations) {
    if (mutation.op === 'cut' || mutation.op === 'flip') out = mutateBytes(out ?? writeTree(tree), mutation);
    else if (out === null) mutateTree(tree, mutation);
  }
  return out ?? writeTree(tree);
}

function mutateBytes(given: Uint8Array, mutation: Mutation & { op: 'cut' | 'flip' }): Uint8Array {
  const at = Math.floor(mutation.at * given.length);
  if (mutation.op === 'cut') return given.slice(0, at);
  const copy = given.slice();
  if (copy.length > 0) copy[at]! ^= 1 << mutation.bit;
  return copy;
}

function mutateTree(tree: Field[], mutation: Exclude<Mutation, { op: 'cut' | 'flip' }>): void {
  const all = placesOf(tree);
  const at = (places: readonly Place[], fraction: number): Place | undefined => places[Math.floor(fraction * places.length)];
  switch (mutation.op) {
    case 'set':
      return setField(tree, all, mutation);
    case 'samples': {
      const block = at(
        all.filter(({ path }) => path === '10'),
        mutation.at,
      );
      if (block === undefined) return;
      const field = block.list[block.index]!;
      const others = (field.value as Field[]).filter(({ no }) => no < 3 || no > 7);
      field.value = [...others, { no: mutation.field, wire: 2, value: sampleBytes(mutation.field, mutation.pattern, mutation.count) }];
      return;
    }
    case 'quality': {
      const block = at(
        all.filter(({ path }) => path === '10'),
        mutation.at,
      );
      if (block === undefined) return;
      const value = Buffer.concat(mutation.runs.map((run) => varintBytes(BigInt(run))));
      const field = block.list[block.index]!;
      field.value = [...(field.value as Field[]).filter(({ no }) => no !== 7), { no: 7, wire: 2, value }];
      return;
    }
    default:
  }
  const place = at(all, mutation.at);
  if (place === undefined) return;
  const { list, index } = place;
  const field = list[index]!;
  if (mutation.op === 'wire') field.wire = mutation.wire;
  else if (mutation.op === 'repeat') list.splice(index, 0, ...Array.from({ length: mutation.times }, () => structuredClone(field)));
  else if (mutation.op === 'drop') list.splice(index, 1);
  else if (mutation.op === 'unknown') list.splice(index, 0, { no: mutation.no, wire: mutation.wire, value: new Uint8Array(mutation.size) });
  else if (mutation.op === 'length') field.lengthOff = mutation.off;
  else if (mutation.op === 'pad') field.padding = mutation.bytes;
  else list.splice(Math.floor(mutation.to * list.length), 0, ...list.splice(index, 1));
}

/** In the message that the path names; a field that is not there is added. */
function setField(tree: Field[], all: readonly Place[], { path, at, value }: Mutation & { op: 'set' }): void {
  const no = Number(path.split('.').at(-1));
  const parent = path.split('.').slice(0, -1).join('.');
  const parents = all.filter((place) => place.path === parent);
  const message = parent === '' ? tree : (parents[Math.floor(at * parents.length)] ?? null);
  if (message === null) return;
  const list = Array.isArray(message) ? message : (message.list[message.index]!.value as Field[]);
  if (!Array.isArray(list)) return;
  const wire = wireOf[path] ?? ('int' in value ? 0 : 2);
  const field: Field = { no, wire, value: 'int' in value ? BigInt(value.int) : new Uint8Array(Buffer.from(value.base64, 'base64')) };
  const index = list.findIndex((one) => one.no === no);
  if (index >= 0) list[index] = field;
  else list.push(field);
}

/** Of 300,000 samples: more than a packet may have. */
function sampleBytes(field: 3 | 4 | 5 | 6, pattern: SamplePattern, count: number): Uint8Array {
  const floats = {
    extremes: [3.4e38, -3.4e38],
    constant: [1],
    nan: [NaN],
    infinite: [Infinity, -Infinity],
    huge: [1e30],
    noise: [0.3, -0.7, 1.1],
    spikes: [0, 0, 0, 1e6],
  };
  const ints = {
    extremes: [2 ** 31 - 1, -(2 ** 31)],
    constant: [1],
    nan: [-(2 ** 31)],
    infinite: [2 ** 31 - 1],
    huge: [1e9],
    noise: [3, -7, 11],
    spikes: [0, 0, 0, 1e6],
  };
  const list = field === 6 ? floats[pattern] : ints[pattern];
  if (field === 3) {
    const parts: Uint8Array[] = [];
    let before = 0;
    for (let i = 0; i < count; i++) {
      const value = list[i % list.length]!;
      const delta = (value - before) | 0;
      before = value;
      parts.push(varintBytes(BigInt.asUintN(32, BigInt(delta << 1) ^ BigInt(delta >> 31))));
    }
    return Buffer.concat(parts);
  }
  const size = field === 4 ? 2 : field === 5 ? 3 : 4;
  const out = Buffer.alloc(count * size);
  for (let i = 0; i < count; i++) {
    const value = list[i % list.length]!;
    if (field === 6) out.writeFloatLE(value, i * 4);
    else if (field === 4) out.writeInt16LE((value << 16) >> 16, i * 2);
    else out.writeIntLE((value << 8) >> 8, i * 3, 3);
  }
  return out;
}
