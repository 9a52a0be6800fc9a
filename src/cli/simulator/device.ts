/** A simulated device on a simulated person: digital samples of every channel, and the truth they were made from. Pure and seeded: the same
 *  options give the same samples on every machine, however calls divide the time. */
import { gridCeil } from '../../signal.ts';
import type { ChannelConfig, ChannelNo, SampleRun } from '../../signal.ts';
import { createBody } from './body.ts';
import type { Activity, BeatKind, Body, ContactLoss, Rhythm } from './body.ts';
import { createNoise } from './noise.ts';
import type { NoiseLevels, NoiseSource } from './noise.ts';
import { addAcceleration, addEcg, addEda, addPpg, addPpgMotion, addTemperature, cutContact, systolicPeakSec } from './waveforms.ts';

export const simulatedChannels = ['ecg.ii', 'ppg.ir', 'ppg.red', 'eda', 'temp.skin', 'acc.x', 'acc.y', 'acc.z', 'resp'] as const;
export type SimulatedChannel = (typeof simulatedChannels)[number];

export type SimulatedDeviceOptions = Readonly<{
  /** 32-bit seed: one person and one device. */
  seed: number;
  /** Channels in the order of their ChannelNo. Default: all but ppg.red and resp. */
  channels?: readonly SimulatedChannel[];
  /** Sampling rates in Hz that differ from the defaults (ECG 250, PPG 100, EDA 4, temperature 1, acceleration 50, respiration 25). */
  rateHz?: Readonly<Partial<Record<SimulatedChannel, number>>>;
  rhythm?: Rhythm;
  /** Mean heart rate at rest, 1/min, 30..180. Default: by seed, 55..80. */
  heartRateBpm?: number;
  /** Ventricular premature beats per 100 beats. Default 0. */
  pvcPercent?: number;
  /** Default: by seed, 11..18. */
  breathsPerMin?: number;
  /** Default `rest`. */
  activity?: Activity;
  /** 0 clean, 1 a usual recording (default), 3 poor. */
  noise?: number;
  /** Losses of contact per hour, 3 to 30 s each, of the ECG or of the PPG. Default 0. */
  contactLossPerHour?: number;
}>;

export type TruthBeat = Readonly<{
  /** R peak on the device clock, s and ns since its zero. */
  atSec: number;
  deviceNs: bigint;
  /** Interval to the previous beat, ms. */
  rrMs: number;
  kind: BeatKind;
  /** Systolic peak of this beat in the PPG, s. */
  systolicSec: number;
}>;

export type SimulatedSpan = Readonly<{
  /** Device time of the span, ns, [t0, t1). */
  t0DeviceNs: bigint;
  t1DeviceNs: bigint;
  /** One run per channel that has a sample in the span. */
  runs: readonly SampleRun[];
  /** Truth: beats whose R peak lies in the span, in ascending order. */
  beats: readonly TruthBeat[];
  /** Truth: onsets of skin responses in the span, s. */
  skinResponseSec: readonly number[];
  /** Truth: starts of breaths in the span, s. */
  breathSec: readonly number[];
  /** Truth: steps per second at the end of the span; 0 when still. */
  stepHz: number;
  /** Truth: is the heart fibrillating at the end of the span? */
  fibrillating: boolean;
  /** Truth: losses of contact that begin in the span. */
  contactLosses: readonly ContactLoss[];
}>;

export type SimulatedDevice = Readonly<{
  channels: readonly ChannelConfig[];
  /** Simulates the next stretch of time. */
  next: (durationMs: number) => SimulatedSpan;
}>;

type Model = Readonly<{
  config: Omit<ChannelConfig, 'rateNanoHz'>;
  rateHz: number;
  noise: NoiseLevels;
  /** What the sensor reads is body * scale + offset, physical. */
  scale?: number;
  offset?: number;
  digitalMin: number;
  digitalMax: number;
}>;

const quiet = { white: 0, wander: 0, mains: 0, mainsHz: 50 };
const accelerometer = (code: string, lead: string): Model => ({
  config: { code, kind: 'acc', gain: 4096, baseline: 0, unit: '[g]', lead },
  rateHz: 50,
  noise: { ...quiet, white: 0.004 },
  digitalMin: -32_768,
  digitalMax: 32_767,
});

