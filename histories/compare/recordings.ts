/** Lists of recordings and of devices, and the samples as REST answers them. */
import { gridIndex } from '../../src/signal.ts';
import type { ChannelConfig } from '../../src/signal.ts';
import { firstNs } from '../oracle.ts';
import type { Boot, Oracle, Person } from '../oracle.ts';

type StreamAnswer = Readonly<{
  id: string;
  device_id: string;
  boot_id: string;
  epoch_ns: string;
  recorded_from: string | null;
  channels: readonly Readonly<{ code: string; lead: string }>[];
}>;
type Segment = Readonly<{
  channel: string;
  lead: string;
  unit: string;
  gain: number;
  baseline: number;
  rate_hz: number;
  t0_ns: string;
  samples: (number | null)[];
  qmask: number[] | null;
}>;

const HOUR_MS = 3_600_000;
/** Every nth boot's samples are read, and every short one's. */
const SAMPLES_PER_BOOT_MAX = 60_000;

export async function compareRecordings(oracle: Oracle): Promise<void> {
  for (const person of await oracle.people()) await compareStreams(oracle, person);
  await compareDevices(oracle);
}

/** As whom a person's data is read: by the person where nobody else may. */
export function readerOf(oracle: Oracle, person: Person): { as: string; subject: string } {
  return oracle.isMissing(person, 'sharing')
    ? { as: person.token, subject: '' }
    : { as: oracle.key, subject: `subject_id=${person.xuserId}&` };
}

