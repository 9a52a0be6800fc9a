/** A device in TypeScript: one packet of two seconds of ECG, sent again until it is durable. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodePacket } from '../../src/proto/packet-codec.ts';

const url = new URL('/ingest/raw-packet', process.env['BIO_URL'] ?? 'http://127.0.0.1:8080');
const key = process.env['BIO_KEY'] ?? '';

const fs = 250;
const ecg = Int32Array.from({ length: 2 * fs }, (_, i) => {
  const phase = ((i / fs) % 0.8) - 0.4; // a beat every 0.8 s, R at the middle
  return Math.round(1000 * Math.exp(-((phase / 0.012) ** 2)) + 150 * Math.exp(-(((phase - 0.25) / 0.06) ** 2))); // µV
});

const nowNs = BigInt(Date.now()) * 1_000_000n;
const body = encodePacket({
  schemaVersion: 1,
  deviceId: 'example-typescript',
  bootId: randomBytes(16).toString('hex'), // new whenever the device's clock starts
  seq: 0, // counts the packets of this boot
  t0DeviceNs: 0n, // monotonic clock at the first sample
  t0UnixNs: nowNs - 2_000_000_000n, // wall clock at the same moment; 0n without one
  sentUnixNs: nowNs,
  subject: 'example-patient',
  firmware: 'example 1',
  blocks: [
    {
      channel: { code: 'ecg.ii', kind: 'ecg', rateNanoHz: fs * 1e9, gain: 1000, baseline: 0, unit: 'mV', lead: 'II' },
      tOffsetNs: 0,
      samples: ecg,
      qmask: null,
    },
  ],
  measurements: [],
  events: [],
});

// 202: durable. 429 and 503: nothing was kept, send the same bytes again. Anything else will not get better by repeating.
for (let attempt = 1; ; attempt++) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf' },
    body,
  }).catch(() => null);
  if (response !== null && response.status !== 429 && response.status !== 503) {
    console.log(await response.text());
    process.exitCode = response.ok ? 0 : 1;
    break;
  }
  if (attempt === 10) throw new Error(`no answer from ${url.href}`);
  await sleep(Number(response?.headers.get('retry-after') ?? 1) * 1000);
}
