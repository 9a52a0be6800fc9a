/** A packet as the fields of its wire format, so that a mutation can break one of them and leave the lengths around it right, or not. */

export type WireType = 0 | 1 | 2 | 5;
/** One field. `value`: of varints and fixed ones the number, of the others the bytes, or the fields of a nested message. */
export type Field = {
  no: number;
  wire: WireType;
  value: bigint | Uint8Array | Field[];
  /** Added to the length that is written before the bytes: a lie. */
  lengthOff?: number;
  /** Bytes that a varint is padded with beyond its own. */
  padding?: number;
};

/** Fields that are messages, by the path to them. */
const nested = new Set(['10', '11', '12', '10.1']);

/** @param bytes a valid message */
export function readTree(bytes: Uint8Array, path = ''): Field[] {
  const fields: Field[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let pos = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[pos++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (pos < bytes.length) {
    const tag = Number(varint());
    const no = tag >>> 3;
    const wire = (tag & 7) as WireType;
    let value: Field['value'];
    if (wire === 0) value = varint();
    else if (wire === 1) {
      value = view.getBigUint64(pos, true);
      pos += 8;
    } else if (wire === 5) {
      value = BigInt(view.getUint32(pos, true));
      pos += 4;
    } else {
      const length = Number(varint());
      const inner = bytes.slice(pos, pos + length);
      pos += length;
      const own = path === '' ? String(no) : `${path}.${no}`;
      value = nested.has(own) ? readTree(inner, own) : inner;
    }
    fields.push({ no, wire, value });
  }
  return fields;
}

export function writeTree(fields: readonly Field[]): Uint8Array {
  return Buffer.concat(fields.flatMap((field) => [varintBytes(BigInt(field.no) * 8n + BigInt(field.wire)), contentOf(field)]));
}

function contentOf({ wire, value, lengthOff = 0, padding = 0 }: Field): Uint8Array {
  if (wire === 0) return varintBytes(numberIn(value), padding);
  if (wire === 2) {
    const inner = value instanceof Uint8Array ? value : typeof value === 'bigint' ? varintBytes(value) : writeTree(value);
    return Buffer.concat([varintBytes(BigInt(Math.max(0, inner.length + lengthOff)), padding), inner]);
  }
  const bytes = Buffer.alloc(wire === 1 ? 8 : 4);
  if (wire === 1) bytes.writeBigUInt64LE(BigInt.asUintN(64, numberIn(value)));
  else bytes.writeUInt32LE(Number(BigInt.asUintN(32, numberIn(value))));
  return bytes;
}

/** What a field of another wire type would be as a number. */
const numberIn = (value: Field['value']): bigint => (typeof value === 'bigint' ? value : BigInt(value.length));

export function varintBytes(value: bigint, padding = 0): Uint8Array {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    out.push(rest > 0n ? byte | 0x80 : byte);
  } while (rest > 0n);
  if (padding > 0) {
    out[out.length - 1]! |= 0x80;
    for (let i = 1; i < padding; i++) out.push(0x80);
    out.push(0);
  }
  return Uint8Array.from(out);
}

/** A place in a tree: the list that holds a field, its position there, and the numbers on the way to it, e.g. `10.1.3`. */
export type Place = Readonly<{ list: Field[]; index: number; path: string }>;

/** Every field, outer ones before what is in them. */
export function placesOf(fields: Field[], path = ''): Place[] {
  return fields.flatMap((field, index) => {
    const own = path === '' ? String(field.no) : `${path}.${field.no}`;
    const here: Place = { list: fields, index, path: own };
    return Array.isArray(field.value) ? [here, ...placesOf(field.value, own)] : [here];
  });
}
