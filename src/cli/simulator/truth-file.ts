/** Writes the truth behind simulated signals as lines of JSON, to compare results with. */
import { createWriteStream, mkdirSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import type { SimulatedSpan } from './device.ts';

export class TruthFile {
  readonly #file: WriteStream;
  readonly #startUnixNs: string;

  constructor(path: string, startUnixNs: bigint) {
    mkdirSync(dirname(path), { recursive: true });
    this.#file = createWriteStream(path);
    this.#startUnixNs = String(startUnixNs);
  }

  /** One line per packet that holds an event. Times are device seconds and ns; add startUnixNs (and the skew) for wall time. */
  async write(device: string, bootId: string, subject: string, span: SimulatedSpan): Promise<void> {
    if (span.beats.length + span.skinResponseSec.length + span.breathSec.length + span.contactLosses.length === 0) return;
    const line = JSON.stringify({
      device,
      bootId,
      subject,
      startUnixNs: this.#startUnixNs,
      t0DeviceNs: String(span.t0DeviceNs),
      beats: span.beats.map(({ atSec, rrMs, kind, systolicSec }) => ({ atSec, rrMs, kind, systolicSec })),
      skinResponseSec: span.skinResponseSec,
      breathSec: span.breathSec,
      stepHz: span.stepHz,
      fibrillating: span.fibrillating,
      contactLosses: span.contactLosses,
    });
    if (!this.#file.write(`${line}\n`)) await new Promise<void>((resolve) => this.#file.once('drain', resolve));
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#file.end(resolve));
  }
}
