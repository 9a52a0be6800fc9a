/** A strip as PNG: drawn into a bitmap of our own and packed with zlib, so that no native image library is needed. */
import { crc32, deflateSync } from 'node:zlib';
import { LINE_PX, PX_PER_MM } from './strip.ts';
import type { Polyline, Strip } from './strip.ts';

/** Indexes into the palette. */
const PAPER = 0;
const MINOR = 1;
const MAJOR = 2;
const TRACE = 3;
const BAD = 4;
const TEXT = 5;
const HATCH = 6;
const palette = [0xffffff, 0xf3c6c6, 0xe29a9a, 0x111111, 0x999999, 0x333333, 0x8a5600];
const PIXELS_PER_METRE = 1000 * PX_PER_MM;

/** The usual 5x7 dot-matrix letters, space to tilde: five columns each, the lowest bit on top. */
const font = Buffer.from(
  [
    '000000000000005F00000007000700147F147F14242A7F2A12231308646236495620500005030000001C2241000041221C0014083E081408083E08080050300000',
    '0808080808006060000020100804023E5149453E00427F400042615149462141454B311814127F1027454545393C4A49493001710905033649494936064949291E',
    '003636000000563600000814224100141414141400412214080201510906324979413E7E1111117E7F494949363E414141227F4141221C7F494949417F09090901',
    '3E4149497A7F0808087F00417F41002040413F017F081422417F404040407F020C027F7F0408107F3E4141413E7F090909063E4151215E7F091929464649494931',
    '01017F01013F4040403F1F2040201F3F4038403F631408146307087008076151494543007F41410002040810200041417F00040201020440404040400001020400',
    '20545454787F484444383844444420384444487F3854545418087E0901020C5252523E7F0804047800447D40002040443D007F1028440000417F40007C04180478',
    '7C0804047838444444387C14141408081414187C7C080404084854545420043F4440203C4040207C1C2040201C3C4030403C44281028440C5050503C4464544C44',
    '000836410000007F000000413608000804081008',
  ].join(''),
  'hex',
);

/** @returns the bytes of a PNG file (ISO/IEC 15948), 8-bit palette, as wide and high as the SVG */
export function stripPng(strip: Strip): Uint8Array {
  const { widthPx, heightPx, topPx, bottomPx, header } = strip;
  const bitmap = new Bitmap(widthPx, heightPx);
  for (const [everyMm, color] of [
    [1, MINOR],
    [5, MAJOR],
  ] as const) {
    const every = everyMm * PX_PER_MM;
    for (let x = 0; x < widthPx; x += every) bitmap.fill(x, topPx, 1, bottomPx - topPx, color);
    for (let y = topPx; y <= bottomPx; y += every) bitmap.fill(0, y, widthPx, 1, color);
  }
  for (const { x, widthPx: length } of strip.blocks) bitmap.fill(Math.round(x), bottomPx - 8, Math.ceil(length), 8, BAD);
  for (const line of strip.hatches) bitmap.polyline(line, HATCH, false);
  bitmap.polyline(strip.pulse, TRACE, false);
  for (const line of strip.bad) bitmap.polyline(line, BAD, true);
  for (const line of strip.good) bitmap.polyline(line, TRACE, false);
  for (const { x, letter, doubtful } of strip.marks) {
    const at = Math.round(x);
    const color = doubtful ? BAD : TEXT;
    if (letter === '') for (let row = 0; row < 6; row++) bitmap.fill(at - 3 + (row >> 1), topPx + 3 + row, 7 - 2 * (row >> 1), 1, color);
    else bitmap.text(at - 2, topPx + 3, letter, color);
  }
  for (const [i, line] of header.entries()) bitmap.text(4, 6 + i * LINE_PX, line, TEXT);
  bitmap.text(4, heightPx - LINE_PX, strip.footer, TEXT);
  return encode(bitmap, header.join(', '));
}

class Bitmap {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;

  constructor(width: number, height: number) {
    this.width = Math.max(1, width);
    this.height = height;
    this.pixels = new Uint8Array(this.width * height).fill(PAPER);
  }

  set(x: number, y: number, color: number): void {
    if (x >= 0 && x < this.width && y >= 0 && y < this.height) this.pixels[y * this.width + x] = color;
  }

  fill(x: number, y: number, width: number, height: number, color: number): void {
    for (let row = y; row < y + height; row++) for (let column = x; column < x + width; column++) this.set(column, row, color);
  }

  /** Lines by Bresenham between the rounded points; `dashed`: three pixels on, three off. */
  polyline(line: Polyline, color: number, dashed: boolean): void {
    let step = 0;
    for (let i = 0; i + 1 < line.length; i += 2) {
      const first = i === 0;
      let x = Math.round(line[first ? i : i - 2]!);
      let y = Math.round(line[first ? i + 1 : i - 1]!);
      const toX = Math.round(line[i]!);
      const toY = Math.round(line[i + 1]!);
      if (!Number.isFinite(x + y + toX + toY)) throw new RangeError('a line without end'); // drawing it would never end
      const dx = Math.abs(toX - x);
      const dy = -Math.abs(toY - y);
      let error = dx + dy;
      for (;;) {
        if (!dashed || step % 6 < 3) this.set(x, y, color);
        step += 1;
        if (x === toX && y === toY) break;
        const twice = 2 * error;
        if (twice >= dy) {
          error += dy;
          x += x < toX ? 1 : -1;
        }
        if (twice <= dx) {
          error += dx;
          y += y < toY ? 1 : -1;
        }
      }
    }
  }

  /** Letters without their accents: the font has no others. */
  text(x: number, y: number, text: string, color: number): void {
    for (const [i, letter] of Array.from(text.normalize('NFD').replaceAll(/\p{M}/gu, '')).entries()) {
      const code = letter.codePointAt(0) ?? 0;
      const glyph = 5 * (code >= 0x20 && code <= 0x7e ? code - 0x20 : 0x3f - 0x20);
      for (let column = 0; column < 5; column++) {
        for (let row = 0; row < 7; row++) {
          if (((font[glyph + column] ?? 0) >> row) & 1) this.set(x + 6 * i + column, y + row, color);
        }
      }
    }
  }
}

function encode(bitmap: Bitmap, title: string): Uint8Array {
  const { width, height, pixels } = bitmap;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bits of an index
  header[9] = 3; // palette
  const colors = Buffer.alloc(3 * palette.length);
  for (const [i, color] of palette.entries()) colors.writeUIntBE(color, 3 * i, 3);
  const size = Buffer.alloc(9);
  size.writeUInt32BE(PIXELS_PER_METRE, 0);
  size.writeUInt32BE(PIXELS_PER_METRE, 4);
  size[8] = 1; // metre
  const rows = Buffer.alloc((width + 1) * height); // each begins with its filter: none
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', colors),
    chunk('pHYs', size),
    chunk('iTXt', Buffer.from(`Title\0\0\0\0\0${title}`)),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}
