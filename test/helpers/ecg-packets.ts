/** Packets of an ECG whose intervals a test chooses, sent as an import does: at the time of the recording. */
import { seededRandom } from '../../bench/lib/packets.ts';
import type { Packet } from '../../src/proto/packet.ts';

/** Sampling rate, Hz. */
export const ECG_FS = 250;

/** @param rrSec interval after the beat at so many seconds, s */
type EcgOptions = Readonly<{ deviceId: string; subject: string; startMs: number; seconds: number; rrSec: (atSec: number) => number }>;

/** Ten seconds per packet of an ECG at 200 LSB/mV whose beats lie `rrSec(at)` apart. A beat less than 0.5 s after the one before is
 *  ventricular: wide, its T wave upside down. */
export function ecgPackets({ deviceId, subject, startMs, seconds, rrSec }: EcgOptions): Packet[] {
  const FS = ECG_FS;
  const random = seededRandom(11);
  const samples = new Int32Array(seconds * FS);
  for (let i = 0; i < samples.length; i++) samples[i] = Math.round(20 * Math.sin(i / 300) + 8 * (random() - 0.5));
  for (let beatSec = 0.5, beforeSec = 1; beatSec < seconds - 0.5; beatSec += beforeSec = rrSec(beatSec)) {
    const [width, tWave] = beforeSec < 0.5 ? [3e-3, -60] : [2e-4, 40];
    for (let i = Math.floor((beatSec - 0.1) * FS); i < (beatSec + 0.35) * FS && i < samples.length; i++) {
      const t = i / FS - beatSec;
      samples[i] = samples[i]! + Math.round(240 * Math.exp(-(t * t) / width) + tWave * Math.exp(-((t - 0.22) ** 2) / 3e-3));
    }
  }
  const channel = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 200, baseline: 0, unit: 'mV', lead: 'II' } as const;
  const perPacket = 10 * FS;
  return Array.from({ length: seconds / 10 }, (_, seq) => {
    const t0DeviceNs = BigInt(seq) * 10_000_000_000n;
    const t0UnixNs = BigInt(startMs) * 1_000_000n + t0DeviceNs;
    return {
      schemaVersion: 1,
      deviceId,
      bootId: Buffer.from(deviceId.padEnd(16, '.')).toString('hex').slice(0, 32),
      seq,
      t0DeviceNs,
      t0UnixNs,
      sentUnixNs: 0n, // an import: the wall clock of the packet is taken as it is
      subject,
      firmware: '',
      blocks: [{ channel, tOffsetNs: 0, samples: samples.slice(seq * perPacket, (seq + 1) * perPacket), qmask: null }],
      measurements: [],
      events: [],
    };
  });
}