/** Raw light of an 18-bit front end: the pulse, about 1, on a level of 50 times that (perfusion 2 %). */
const light = (code: string, level: number, scale: number): Model => ({
  config: { code, kind: 'ppg', gain: 2000, baseline: 0, unit: '1', lead: 'finger' },
  rateHz: 100,
  noise: { white: 0.01 * scale, wander: 0.12 * scale, mains: 0, mainsHz: 50 },
  scale,
  offset: level,
  digitalMin: 0,
  digitalMax: 262_143,
});
const INFRARED_LEVEL = 50;
const RED_LEVEL = 40;
/** Truth: the oxygen saturation of every simulated person, %, by the textbook line 110 - 25 R. */
export const simulatedSpo2 = 97;
const redScale = (((110 - simulatedSpo2) / 25) * RED_LEVEL) / INFRARED_LEVEL;

const models: Readonly<Record<SimulatedChannel, Model>> = {
  'ecg.ii': {
    config: { code: 'ecg.ii', kind: 'ecg', gain: 1000, baseline: 0, unit: 'mV', lead: 'II' },
    rateHz: 250,
    noise: { white: 0.012, wander: 0.06, mains: 0.008, mainsHz: 50 },
    digitalMin: -32_768,
    digitalMax: 32_767,
  },
  'ppg.ir': light('ppg.ir', INFRARED_LEVEL, 1),
  'ppg.red': light('ppg.red', RED_LEVEL, redScale),
  eda: {
    config: { code: 'eda', kind: 'eda', gain: 10_000, baseline: 0, unit: 'uS', lead: 'wrist' },
    rateHz: 4,
    noise: { ...quiet, white: 0.003 },
    digitalMin: 0,
    digitalMax: 1_000_000,
  },
  'temp.skin': {
    config: { code: 'temp.skin', kind: 'temp', gain: 200, baseline: 0, unit: 'Cel', lead: 'wrist' },
    rateHz: 1,
    noise: { ...quiet, white: 0.004 },
    digitalMin: -32_768,
    digitalMax: 32_767,
  },
  'acc.x': accelerometer('acc.x', 'wrist'),
  'acc.y': accelerometer('acc.y', 'wrist'),
  'acc.z': accelerometer('acc.z', 'wrist'),
  resp: {
    config: { code: 'resp', kind: 'resp', gain: 1000, baseline: 0, unit: '1', lead: 'chest' },
    rateHz: 25,
    noise: { ...quiet, white: 0.02, wander: 0.05 },
    digitalMin: -32_768,
    digitalMax: 32_767,
  },
};

const NS_PER_SEC = 1_000_000_000;