async function compareStreams(oracle: Oracle, person: Person): Promise<void> {
  const { as, subject } = readerOf(oracle, person);
  const list = async (query = ''): Promise<readonly StreamAnswer[]> =>
    (await oracle.must<StreamAnswer[]>(200, 'GET', `/api/v1/streams?${subject}limit=1000${query}`, { as })) ?? [];
  const all = await list();
  const boots = oracle.boots.filter((boot) => boot.person === person && oracle.hasAccepted(boot));
  for (const boot of boots) {
    const found = all.filter(({ boot_id }) => boot_id === boot.bootId);
    oracle.expect('streams', found.length === 1, () => `${boot.deviceId} ${boot.bootId} is listed ${found.length} times`);
    const stream = found[0];
    if (stream === undefined || boot.epoch === null) continue;
    const epochNs = BigInt(stream.epoch_ns);
    oracle.expect(
      'streams',
      epochNs >= boot.epoch.fromNs && epochNs <= boot.epoch.toNs,
      () => `${boot.deviceId} ${boot.bootId} is put at ${epochNs}, which is not within ${boot.epoch!.fromNs} and ${boot.epoch!.toNs}`,
    );
    if (oracle.isExpired(boot)) continue;
    const codes = (channels: readonly { code: string; lead: string }[]): string =>
      [...new Set(channels.map(({ code, lead }) => `${code} ${lead}`))].sort().join();
    const sentCodes = codes(boot.sent.flatMap(({ packet, accepted }) => (accepted ? packet.blocks.map(({ channel }) => channel) : [])));
    oracle.expect(
      'streams',
      codes(stream.channels) === sentCodes,
      () => `${boot.deviceId}: channels ${codes(stream.channels)} instead of ${sentCodes}`,
    );
    const startMs = Number((firstNs(boot) - boot.epoch.fromNs + epochNs) / 1_000_000n);
    const around = await list(`&since=${iso(startMs - HOUR_MS)}&until=${iso(startMs + HOUR_MS)}`);
    if (sentCodes !== '')
      oracle.expect(
        'streams',
        around.some(({ id }) => id === stream.id),
        () => `${boot.deviceId} is not among the recordings around its begin, ${iso(startMs)}`,
      );
    // A row of a slow channel is up to 8 s long, and its time is where it begins.
    const before = await list(`&until=${iso(startMs - 9000)}`);
    oracle.expect(
      'streams',
      before.every(({ id }) => id !== stream.id),
      () => `${boot.deviceId} (${boot.what}) is among the recordings before its begin, ${iso(startMs)}`,
    );
    await compareRestSamples(oracle, person, boot, stream);
  }
  const others = all.filter(({ boot_id }) => !oracle.boots.some((boot) => boot.person === person && boot.bootId === boot_id));
  oracle.expect('streams', others.length === 0, () => `${person.externalId} has recordings that are not theirs: ${JSON.stringify(others)}`);
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** Raw values and their quality, by channel and place on its grid. */
async function compareRestSamples(oracle: Oracle, person: Person, boot: Boot, stream: StreamAnswer): Promise<void> {
  const wanted = new Map<string, string>();
  const said = (value: number | null, flag: number): string => `${value}${flag === 0 ? '' : ` of quality ${flag}`}`;
  const keyOf = ({ code, lead, gain, baseline, rateNanoHz }: Omit<ChannelConfig, 'kind' | 'unit'>, k: number): string =>
    `${code} ${lead} ${gain} ${baseline} ${rateNanoHz} ${k}`;
  let lastNs = 0n;
  for (const { packet, accepted } of boot.sent) {
    if (!accepted) continue;
    for (const { channel, tOffsetNs, samples, qmask } of packet.blocks) {
      const k0 = gridIndex(packet.t0DeviceNs + BigInt(tOffsetNs), channel.rateNanoHz);
      samples.forEach((value, i) => wanted.set(keyOf(channel, k0 + i), said(Number.isFinite(value) ? value : null, qmask?.[i] ?? 0)));
      const endNs = packet.t0DeviceNs + BigInt(tOffsetNs) + BigInt(Math.ceil((samples.length / channel.rateNanoHz) * 1e18));
      if (endNs > lastNs) lastNs = endNs;
    }
  }
  if (wanted.size === 0 || wanted.size > SAMPLES_PER_BOOT_MAX) return;
  const epochNs = BigInt(stream.epoch_ns);
  const sinceMs = Number((epochNs + firstNs(boot) - boot.epoch!.fromNs) / 1_000_000n) - 5000;
  const untilMs = Number((epochNs + lastNs) / 1_000_000n) + 5000;
  const { as } = readerOf(oracle, person);
  let seen = 0;
  let wrong = '';
  for (
    let path: string | null = `/api/v1/streams/${stream.id}/samples?raw=true&since=${iso(sinceMs)}&until=${iso(untilMs)}`;
    path !== null;
  ) {
    const { status, json, headers, text } = await oracle.ask('GET', path, { as });
    if (status !== 200) return oracle.complain('samples', `${path}: ${status} ${text.slice(0, 200)}`);
    for (const { channel: code, lead, gain, baseline, rate_hz, t0_ns, samples, qmask } of json as Segment[]) {
      const rateNanoHz = Math.round(rate_hz * 1e9);
      const k0 = gridIndex(BigInt(t0_ns) - epochNs, rateNanoHz);
      for (const [i, value] of samples.entries()) {
        const key = keyOf({ code, lead, gain, baseline, rateNanoHz }, k0 + i);
        seen++;
        const got = said(value, qmask?.[i] ?? 0);
        if (wanted.get(key) !== got) wrong ||= `${key} is ${got}, sent was ${wanted.get(key)}`;
      }
    }
    path = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? null;
  }
  oracle.expect(
    'samples',
    wrong === '' && seen === wanted.size,
    () => `${boot.deviceId} ${boot.bootId}: ${seen} samples by REST of ${wanted.size}; ${wrong}`,
  );
}

async function compareDevices(oracle: Oracle): Promise<void> {
  type DeviceAnswer = Readonly<{ device_id: string; packets: number; lost_packets: number }>;
  const devices = await oracle.must<DeviceAnswer[]>(200, 'GET', '/api/v1/devices?limit=1000');
  if (devices === null) return;
  const counts = new Map<string, Set<number>>();
  for (const { deviceId, sent, person } of oracle.boots) {
    const count = sent.filter(({ accepted }) => accepted).length;
    // A packet that is refused for what it says has opened its recording: 0 is right then.
    if (!oracle.gone.includes(person)) counts.set(deviceId, (counts.get(deviceId) ?? new Set()).add(count));
  }
  for (const [deviceId, possible] of counts) {
    if ([...possible].every((count) => count === 0)) continue;
    const found = devices.filter(({ device_id }) => device_id === deviceId);
    oracle.expect('devices', found.length === 1, () => `${deviceId} is listed ${found.length} times`);
    // Of its newest recording, whichever that is.
    const packets = found[0]?.packets;
    oracle.expect(
      'devices',
      packets !== undefined && possible.has(packets),
      () => `${deviceId} has ${packets} packets instead of one of ${[...possible].join()}`,
    );
  }
}
