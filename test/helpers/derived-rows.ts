/** Packets of a made-up recording, and what the service made of them: to hold one way of sending against another, bit by bit. */
import { packets, seeded } from '../../src/dsp/testing/fixture.ts';
import type { Packet } from '../../src/proto/packet.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import type { ChannelConfig, SampleRun } from '../../src/signal.ts';
import { gridTimeNs } from '../../src/signal.ts';
import type { Database } from '../../src/storage/database/database.ts';

/** Packets of about a second with every channel. @param epochNs Unix ns of device time 0 */
export function packetsOf(deviceId: string, runs: readonly SampleRun[], channels: readonly ChannelConfig[], epochNs: bigint): Packet[] {
  return packets(runs, channels, seeded(22), 0.8, 1.2).map((packet, seq) => {
    const starts = packet.map(({ channelNo, k0 }) => gridTimeNs(k0, channels[channelNo]!.rateNanoHz));
    const t0 = starts.reduce((first, ns) => (ns < first ? ns : first));
    return {
      schemaVersion: 1,
      deviceId,
      bootId: '00112233445566778899aabbccddeeff',
      seq,
      t0DeviceNs: t0,
      t0UnixNs: epochNs + t0,
      sentUnixNs: epochNs + t0,
      subject: '',
      firmware: '',
      blocks: packet.map(({ channelNo, samples }, i) => ({
        channel: channels[channelNo]!,
        tOffsetNs: Number(starts[i]! - t0),
        samples,
        qmask: null,
      })),
      measurements: [],
      events: [],
    };
  });
}

/** Sends packets in one batch. */
export async function postPackets(baseUrl: string, credential: string, sent: readonly Packet[]): Promise<{ status: number; text: string }> {
  const response = await fetch(`${baseUrl}/ingest/raw-packet`, {
    method: 'POST',
    headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
    body: encodeBatch(sent.map((packet) => encodePacket(packet))) as Uint8Array<ArrayBuffer>,
  });
  return { status: response.status, text: await response.text() };
}

/** Beats and values (quality of seconds is among them) of a device as text, every column that means something, times on its own clock. */
export async function derivedRows(database: Pick<Database, 'pool'>, deviceId: string, beforeSec = Infinity): Promise<string[]> {
  // Streams by number: for a joined name PostgreSQL would unpack the minutes of all streams first, and tests ask this again and again.
  const streams = await database.pool.query<{ ids: number[] }>(
    'select array_agg(s.id) as ids from stream s join device d on d.id = s.device_id where d.external_id = $1',
    [deviceId],
  );
  const { rows } = await database.pool.query<{ row: string; t: number }>(
    `select (t.ts_ns - s.epoch_ns)::float8 / 1e9 as t, concat_ws(' ', m.code, t.channel_no, t.ts_ns - s.epoch_ns, t.rest) as row
     from (select stream_id, method_id, channel_no, ts_ns, concat_ws(' ', interval_ms, kind, qmask, reason, confidence) as rest
           from beat where stream_id = any($1)
           union all select stream_id, method_id, channel_no, ts_ns, concat_ws(' ', value, qmask) from feature where stream_id = any($1)) t
     join stream s on s.id = t.stream_id join method m on m.id = t.method_id order by row`,
    [streams.rows[0]!.ids],
  );
  return rows.filter(({ t }) => t < beforeSec).map(({ row }) => row);
}

/** Device time of a row of derivedRows, s. */
export const secondOf = (row: string): number => Number(row.split(' ')[2]) / 1e9;

/** Rows that only one side has: how many, and the first ones. */
export function differences(got: readonly string[], wanted: readonly string[]): string[] {
  const [a, b] = [new Set(got), new Set(wanted)];
  const [extra, missing] = [got.filter((row) => !b.has(row)), wanted.filter((row) => !a.has(row))];
  return extra.length + missing.length === 0
    ? []
    : [`${extra.length} extra, ${missing.length} missing of ${wanted.length}`, ...extra.slice(0, 5), 'missing', ...missing.slice(0, 5)];
}
