/** A font in which every character is the same box, and a space is a space: text takes up the same room on every machine, whatever fonts it
 *  has. Made here rather than kept, so that the repository holds no font. TrueType, 1000 units per em. */

const ADVANCE = 500;
const ASCENT = 800;
const DESCENT = -200;

const u16 = (...values: readonly number[]): Buffer => {
  const out = Buffer.alloc(values.length * 2);
  values.forEach((value, i) => out.writeUInt16BE(value & 0xffff, i * 2));
  return out;
};
const u32 = (...values: readonly number[]): Buffer => {
  const out = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => out.writeUInt32BE(value >>> 0, i * 4));
  return out;
};

/** One contour: the box of lower-case letters. */
function box(): Buffer {
  const head = u16(1, 50, 0, 450, 550, 3, 0); // contours, bounds, last point, no instructions
  const flags = Buffer.from([1, 1, 1, 1]);
  const x = u16(50, 0, 400, 0);
  const y = u16(0, 550, 0, -550);
  return Buffer.concat([head, flags, x, y]);
}

/** Every character to glyph 1, spaces to the empty glyph 2 (cmap format 13: many to one). */
function cmap(): Buffer {
  const groups = [
    [0x20, 0x20, 2],
    [0x21, 0x9f, 1],
    [0xa0, 0xa0, 2],
    [0xa1, 0x200f, 1],
    [0x2010, 0xffef, 1],
  ] as const;
  const body = Buffer.concat([u32(0, groups.length), ...groups.map((group) => u32(...group))]);
  const table = Buffer.concat([u16(13, 0), u32(8 + body.length), body]);
  return Buffer.concat([u16(0, 1, 3, 10), u32(12), table]);
}

function names(): Buffer {
  const texts = ['Boxes', 'Regular', 'Boxes', 'Boxes', '1', 'Boxes'].map((text) => Buffer.from(text, 'utf16le').swap16());
  const ids = [1, 2, 3, 4, 5, 6];
  let at = 0;
  const records = texts.map((text, i) => {
    const record = u16(3, 1, 0x409, ids[i]!, text.length, at);
    at += text.length;
    return record;
  });
  return Buffer.concat([u16(0, texts.length, 6 + texts.length * 12), ...records, ...texts]);
}

export function boxFont(): Buffer {
  const glyph = box();
  const padded = Buffer.concat([glyph, Buffer.alloc((4 - (glyph.length % 4)) % 4)]);
  const tables: Record<string, Buffer> = {
    'OS/2': Buffer.concat([
      u16(4, ADVANCE, 400, 5, 0, 650, 600, 0, 75, 650, 600, 0, 350, 50, 300, 0),
      Buffer.alloc(10), // PANOSE
      u32(1, 0, 0, 0),
      Buffer.from('NONE'),
      u16(0x40, 0x20, 0xffef, ASCENT, DESCENT, 0, ASCENT, -DESCENT),
      u32(1, 0),
      u16(550, 700, 0, 0x20, 1),
    ]),
    cmap: cmap(),
    glyf: Buffer.concat([padded, padded]),
    head: Buffer.concat([u32(0x10000, 0x10000, 0, 0x5f0f3cf5), u16(3, 1000), Buffer.alloc(16), u16(50, 0, 450, 550, 0, 8, 2, 1, 0)]),
    hhea: Buffer.concat([u32(0x10000), u16(ASCENT, DESCENT, 0, ADVANCE, 50, 50, 450, 1, 0, 0, 0, 0, 0, 0, 0, 3)]),
    hmtx: u16(ADVANCE, 50, ADVANCE, 50, ADVANCE, 0),
    loca: u32(0, padded.length, 2 * padded.length, 2 * padded.length),
    maxp: Buffer.concat([u32(0x10000), u16(3, 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)]),
    name: names(),
    post: Buffer.concat([u32(0x30000, 0), u16(-100, 50), u32(0, 0, 0, 0, 0)]),
  };
  const tags = Object.keys(tables).toSorted();
  const searchRange = 128; // 16 times the greatest power of two in 10
  let at = 12 + tags.length * 16;
  const directory: Buffer[] = [];
  const bodies: Buffer[] = [];
  for (const tag of tags) {
    const body = tables[tag]!;
    const whole = Buffer.concat([body, Buffer.alloc((4 - (body.length % 4)) % 4)]);
    let sum = 0;
    for (let i = 0; i < whole.length; i += 4) sum = (sum + whole.readUInt32BE(i)) >>> 0;
    directory.push(Buffer.from(tag), u32(sum, at, body.length));
    bodies.push(whole);
    at += whole.length;
  }
  return Buffer.concat([u32(0x10000), u16(tags.length, searchRange, 3, tags.length * 16 - searchRange), ...directory, ...bodies]);
}
