/** Gain of the hand-written messages over protobufjs' static code of the same schema, and the cost of building a query. Processor time
 *  of one message, ours and theirs in turns, the median of the ratios; packets are in bench/ingest-decode.bench.ts.
 *
 *  sh scripts/with-runtime.sh bench/micro/codecs.bench.ts */
import { build, epochMs } from '../../src/storage/database/build.ts';
import { decodeFrame, encodeFrame } from '../../src/proto/frame-codec.ts';
import type { LiveFrame } from '../../src/proto/frame-codec.ts';
import { biosignal } from '../../src/proto/generated/generated.js';
import { encodeFeatureSeries, encodeSegments } from '../../src/proto/query-codec.ts';
import { decodeReply, encodeReply } from '../../src/proto/reply-codec.ts';
import { report } from '../lib/result.ts';

const { FeatureSeriesList, IngestReply, LiveFrame: Frame, SampleSegmentList } = biosignal.v1;
const ROUNDS = 15;
const ROUND_MS = 60;
/** Results go here, so that no work is left out. */
let kept: unknown = null;

/** @returns µs of processor time of one call */
function cost(work: () => unknown): number {
  const before = process.cpuUsage();
  const untilMs = performance.now() + ROUND_MS;
  let count = 0;
  while (performance.now() < untilMs) for (let i = 0; i < 8; i++, count++) kept = work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** In turns: a machine that is busy for a while is so for both. */
function compare(name: string, ours: () => unknown, theirs: () => unknown): void {
  for (let i = 0; i < 3; i++) {
    cost(ours);
    cost(theirs);
  }
  const pairs = Array.from({ length: ROUNDS }, () => [cost(ours), cost(theirs)] as const);
  const [a, b] = [median(pairs.map(([own]) => own)), median(pairs.map(([, other]) => other))];
  const ratio = median(pairs.map(([own, other]) => other / own));
  report({ name, value: a, unit: 'µs', note: `the other way ${b.toFixed(2)} µs: ${ratio.toFixed(1)} times as much` });
}

const reply = { accepted: 8, duplicates: 0, unverified: 0, rejected: [], highSeq: 1234, serverTimeNs: 1_767_225_600_000_000_000n };
const ack = { ...reply, settled: 1235, window: 64, notices: [], nodeUrl: '' };
const replyBytes = encodeReply(ack);
const replyMessage = IngestReply.decode(replyBytes);
compare(
  'a reply to packets, written',
  () => encodeReply(ack),
  () => IngestReply.encode(replyMessage).finish(),
);
compare(
  'a reply to packets, read',
  () => decodeReply(replyBytes),
  () => IngestReply.decode(replyBytes),
);

const samples = Float32Array.from({ length: 25 }, (_, i) => Math.sin(i / 5));
const channel = { kind: 'ecg', unit: 'mV', rateNanoHz: 250e9, tOffsetNs: 0, qmask: null, lead: 'II', source: 1 } as const;
const frame: LiveFrame = {
  subject: '0191e0a0-0000-7000-8000-000000000001',
  seq: 17_672_256_000,
  t0Ns: 1_767_225_600_000_000_000n,
  durationMs: 100,
  ecg: samples,
  ppg: new Float32Array(0),
  eda: new Float32Array(0),
  temp: new Float32Array(0),
  channels: [
    { ...channel, code: 'ecg.ii', primary: true, samples },
    { ...channel, code: 'ecg.i', primary: false, samples },
  ],
  features: [{ name: 'hr_ecg', tsNs: 1_767_225_600_000_000_000n, value: 61.5, qmask: 0 }],
  droppedFrames: 0,
  lagMs: 0,
  replayed: false,
  incomplete: false,
};
const frameBytes = encodeFrame(frame);
const frameMessage = Frame.decode(frameBytes);
compare(
  'a live frame of two leads, written',
  () => encodeFrame(frame),
  () => Frame.encode(frameMessage).finish(),
);
compare(
  'a live frame of two leads, read',
  () => decodeFrame(frameBytes),
  () => Frame.decode(frameBytes),
);

const N = 10_000;
const column = {
  name: 'hr_ecg',
  methodCode: 'derived:hr_ecg_v1',
  cadenceHz: 1,
  tsNs: BigInt64Array.from({ length: N }, (_, i) => 1_767_225_600_000_000_000n + BigInt(i) * 1_000_000_000n),
  values: Float64Array.from({ length: N }, (_, i) => 60 + (i % 20)),
  qmask: new Uint8Array(N),
};
const columnMessage = FeatureSeriesList.decode(encodeFeatureSeries([column]));
compare(
  '10,000 values of a feature, written',
  () => encodeFeatureSeries([column]),
  () => FeatureSeriesList.encode(columnMessage).finish(),
);
const segment = {
  code: 'ecg.ii',
  kind: 'ecg',
  unit: 'mV',
  lead: 'II',
  rateNanoHz: 250e9,
  t0Ns: 1_767_225_600_000_000_000n,
  gain: 200,
  baseline: 0,
  samples: Int32Array.from({ length: N }, (_, i) => Math.round(400 * Math.sin(i / 9))),
  qmask: null,
};
const segmentMessage = SampleSegmentList.decode(encodeSegments([segment]));
compare(
  '10,000 samples, written',
  () => encodeSegments([segment]),
  () => SampleSegmentList.encode(segmentMessage).finish(),
);

const statement = 'select ...';
compare(
  'a query as text (the other way: built and compiled)',
  () => ({ text: statement, values: ['1'] }),
  () =>
    build
      .selectFrom('api_key as k')
      .leftJoin('project as p', 'p.id', 'k.project_id')
      .select(['k.id', 'k.organization_id', 'k.project_id', 'k.scopes', 'k.secret_hash'])
      .select(({ ref }) => epochMs(ref('k.expires_at')).as('expires_ms'))
      .where('k.public_id', '=', '1')
      .where('k.revoked_at', 'is', null)
      .compile(),
);
if (kept === undefined) throw new Error('nothing was done');
