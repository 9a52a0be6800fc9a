/** A stream as one EDF+ file: all channels, events as annotations, gaps as discontinuities. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeEdf } from '../../formats/edf.ts';
import type { EdfAnnotation } from '../../formats/edf.ts';
import type { ChannelConfig } from '../../signal.ts';
import { MISSING } from '../recording.ts';
import type { Column, StreamExport } from './stretch.ts';

/** @param startNs Unix ns of the columns' first sample  @returns path of the file */
export async function exportEdf(job: StreamExport, name: string, startNs: bigint, columns: readonly Column[]): Promise<string> {
  const { pool, stream, range, folder, console } = job;
  const { rows } = await pool.query<{ ts_ns: bigint; code: string; content: string }>(
    `select ts_ns, code, content from device_event where stream_id = $1 and ts_ns >= $2 and ts_ns < $3 order by ts_ns`,
    [stream.id, String(range.fromNs), String(range.toNs)],
  );
  const annotations = rows.map(({ ts_ns: ts, code, content }): EdfAnnotation => {
    const text = code === 'annotation' ? content : content === '' ? code : `${code} ${content}`;
    return { onsetSec: Number(ts - startNs) / 1e9, durationSec: Number.NaN, text };
  });
  const labels = new Set<string>();
  const signals = columns.map(({ config, samples }) => ({
    label: edfLabel(config, labels),
    unit: config.unit.slice(0, 8),
    rateNanoHz: config.rateNanoHz,
    gain: config.gain,
    baseline: config.baseline,
    samples,
  }));
  const startUnixSec = Number(startNs / 1000n) / 1e6;
  const { bytes, rescaled } = writeEdf({ startUnixSec, signals, annotations, missing: MISSING, equipment: 'biosignal' });
  for (const { label, by } of rescaled)
    console.err(`${label}: its range exceeds 16 bits; values were divided by ${by} (other formats keep them)`);
  const path = join(folder, `${name}.edf`);
  await writeFile(path, bytes);
  return path;
}

/** EDF+ labels begin with the type of signal. */
function edfLabel({ kind, code, lead }: ChannelConfig, taken: Set<string>): string {
  const plain = `${kind === 'ecg' ? 'ECG ' : ''}${lead !== '' && kind === 'ecg' ? lead : code}`.replace(/[^\x20-\x7e]/g, '_').slice(0, 14);
  let label = plain;
  for (let i = 2; taken.has(label); i++) label = `${plain}${i}`;
  taken.add(label);
  return label;
}
