/** A whole device in TypeScript on the SDK: samples ECG, cuts it into packets of one second, and leaves batching, retries and the queue of
 *  unacknowledged packets to IngestClient.
 *  Run: BIO_URL=http://127.0.0.1:8080 BIO_KEY=org_live_... sh ../../scripts/with-runtime.sh examples/device/device.ts 10 */
import { randomBytes } from 'node:crypto';
import { IngestClient } from '../../sdk/ingest-client.ts';

const FS = 250;
const seconds = Number(process.argv[2] ?? 10);
const key = process.env['BIO_KEY'] ?? '';
let accepted = 0;
let duplicates = 0;

const client = new IngestClient({
  baseUrl: process.env['BIO_URL'] ?? 'http://127.0.0.1:8080',
  token: () => key,
  transport: 'http', // 'websocket' for many small packets a second
  batchPacketsMax: 5,
  onReply: (reply) => {
    accepted += reply.accepted;
    duplicates += reply.duplicates;
  },
  onRejected: ({ code, detail }) => console.error(`refused: ${code}: ${detail}`), // will not get better: log it and go on
});

/** Stands for the ADC: sample n, a beat every 0.8 s, in microvolts. With noise: a line without any is a lead that fell off. */
function sample(n: number): number {
  const phase = ((n / FS) % 0.8) - 0.4;
  const beat = 1000 * Math.exp(-((phase / 0.012) ** 2)) + 150 * Math.exp(-(((phase - 0.25) / 0.06) ** 2));
  return Math.round(beat + 20 * (Math.random() - 0.5));
}

const bootId = randomBytes(16).toString('hex'); // new whenever the sampling clock starts again
// A real device reads its sampling timer; here recorded time passes as fast as it is computed, so it begins in the past.
const startUnixNs = BigInt(Date.now() - seconds * 1000) * 1_000_000n;
for (let seq = 0; seq < seconds; seq++) {
  const t0DeviceNs = BigInt(seq) * 1_000_000_000n;
  void client.send({
    schemaVersion: 1,
    deviceId: 'example-typescript', // a serial number
    bootId,
    seq, // counts the packets of this boot
    t0DeviceNs, // sampling clock at the first sample
    t0UnixNs: startUnixNs + t0DeviceNs, // wall clock at the same moment; 0n without one
    sentUnixNs: BigInt(Date.now()) * 1_000_000n,
    subject: 'example-patient',
    firmware: 'example 2',
    blocks: [
      {
        channel: { code: 'ecg.ii', kind: 'ecg', rateNanoHz: FS * 1e9, gain: 1000, baseline: 0, unit: 'mV', lead: 'II' },
        tOffsetNs: 0,
        samples: Int32Array.from({ length: FS }, (_, i) => sample(seq * FS + i)),
        qmask: null,
      },
    ],
    measurements: [],
    events: [],
  });
}
await client.flush();
client.close();
console.log(JSON.stringify({ packets: seconds, accepted, duplicates }));
