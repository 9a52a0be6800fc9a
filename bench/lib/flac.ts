/** Bytes that FLAC needs for the same samples: what a lossless audio coder reaches with whole recordings and no index. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Recording } from './recordings.ts';

const FLAC = '/usr/bin/flac';
/** FLAC takes no more channels in a file. */
const CHANNELS_MAX = 8;

/** @returns bytes per sample over all recordings, each recording one file of its channels side by side, at the highest level; null, said
 *  loudly, where the machine has no flac */
export function flacBytesPerSample(recordings: readonly Recording[]): number | null {
  if (!existsSync(FLAC)) {
    console.warn('SKIPPED: no flac to compare with (Debian package flac)');
    return null;
  }
  let bytes = 0;
  let samples = 0;
  for (const { name, rateHz, channels } of recordings) {
    const count = channels[0]?.length ?? 0;
    if (channels.length > CHANNELS_MAX) throw new RangeError(`${name}: ${channels.length} channels, FLAC takes ${CHANNELS_MAX}`);
    const raw = new Int16Array(count * channels.length);
    for (const [c, values] of channels.entries()) {
      for (let i = 0; i < count; i++) {
        const value = values[i]!;
        if (value !== (value << 16) >> 16) throw new RangeError(`${name}: ${value} has more than 16 bits`);
        raw[i * channels.length + c] = value;
      }
    }
    const format = ['--force-raw-format', '--endian=little', '--sign=signed', '--bps=16', `--channels=${channels.length}`];
    const { status, stdout, stderr } = spawnSync(
      FLAC,
      ['--silent', '--stdout', '--best', '--lax', ...format, `--sample-rate=${rateHz}`, '-'],
      {
        input: new Uint8Array(raw.buffer),
        maxBuffer: 2 ** 28,
      },
    );
    if (status !== 0) throw new Error(`flac: ${stderr.toString()}`);
    bytes += stdout.length;
    samples += raw.length;
  }
  return bytes / samples;
}
