/** Writes the truth behind simulated signals as lines of JSON, to compare results with. */
import { once } from 'node:events';
import { createWriteStream, mkdirSync, openSync } from 'node:fs';
import type { WriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { refuseExisting } from '../export/whole-files.ts';
import type { SimulatedSpan } from './device.ts';

export class TruthFile {
  readonly #file: WriteStream;
  readonly #startUnixNs: string;

  /** @param mayReplace a file that is there already  @throws UsageError; the system's own error when it cannot be written */
  constructor(path: string, startUnixNs: bigint, mayReplace: boolean) {
    refuseExisting([path], mayReplace);
    mkdirSync(dirname(path), { recursive: true });
    this.#file = createWriteStream(path, { fd: openSync(path, 'w') });
    this.#file.on('error', () => undefined); // told by the next write, or by close
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
    if (this.#file.errored !== null) throw this.#file.errored;
    if (!this.#file.write(`${line}\n`)) await once(this.#file, 'drain');
  }

  async close(): Promise<void> {
    await finished(this.#file.end());
  }
}