export function createSimulatedDevice(options: SimulatedDeviceOptions): SimulatedDevice {
  const { seed } = options;
  const codes = options.channels ?? simulatedChannels.filter((code) => code !== 'resp' && code !== 'ppg.red');
  const body = createBody({
    seed,
    rhythm: options.rhythm ?? 'sinus',
    heartRateBpm: options.heartRateBpm ?? 55 + ((Math.imul(seed, 7) >>> 0) % 26),
    pvcPercent: options.pvcPercent ?? 0,
    breathsPerMin: options.breathsPerMin ?? 11 + ((Math.imul(seed, 5) >>> 0) % 8),
    activity: options.activity ?? 'rest',
    contactLossPerHour: options.contactLossPerHour ?? 0,
  });
  const noiseScale = options.noise ?? 1;
  const sensors = codes.map((code, index) => {
    const model = models[code];
    const rateHz = options.rateHz?.[code] ?? model.rateHz;
    const { white, wander, mains, mainsHz } = model.noise;
    const levels = { white: white * noiseScale, wander: wander * noiseScale, mains: mains * noiseScale, mainsHz };
    return {
      code,
      model,
      fs: rateHz,
      channelNo: index as ChannelNo,
      config: { ...model.config, rateNanoHz: Math.round(rateHz * NS_PER_SEC) },
      noise: code === 'ppg.red' ? redNoise(seed, rateHz, levels) : createNoise(seed, code, rateHz, levels),
    };
  });

  let nowNs = 0n;
  const next = (durationMs: number): SimulatedSpan => {
    const t0DeviceNs = nowNs;
    const t1DeviceNs = nowNs + BigInt(Math.round(durationMs * 1e6));
    nowNs = t1DeviceNs;
    const runs: SampleRun[] = [];
    for (const sensor of sensors) {
      const k0 = gridCeil(t0DeviceNs, sensor.config.rateNanoHz);
      const n = gridCeil(t1DeviceNs, sensor.config.rateNanoHz) - k0;
      if (n === 0) continue;
      const samples = readSensor(body, sensor, noiseScale, k0, n);
      runs.push({ channelNo: sensor.channelNo, k0, samples, qmask: null });
    }
    const t0 = Number(t0DeviceNs) / NS_PER_SEC;
    const t1 = Number(t1DeviceNs) / NS_PER_SEC;
    const beats = body.beats.between(t0, t1).map((beat) => ({
      atSec: beat.atSec,
      deviceNs: BigInt(Math.round(beat.atSec * NS_PER_SEC)),
      rrMs: beat.rrSec * 1000,
      kind: beat.kind,
      systolicSec: systolicPeakSec(beat),
    }));
    const skinResponseSec = body.skinResponses.between(t0, t1).map((response) => response.atSec);
    const breathSec = body.breaths.between(t0, t1).map((breath) => breath.atSec);
    const stepHz = body.bouts.at(t1).stepHz;
    const { fibrillating } = body.rhythms.at(t1);
    const contactLosses = body.contactLosses.between(t0, t1);
    for (const schedule of [body.beats, body.breaths, body.bouts, body.skinResponses, body.rhythms, body.contactLosses])
      schedule.forget(t1);
    return { t0DeviceNs, t1DeviceNs, runs, beats, skinResponseSec, breathSec, stepHz, fibrillating, contactLosses };
  };
  return { channels: sensors.map((sensor) => sensor.config), next };
}

/** Light wanders with the tissue: both wavelengths alike. Only the electronics are red's own. */
function redNoise(seed: number, rateHz: number, levels: NoiseLevels): NoiseSource {
  const shared = createNoise(seed, 'ppg.ir', rateHz, levels);
  const own = createNoise(seed, 'ppg.red', rateHz, { ...levels, wander: 0, white: levels.white / 2 });
  return (out, k0, moving) => {
    shared(out, k0, moving);
    own(out, k0, moving);
  };
}

type Sensor = Readonly<{ code: SimulatedChannel; model: Model; fs: number; config: ChannelConfig; noise: NoiseSource }>;

function readSensor(body: Body, sensor: Sensor, noiseScale: number, k0: number, n: number): Int32Array {
  const { code, fs, model, config } = sensor;
  const physical = new Float64Array(n);
  switch (code) {
    case 'ecg.ii':
      addEcg(body, fs, k0, physical);
      break;
    case 'ppg.ir':
    case 'ppg.red':
      addPpg(body, fs, k0, physical);
      if (noiseScale > 0) addPpgMotion(body, fs, k0, physical);
      break;
    case 'eda':
      addEda(body, fs, k0, physical);
      break;
    case 'temp.skin':
      addTemperature(fs, k0, physical);
      break;
    case 'acc.x':
    case 'acc.y':
    case 'acc.z':
      addAcceleration(body, code === 'acc.x' ? 0 : code === 'acc.y' ? 1 : 2, fs, k0, physical);
      break;
    case 'resp':
      for (let i = 0; i < n; i++) physical[i] = body.breathing((k0 + i) / fs);
      break;
    default: {
      const never: never = code;
      throw new RangeError(`no model for ${String(never)}`);
    }
  }
  const { scale = 1, offset = 0 } = model;
  if (scale !== 1) for (let i = 0; i < n; i++) physical[i]! *= scale;
  const contact = config.kind === 'ecg' || config.kind === 'ppg';
  sensor.noise(physical, k0, contact ? (k) => body.bouts.at(k / fs).accG : () => 0);
  if (code === 'ecg.ii') cutContact(body, 'ecg', (model.digitalMax - config.baseline) / config.gain, fs, k0, physical);
  if (config.kind === 'ppg') cutContact(body, 'ppg', -4 * scale, fs, k0, physical);
  const digital = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    const lsb = Math.round((physical[i]! + offset) * config.gain + config.baseline);
    digital[i] = Math.min(model.digitalMax, Math.max(model.digitalMin, lsb));
  }
  return digital;
}
