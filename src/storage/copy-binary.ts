/** Rows in PostgreSQL's binary COPY format, and sending them. */
import type pg from 'pg';

/** Microseconds from 1970 to 2000, where PostgreSQL's timestamps begin. */
const POSTGRES_EPOCH_US = 946_684_800_000_000;
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TWO_32 = 4_294_967_296;

/** A bigint as two halves, without a slow division. */
const nanoseconds = new BigInt64Array(1);
const halves = new DataView(nanoseconds.buffer);
const IS_LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Whole microseconds of Unix ns, rounded down; exact, like ns / 1000n without the bigint. */
export function microseconds(ns: bigint): number {
  nanoseconds[0] = ns;
  const high = halves.getInt32(IS_LITTLE ? 4 : 0, IS_LITTLE);
  const low = halves.getUint32(IS_LITTLE ? 0 : 4, IS_LITTLE);
  const thousandth = Math.floor(high / 1000);
  return thousandth * TWO_32 + Math.floor(((high - thousandth * 1000) * TWO_32 + low) / 1000);
}

/** A growing buffer of rows. Fields are appended in the order of the COPY statement's columns. */
export class CopyBuffer {
  #buffer: Buffer;
  /** Of the same memory: its setters are instructions, a Buffer's are functions with checks. */
  #view: DataView;
  #at = SIGNATURE.length;
  #rowCount = 0;

  constructor(bytes = 64 * 1024) {
    this.#buffer = Buffer.allocUnsafe(bytes);
    this.#view = viewOf(this.#buffer);
    SIGNATURE.copy(this.#buffer);
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  get bytes(): number {
    return this.#at;
  }

  row(fieldCount: number): void {
    this.#reserve(2);
    this.#view.setInt16(this.#at, fieldCount);
    this.#at += 2;
    this.#rowCount++;
  }

  null(): void {
    this.#reserve(4);
    this.#view.setInt32(this.#at, -1);
    this.#at += 4;
  }

  int2(value: number): void {
    this.#field(2);
    this.#view.setInt16(this.#at, value);
    this.#at += 2;
  }

  int4(value: number): void {
    this.#field(4);
    this.#view.setInt32(this.#at, value);
    this.#at += 4;
  }

  int8(value: bigint): void {
    this.#field(8);
    this.#view.setBigInt64(this.#at, value);
    this.#at += 8;
  }

  /** @param value NaN is written as null */
  float4(value: number): void {
    if (Number.isNaN(value)) return this.null();
    this.#field(4);
    this.#view.setFloat32(this.#at, value);
    this.#at += 4;
  }

  /** @param value NaN is written as null */
  float8(value: number): void {
    if (Number.isNaN(value)) return this.null();
    this.#field(8);
    this.#view.setFloat64(this.#at, value);
    this.#at += 8;
  }

  /** @param unixUs whole microseconds since 1970; as two 32-bit halves, which needs no bigint */
  timestamptz(unixUs: number): void {
    this.#field(8);
    const us = unixUs - POSTGRES_EPOCH_US;
    this.#view.setInt32(this.#at, Math.floor(us / TWO_32));
    this.#view.setUint32(this.#at + 4, us >>> 0);
    this.#at += 8;
  }

  text(value: string): void {
    const length = value === '' ? 0 : Buffer.byteLength(value);
    this.#field(length);
    if (length > 0) this.#at += this.#buffer.write(value, this.#at);
  }

  bytea(value: Uint8Array, from = 0, to = value.length): void {
    this.#field(to - from);
    this.#buffer.set(from === 0 && to === value.length ? value : value.subarray(from, to), this.#at);
    this.#at += to - from;
  }

  /** A bytea field that `write` fills in place. @param bytesMax room that it may use  @returns through write: the end of the field */
  byteaInPlace(bytesMax: number, write: (out: Uint8Array, at: number) => number): void {
    this.#reserve(4 + bytesMax);
    const start = this.#at + 4;
    const end = write(this.#buffer, start);
    this.#view.setInt32(this.#at, end - start);
    this.#at = end;
  }

  /** The whole message, trailer included. The buffer must not be used afterwards. */
  finish(): Buffer {
    this.#reserve(2);
    this.#view.setInt16(this.#at, -1);
    this.#at += 2;
    return this.#buffer.subarray(0, this.#at);
  }

  #field(bytes: number): void {
    this.#reserve(4 + bytes);
    this.#view.setInt32(this.#at, bytes);
    this.#at += 4;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const bigger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#at + bytes));
    this.#buffer.copy(bigger, 0, 0, this.#at);
    this.#buffer = bigger;
    this.#view = viewOf(bigger);
  }
}

function viewOf(buffer: Buffer): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

/** COPYs rows on a connection that does nothing else meanwhile.
 *  @param into table and columns: `feature (time, …)`  @returns number of rows written */
export async function copyRows(client: pg.Client, into: string, rows: CopyBuffer): Promise<number> {
  if (rows.rowCount === 0) return 0;
  return new Promise((done, fail) => {
    client.query(new CopyIn(`copy ${into} from stdin (format binary)`, rows.finish(), done, fail));
  });
}

const COPY_DATA = 0x64;
const COPY_DONE = Buffer.of(0x63, 0, 0, 0, 4);

/** Sends statement, rows and end in one write, without waiting for the server to ask for rows: it reads them in order, and discards them
 *  when the statement fails (PostgreSQL documentation, Frontend/Backend Protocol, COPY Operations). */
class CopyIn implements pg.Submittable {
  readonly #statement: string;
  readonly #rows: Buffer;
  readonly #done: (rowCount: number) => void;
  readonly #fail: (error: Error) => void;
  #rowCount = 0;

  constructor(statement: string, rows: Buffer, done: (rowCount: number) => void, fail: (error: Error) => void) {
    this.#statement = statement;
    this.#rows = rows;
    this.#done = done;
    this.#fail = fail;
  }

  // pg calls what follows

  submit(connection: pg.Connection): void {
    const head = Buffer.allocUnsafe(5);
    head[0] = COPY_DATA;
    head.writeInt32BE(this.#rows.length + 4, 1);
    const { stream } = connection;
    stream.cork();
    connection.query(this.#statement);
    stream.write(head);
    stream.write(this.#rows);
    stream.write(COPY_DONE);
    stream.uncork();
  }

  /** pg's own time limit puts its function here. */
  callback(): void {}

  handleCopyInResponse(): void {}

  handleCommandComplete({ text }: Readonly<{ text: string }>): void {
    this.#rowCount = Number(/\d+$/.exec(text)?.[0] ?? 0);
  }

  handleReadyForQuery(): void {
    this.callback();
    this.#done(this.#rowCount);
  }

  handleError(error: Error & { code?: string }): void {
    this.callback();
    error.code ??= '08006'; // the connection is lost
    this.#fail(error);
  }
}
