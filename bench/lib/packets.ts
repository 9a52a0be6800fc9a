/** Seeded packets that look like an ECG to a codec: a slow wave, spikes, noise of a few LSB. */
import type { Packet } from '../../src/proto/packet.ts';

const EPOCH_NS = 1_790_000_000_000_000_000n;

export type PacketPlan = Readonly<{ channels: number; fs: number; ms: number; count: number; deviceId?: string; bootId?: string }>;

/** A small, fast, seeded generator of 0 <= x < 1 (mulberry32). */
export function seededRandom(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Consecutive packets of one device, starting at device time 0. */
export function ecgPacket(plan: PacketPlan): Packet[] {
  const { channels, fs, ms, count } = plan;
  const random = seededRandom(7);
  const rateNanoHz = Math.round(fs * 1e9);
  const perPacket = Math.max(1, Math.round((fs * ms) / 1000));
  const codes = ['ecg.ii', 'ppg.ir', 'resp', 'acc.x', 'acc.y', 'acc.z', 'eda', 'temp'];
  return Array.from({ length: count }, (_, seq) => {
    const k0 = seq * perPacket;
    const t0 = BigInt(Math.round((k0 / fs) * 1e9));
    return {
      schemaVersion: 1,
      deviceId: plan.deviceId ?? 'bench-1',
      bootId: plan.bootId ?? '0123456789abcdef0123456789abcdef',
      seq,
      t0DeviceNs: t0,
      t0UnixNs: EPOCH_NS + t0,
      sentUnixNs: EPOCH_NS + t0 + BigInt(ms * 1_000_000),
      subject: '',
      firmware: '',
      blocks: Array.from({ length: channels }, (__, c) => ({
        channel: {
          code: codes[c % codes.length]!,
          kind: kindOf(codes[c % codes.length]!),
          rateNanoHz,
          gain: 200,
          baseline: 0,
          unit: 'mV',
          lead: '',
        },
        tOffsetNs: 0,
        samples: Int32Array.from({ length: perPacket }, (___, i) => ecgLike((k0 + i) / fs + c / 7, random())),
        qmask: null,
      })),
      measurements: [],
      events: [],
    };
  });
}

function kindOf(code: string): Packet['blocks'][number]['channel']['kind'] {
  const first = code.split('.')[0];
  return first === 'ecg' || first === 'ppg' || first === 'resp' || first === 'acc' || first === 'eda' || first === 'temp' ? first : 'other';
}

/** LSB at 200 LSB/mV: baseline wander, one narrow peak of 1.2 mV each 0.8 s, noise. */
function ecgLike(sec: number, noise: number): number {
  const phase = (sec % 0.8) - 0.3;
  return Math.round(40 * Math.sin(sec * 1.3) + 240 * Math.exp(-(phase * phase) / 2e-4) + 6 * (noise - 0.5));
}
