/** A stream as one EDF+ file: all channels, events and marks of people as annotations, gaps as discontinuities. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asciiOf } from '../../formats/ascii.ts';
import type { EdfAnnotation } from '../../formats/edf-common.ts';
import { writeEdf } from '../../formats/edf-write.ts';
import type { ChannelConfig } from '../../signal.ts';
import { readEventText } from '../event-text.ts';
import { isNamedByLead, MISSING, plainLabel } from '../client/recording.ts';
import { edfMarks } from './annotations.ts';
import type { Column, StreamExport } from './stretch.ts';

/** Most characters that EDF allows. */
const LABEL_MAX = 16;

/** @param startNs Unix ns of the columns' first sample  @param columns none: a file of annotations only
 *  @param isContinuous gaps are filled  @returns path of the file */
export async function exportEdf(
  job: StreamExport,
  name: string,
  startNs: bigint,
  columns: readonly Column[],
  isContinuous = false,
): Promise<string> {
  const { pool, stream, range, folder, console } = job;
  const { rows } = await pool.query<{ ts_ns: bigint; code: string; content: string }>(
    `select ts_ns, code, content from device_event where stream_id = $1 and ts_ns >= $2 and ts_ns < $3 order by ts_ns`,
    [stream.id, String(range.fromNs), String(range.toNs)],
  );
  const annotations = rows.map(({ ts_ns: ts, code, content }): EdfAnnotation => {
    const onsetSec = Number(ts - startNs) / 1e9;
    if (code === 'annotation') return { onsetSec, ...readEventText(content) };
    return { onsetSec, durationSec: Number.NaN, text: content === '' ? code : `${code} ${content}` };
  });
  const labels = new Set<string>();
  const signals = columns.map(({ config, samples }) => ({
    label: edfLabel(config, labels),
    unit: config.unit,
    rateNanoHz: config.rateNanoHz,
    gain: config.gain,
    baseline: config.baseline,
    samples,
  }));
  const labelOf = new Map(columns.map(({ config }, i) => [config.code, signals[i]!.label]));
  annotations.push(...(await edfMarks(job, startNs, labelOf)));
  const file = { startUnixNs: startNs, signals, annotations, missing: MISSING, isContinuous, equipment: 'biosignal' };
  const { bytes, rescaled } = writeEdf(file);
  for (const { label, by } of rescaled)
    console.err(`${label}: its range exceeds 16 bits; values were divided by ${by} (other formats keep them)`);
  const path = join(folder, `${name}.edf`);
  await writeFile(path, bytes);
  return path;
}

/** The label that the channel was imported under, else its code; for ECG, EDF+ puts the type before the lead. */
function edfLabel(config: ChannelConfig, taken: Set<string>): string {
  const { kind, code, lead } = config;
  const name =
    kind === 'ecg' ? (lead === '' ? code : lead) : isNamedByLead(config, plainLabel(lead)) && lead.length <= LABEL_MAX ? lead : code;
  const plain = asciiOf(kind === 'ecg' && !/^(ecg|ekg)\b/i.test(name) ? `ECG ${name}` : name).slice(0, LABEL_MAX);
  let label = plain;
  for (let i = 2; taken.has(label); i++) label = `${plain.slice(0, LABEL_MAX - String(i).length)}${i}`;
  taken.add(label);
  return label;
}
