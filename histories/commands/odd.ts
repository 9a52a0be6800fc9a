/** Packets that are odd and legal, and packets that are not legal: each in a boot of its own. */
import { createRandom } from '../../src/cli/simulator/random.ts';
import type { Block, Packet } from '../../src/proto/packet.ts';
import type { ChannelConfig, Samples } from '../../src/signal.ts';
import { personOf, refusals, refusedBySite } from '../commands.ts';
import type { DeviceCommand, oddities } from '../commands.ts';
import { deliver } from '../deliver.ts';
import type { Boot, Oracle } from '../oracle.ts';
import { encode } from '../recorder.ts';

type Oddity = (typeof oddities)[number];
type Refusal = keyof typeof refusals;

const SECOND = 1_000_000_000n;
const AGO_MS = 900_000;
const ecg: ChannelConfig = { code: 'ecg.ii', kind: 'ecg', rateNanoHz: 250e9, gain: 1000, baseline: 0, unit: 'mV', lead: 'II' };

export async function sendOdd(oracle: Oracle, { device: index, what }: Extract<DeviceCommand, { do: 'odd' }>): Promise<void> {
  const boot = await openBoot(oracle, index, what);
  await deliver(oracle, boot, oddPackets(what, base(boot), oracle.seed));
}

export async function sendIllegal(oracle: Oracle, { device: index, what }: Extract<DeviceCommand, { do: 'illegal' }>): Promise<void> {
  const boot = await openBoot(oracle, index, what);
  const packet = base(boot);
  if (what === 'another subject in the same boot') await deliver(oracle, boot, [packet]);
  if (what === 'before the year 2000') await deliver(oracle, boot, [{ ...packet, t0DeviceNs: 1n << 61n }]); // 73 years of device time
  const bytes = encode(illegalPacket(what, packet));
  const sent = what === 'cut short' ? bytes.slice(0, -3) : bytes;
  const { json, text } = await oracle.ask('POST', '/ingest/raw-packet', { packets: sent });
  const { code } = (json ?? {}) as { code?: string };
  const isRight = code === refusals[what] || (code === 'consent_missing' && oracle.required.includes('recording'));
  oracle.expect('answers', isRight, () => `a packet that is not legal (${what}) was answered ${text.slice(0, 200)}`);
}

async function openBoot(oracle: Oracle, index: number, what: string): Promise<Boot> {
  const device = oracle.device(index);
  return oracle.openBoot(device.id, `${what} ${device.oddCount++}`, await oracle.person(personOf(index)));
}

/** A second of ECG, as from a quarter of an hour ago. */
function base({ deviceId, bootId, person }: Boot): Packet {
  const t0UnixNs = BigInt(Date.now() - AGO_MS) * 1_000_000n;
  const times = { t0DeviceNs: 0n, t0UnixNs, sentUnixNs: BigInt(Date.now()) * 1_000_000n };
  const rest = { firmware: '', measurements: [], events: [], subject: person.externalId };
  return { schemaVersion: 1, deviceId, bootId, seq: 0, ...times, ...rest, blocks: [blockOf(ecg, sine(250, 250))] };
}

const blockOf = (channel: ChannelConfig, samples: Samples, tOffsetNs = 0, qmask: Uint8Array | null = null): Block => ({
  channel,
  tOffsetNs,
  samples,
  qmask,
});
const sine = (n: number, fs: number, amplitude = 500): Int32Array =>
  Int32Array.from({ length: n }, (_, k) => Math.round(amplitude * Math.sin((7 * k) / fs)));

/** The same with another number, so many seconds on. */
const at = (packet: Packet, seq: number, sec: number, blocks = packet.blocks): Packet => ({
  ...packet,
  seq,
  blocks,
  t0DeviceNs: packet.t0DeviceNs + BigInt(sec) * SECOND,
  t0UnixNs: packet.t0UnixNs + BigInt(sec) * SECOND,
});

