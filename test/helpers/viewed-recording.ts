/** A recording of ten minutes that was sent as packets: two leads, an ectopic beat, a gap and a note. */
import { expect } from 'vitest';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import type { DashboardFixture } from './dashboard.ts';
import { until } from './database.ts';

const FS = 250;
export const SECONDS = 600;
const RR_SEC = 0.8;
/** Beats at 0.5 s, 1.3 s …; one too early, and no packets for 20 s. */
export const ECTOPIC_SEC = 0.5 + 225 * RR_SEC - 0.35;
export const GAP = [300, 320] as const;
export const NOTE_SEC = 500;
/** What the device says; no episode is made of it. */
export const EVENT_SEC = 452;
export const startMs = Math.floor((Date.now() - 7_200_000) / 60_000) * 60_000;
export const at = (sec: number): string => new Date(startMs + 1000 * sec).toISOString();

function samples(): Int32Array {
  // Of a body: it breathes, and no stretch is flat, which would be an electrode that is off.
  const values = Int32Array.from({ length: SECONDS * FS }, (_, i) =>
    Math.round(6 * Math.sin(i / 160) + 3 * Math.sin(i * 1.7) * Math.sin(i / 13)),
  );
  for (let beat = 0; 0.5 + beat * RR_SEC < SECONDS - 1; beat++) {
    const isEctopic = Math.abs(0.5 + beat * RR_SEC - 0.35 - ECTOPIC_SEC) < 0.01;
    const sec = isEctopic ? ECTOPIC_SEC : 0.5 + beat * RR_SEC;
    for (let i = Math.floor((sec - 0.2) * FS); i < (sec + 0.5) * FS && i < values.length; i++) {
      const t = i / FS - sec;
      const width = isEctopic ? 2e-3 : 2e-4;
      values[i]! += Math.round(
        (isEctopic ? -300 : 240) * Math.exp(-(t * t) / width) + (isEctopic ? 0 : 40 * Math.exp(-((t - 0.24) ** 2) / 3e-3)),
      );
    }
  }
  return values;
}

const CHANNEL = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
export const SECOND = { ...CHANNEL, code: 'ecg.v5', lead: 'V5' };

/** @param bootId hexadecimal; each is a recording of its own @param gap seconds of which no packets are sent
 *  @param off seconds in which the electrode is off: a flat line
 *  @param second its second channel; default: of ECG @param events what the device or the file says, and in which second
 *  @param pause from its second `at` on, everything was recorded so many seconds later
 *  @param packetSec of each packet, which has room for 256 events; default: 10
 *  @param isImport it states its times, which may be in the future */
type Sent = Readonly<{
  subject: string;
  deviceId: string;
  bootId: string;
  startMs: number;
  seconds: number;
  gap?: readonly [number, number];
  off?: readonly (readonly [number, number])[];
  second?: ChannelConfig;
  events?: readonly Readonly<{ sec: number; code: string; text: string }>[];
  pause?: Readonly<{ at: number; sec: number }>;
  packetSec?: number;
  isImport?: boolean;
}>;

const timesOf = (ns: bigint, isImport: boolean) => (isImport ? { t0UnixNs: 0n, recordedUnixNs: ns } : { t0UnixNs: ns });

/** Sends a recording of at most ten minutes as packets. */
export async function sendRecording({ service }: DashboardFixture, sent: Sent): Promise<void> {
  const values = samples();
  const events = sent.events ?? [{ sec: EVENT_SEC, code: 'battery', text: '12 %' }];
  for (const [from, to] of sent.off ?? []) values.fill(0, from * FS, to * FS);
  const { packetSec = 10 } = sent;
  for (let seq = 0; seq < sent.seconds / packetSec; seq++) {
    const fromSec = packetSec * seq;
    if (sent.gap !== undefined && fromSec >= sent.gap[0] && fromSec < sent.gap[1]) continue;
    const pauseSec = sent.pause !== undefined && fromSec >= sent.pause.at ? sent.pause.sec : 0;
    const t0DeviceNs = BigInt(1e9 * (fromSec + pauseSec));
    const part = values.slice(fromSec * FS, (fromSec + packetSec) * FS);
    const packet = encodePacket({
      schemaVersion: 1,
      deviceId: sent.deviceId,
      bootId: sent.bootId,
      seq,
      t0DeviceNs,
      ...timesOf(BigInt(sent.startMs) * 1_000_000n + t0DeviceNs, sent.isImport === true),
      sentUnixNs: 0n,
      subject: sent.subject,
      firmware: '',
      blocks: [
        { channel: CHANNEL, tOffsetNs: 0, samples: part, qmask: null },
        { channel: sent.second ?? SECOND, tOffsetNs: 0, samples: part.map((value) => value >> 1), qmask: null },
      ],
      measurements: [],
      events: events
        .filter(({ sec }) => Math.floor(sec / packetSec) === seq)
        .map(({ sec, code, text }) => ({ code, tOffsetNs: Math.round((sec - fromSec) * 1e9), text })),
    });
    const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/x-protobuf' },
      body: Buffer.from(packet),
    });
    expect(answer.status, await answer.text()).toBe(202);
  }
}

/** @returns id of the person */
export async function addPerson({ send }: DashboardFixture, externalId: string, name: string, timeZone?: string): Promise<string> {
  const project = (await send<{ project_key: string }[]>('GET', '/api/v1/projects'))[0]!;
  const user = { external_id: externalId, project_key: project.project_key, display_name: name };
  const person = (await send<{ xuser_id: string }>('POST', '/api/v1/xusers', user)).xuser_id;
  if (timeZone !== undefined) await send('PATCH', `/api/v1/xusers/${person}`, { time_zone: timeZone });
  return person;
}

/** @returns ids of the stream and of the person */
export async function sendViewed(dashboard: DashboardFixture): Promise<{ stream: string; person: string }> {
  const { send } = dashboard;
  const person = await addPerson(dashboard, 'viewed', 'Vera Viewed');
  await sendRecording(dashboard, {
    subject: 'viewed',
    deviceId: 'viewed patch',
    bootId: '07'.repeat(16),
    startMs,
    seconds: SECONDS,
    gap: GAP,
  });
  const stream = (await send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${person}`))[0]!.id;
  await send('POST', '/api/v1/annotations', { stream_id: stream, kind: 'note', starts_at: at(NOTE_SEC), text: 'walked' });
  await until(async () => {
    const [beats] = await send<{ ts_ns: number[] }[]>('GET', `/api/v1/streams/${stream}/beats`);
    return (beats?.ts_ns.length ?? 0) > (SECONDS - 60) / RR_SEC;
  });
  // Until its times are saved, a viewer takes a recording for one that has only begun.
  await until(async () => {
    const { last_sample_at: last } = await send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${stream}`);
    return Date.parse(last ?? '') > startMs + 1000 * (SECONDS - 1);
  }, 60_000);
  return { stream, person };
}
