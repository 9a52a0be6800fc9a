/** Channels of one rate as one WFDB record, with the detected beats as annotations (.bio), and what people marked
 *  and corrected (.mrk, .cor). */
import { join } from 'node:path';
import { writeAnnotations } from '../../formats/wfdb-annotations.ts';
import { writeRecord } from '../../formats/wfdb-write.ts';
import { beatClassOf, judgesKinds } from '../../query/beat-classes.ts';
import type { BeatClass } from '../../query/beat-classes.ts';
import { CORRECTED_NS } from '../../query/corrected-beats.ts';
import type { ChannelConfig } from '../../signal.ts';
import { versionOf } from '../../storage/newest-method.ts';
import { exportMarks } from './annotations.ts';
import { isNamedByLead, MISSING } from '../client/recording.ts';
import type { Column, StreamExport } from './stretch.ts';

/** @param columns of one rate  @returns paths of header, signals and, when there are any, annotations */
export async function exportWfdb(job: StreamExport, name: string, startNs: bigint, columns: readonly Column[]): Promise<string[]> {
  const { pool, stream, range, folder } = job;
  const length = Math.max(...columns.map(({ samples }) => samples.length));
  const fs = columns[0]!.config.rateNanoHz / 1e9;
  const leads = columns.map(({ config, samples }) => {
    const padded = new Int32Array(length).fill(MISSING);
    padded.set(samples);
    return { name: isNamedByLead(config, config.lead) ? config.lead : config.code, ...fitted(config, padded) };
  });
  const comments = [`stream ${stream.uuid}`, ...columns.map(({ config }) => `channel ${config.code} unit ${config.unit}`)];
  await writeRecord(folder, { name, fs, leads, comments, startUnixNs: startNs }, 16);
  const files = [join(folder, `${name}.hea`), join(folder, `${name}.dat`)];
  const { rows: near } = await pool.query<BeatToWrite>(
    // Minute by minute the newest version that found beats: a recording that was computed anew has those of several.
    `with found as (
       select b.*, c.code as channel, m.code as method_code, ${versionOf('m')} as version,
         max(${versionOf('m')}) over (partition by b.channel_no, m.name, b.ts_ns / 60000000000) as newest
       from beat_values(timestamptz 'epoch' + ($3::int8 / 1000 - 1) * interval '1 microsecond', timestamptz 'epoch' + ($4::int8 / 1000 + 1) * interval '1 microsecond') b
       join stream_channel c on c.stream_id = b.stream_id and c.channel_no = b.channel_no
       join method m on m.id = b.method_id
       where b.stream_id = $1 and c.code = any ($2) and b.ts_ns >= $3 and b.ts_ns < $4)
     select distinct on (ts_ns) ts_ns, channel, kind, reason, qmask, confidence, method_code
     from found where version is not distinct from newest order by ts_ns, version desc nulls last`,
    [stream.id, columns.map(({ config }) => config.code), String(range.fromNs - CORRECTED_NS), String(range.toNs + CORRECTED_NS)],
  );
  const rows = near.filter(({ ts_ns: at }) => at >= range.fromNs && at < range.toNs);
  const marked = await exportMarks(
    job,
    { name, startNs, fs, channels: columns.map(({ config }) => config.code) },
    {
      tsNs: BigInt64Array.from(near, (row) => row.ts_ns),
      kinds: Uint8Array.from(near, (row) => row.kind),
      codes: near.map(codeOf),
      channels: near.map(({ channel }) => channel),
    },
  );
  if (rows.length === 0) return [...files, ...marked];
  const annotations = rows
    .map((row) => ({
      sample: Math.round((Number(row.ts_ns - startNs) / 1e9) * fs),
      code: codeOf(row),
      number: confidenceOf(row),
    }))
    .filter(({ sample }) => sample >= 0);
  const path = join(folder, `${name}.bio`);
  await writeAnnotations(path, annotations);
  return [...files, path, ...marked];
}

type BeatToWrite = Readonly<{
  ts_ns: bigint;
  channel: string;
  kind: number;
  reason: string;
  qmask: number;
  confidence: number | null;
  method_code: string;
}>;

/** `num` of a beat whose class has no confidence; others have it in per cent. */
const NO_CONFIDENCE = -1;
/** Where no class is known: normal, ectopic (early, of unknown origin), artefact, interpolated. */
const codesOfKinds = ['N', 'S', '|', '?'] as const;

const classOf = ({ kind, reason, qmask, confidence, method_code: method }: BeatToWrite): BeatClass | null =>
  beatClassOf(judgesKinds(method), kind, reason, qmask, confidence);

function confidenceOf(beat: BeatToWrite): number {
  const of = classOf(beat);
  return beat.confidence === null || of === null || of === 'Q' ? NO_CONFIDENCE : Math.round(100 * beat.confidence);
}

const codeOf = (beat: BeatToWrite): string => classOf(beat) ?? codesOfKinds[beat.kind] ?? '?';

/** WFDB needs positive gains (a reader may take others for "not stated"), whole baselines and, here, 16 bits: a lead with negative gain is
 *  written inverted with its baseline, which keeps its physical values; values outside 16 bits are shifted, or divided when their range is
 *  too wide. */
function fitted(config: ChannelConfig, samples: Int32Array): { gain: number; baseline: number; unit: string; samples: Int32Array } {
  if (config.gain < 0) {
    const upright = { ...config, gain: -config.gain, baseline: -config.baseline };
    return fitted(
      upright,
      samples.map((value) => (value === MISSING ? MISSING : -value)),
    );
  }
  let low = Infinity;
  let high = -Infinity;
  for (const value of samples) {
    if (value === MISSING) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const by = high - low > 65_000 ? Math.ceil((high - low) / 65_000) : 1;
  const shift = by === 1 && low >= -32_767 && high <= 32_767 ? 0 : Math.round((low + high) / 2);
  const gain = config.gain / by;
  const baseline = Math.round((config.baseline - shift) / by);
  if (shift === 0 && by === 1) return { gain, baseline, unit: config.unit, samples };
  return {
    gain,
    baseline,
    unit: config.unit,
    samples: samples.map((value) => (value === MISSING ? MISSING : Math.round((value - shift) / by))),
  };
}
