/** Writes a ZIP archive (PKWARE APPNOTE 6.3.10) of few small files, stored as they are. */
import { crc32 } from 'node:zlib';

export type ZipEntry = Readonly<{ name: string; bytes: Uint8Array }>;

/** 1980-01-01, the format's zero: the same files give the same archive. */
const DOS_DATE = 0x21;
const VERSION = 20;
const UTF8_NAMES = 0x0800;

/** @param entries below 4 GiB together, fewer than 65,535  @returns the archive */
export function zipStored(entries: readonly ZipEntry[]): Uint8Array {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(VERSION, 0);
    common.writeUInt16LE(UTF8_NAMES, 2);
    common.writeUInt16LE(DOS_DATE, 8);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(bytes.length, 14); // compressed
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    parts.push(signature(0x04034b50), common, nameBytes, Buffer.from(bytes));
    const place = Buffer.alloc(14); // comment length, disk, attributes
    place.writeUInt32LE(offset, 10);
    directory.push(signature(0x02014b50), Buffer.from([VERSION, 0]), common, place, nameBytes);
    offset += 4 + common.length + nameBytes.length + bytes.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, signature(0x06054b50), end]);
}

function signature(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