function oddPackets(what: Oddity, packet: Packet, seed: number): Packet[] {
  const random = createRandom(seed, what);
  const anyInt = (): number => Math.floor(random.between(-(2 ** 31), 2 ** 31));
  switch (what) {
    case 'twenty leads': {
      const leads = Array.from({ length: 20 }, (_, i) => ({ ...ecg, code: `ecg.l${i}`, lead: `L${i}` }));
      return [0, 1, 2, 3, 4, 5].map((sec) =>
        at(
          packet,
          sec,
          sec,
          leads.map((lead, i) => blockOf(lead, sine(250, 250, 300 + 20 * i))),
        ),
      );
    }
    case 'numbers far apart':
      return [at(packet, 0, 0), at(packet, 2 ** 31, 1), at(packet, Number.MAX_SAFE_INTEGER, 2)];
    case 'floats': {
      const channel = { ...ecg, code: 'eda', kind: 'eda', gain: 1, unit: 'uS', lead: 'wrist' } as const;
      const values = Float32Array.from({ length: 250 }, (_, i) =>
        i % 50 === 7 ? NaN : i % 50 === 9 ? 3.4e38 : i % 50 === 11 ? -1e-45 : Math.sin(i / 9),
      );
      return [0, 1, 2].map((sec) => at(packet, sec, sec, [blockOf(channel, values)]));
    }
    case 'extreme integers': {
      const channel = { ...ecg, gain: -5e-324, baseline: 1.7e308, lead: 'é'.repeat(16), unit: 'x'.repeat(16) };
      const plain = { ...ecg, code: `ecg.${'x'.repeat(28)}` };
      const samples = (): Int32Array =>
        Int32Array.from({ length: 250 }, (_, i) => (i % 3 === 0 ? 2 ** 31 - 1 : i % 3 === 1 ? -(2 ** 31) : anyInt()));
      return [0, 1, 2].map((sec) => at(packet, sec, sec, [blockOf(channel, samples()), blockOf(plain, samples())]));
    }
    case 'extreme rates': {
      const slow = { ...ecg, code: 'temp.slow', kind: 'temp', rateNanoHz: 1_000_000, unit: 'Cel', lead: '' } as const;
      const fast = { ...ecg, code: 'other.fast', kind: 'other', rateNanoHz: 1e15, unit: '', lead: '' } as const;
      const uneven = { ...ecg, code: 'ppg.x', kind: 'ppg', rateNanoHz: 130_100_000_001, unit: '', lead: '' } as const;
      return [at(packet, 0, 0, [blockOf(slow, Int32Array.of(7)), blockOf(fast, sine(5000, 1e5)), blockOf(uneven, sine(130, 130))])];
    }
    case 'long texts': {
      const text = '🫀\n\t"<b>&amp;\u202e'.padEnd(120, 'ü');
      const events = [
        { code: 'a', tOffsetNs: 0, text },
        { code: 'button', tOffsetNs: 86_400e9, text: '' },
      ];
      return [{ ...packet, t0UnixNs: packet.t0UnixNs - 90_000n * SECOND, firmware: '1.0 – ü 🫀', events }];
    }
    case 'many items': {
      const values = [Number.MAX_VALUE, -Number.MAX_VALUE, 5e-324, -0, 0.1, 1e15];
      const measurements = Array.from({ length: 256 }, (_, i) => ({
        code: `m${i % 7}`,
        tOffsetNs: i * 1000,
        value: values[i % 6]!,
        unit: '1',
        quality: 0 as const,
      }));
      return [
        { ...packet, measurements, events: Array.from({ length: 256 }, (_, i) => ({ code: 'e', tOffsetNs: i * 1e6, text: String(i) })) },
      ];
    }
    case 'nothing':
      return [at(packet, 5, 0, []), at(packet, 6, 1)];
    case 'far device time':
      return [0, 1].map((sec) => ({ ...at(packet, sec, sec), t0DeviceNs: (1n << 61n) + BigInt(sec) * SECOND }));
    case 'quality runs':
      return [0, 1, 2].map((sec) =>
        at(packet, sec, sec, [
          blockOf(
            ecg,
            sine(250, 250),
            0,
            Uint8Array.from({ length: 250 }, (_, i) => (i * 7 + sec) % 3),
          ),
        ]),
      );
    case 'rows that the site refuses':
      return [0, 1].map((sec) => ({
        ...at(packet, sec, sec),
        measurements: [5, refusedBySite.value, 7].map((value, i) => ({
          code: 'm0',
          tOffsetNs: i * 1e6,
          value,
          unit: '1',
          quality: 0 as const,
        })),
        events: ['a', refusedBySite.text, 'b'].map((text, i) => ({ code: 'e', tOffsetNs: i * 1e6, text })),
      }));
    default: {
      const never: never = what;
      throw new TypeError(String(never));
    }
  }
}

function illegalPacket(what: Refusal, packet: Packet): Packet {
  switch (what) {
    case 'control character in a unit':
      return { ...packet, blocks: [blockOf({ ...ecg, unit: 'm\u0000V' }, sine(250, 250))] };
    case 'control character in an event':
      return { ...packet, events: [{ code: 'button', tOffsetNs: 0, text: 'bell \u0007 and \u0000' }] };
    case 'eleven minutes ahead':
      return { ...packet, t0UnixNs: packet.sentUnixNs, t0DeviceNs: 0n, blocks: [blockOf(ecg, sine(250, 250), 661e9)] };
    case 'before the year 2000':
      return { ...packet, seq: 1 };
    case 'rate of 0':
      return { ...packet, blocks: [blockOf({ ...ecg, rateNanoHz: 0 }, sine(250, 250))] };
    case 'two days after its packet':
      return { ...packet, blocks: [blockOf(ecg, sine(250, 250), 48 * 3600e9)] };
    case 'cut short':
      return packet;
    case 'another subject in the same boot':
      return { ...packet, seq: 1, subject: `${packet.subject}-other` };
    default: {
      const never: never = what;
      throw new TypeError(String(never));
    }
  }
}
