/** `biosignal import`: recordings into the service at their own time, with their annotations. Importing again changes nothing. */
import { createHash } from 'node:crypto';
import { readAnnotations } from '../formats/wfdb.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, UsageError } from './command.ts';
import { packetCount } from './packetize.ts';
import { listRecordings, openRecording } from './recording.ts';
import type { Recording } from './recording.ts';
import { replayRecording } from './replay.ts';
import type { ReplayResult } from './replay.ts';

const PACKET_MS = 1000;

export const importRecordings: Command = {
  name: 'import',
  summary: 'Import recordings (WFDB with .atr, EDF+, CSV, dataset folders) at their own time.',
  positionals: 'RECORDING...',
  description: `Sends the recordings through the ingest endpoint, as fast as it takes them. The identity of a stream follows from its samples, so an
import that was interrupted, or is done twice, goes on where it stood: packets that are there already are counted as duplicates.
Annotations (.atr, EDF+) become events with the code 'annotation'. CSV tables have a time column, or comments as 'export' writes.`,
  options: {
    to: { type: 'string', value: 'URL', env: 'BIO_URL', fallback: 'http://127.0.0.1:8080', doc: 'Address of the service.' },
    key: { type: 'string', value: 'KEY', env: 'BIO_KEY', doc: 'Organization key of scope ingest.' },
    subject: { type: 'string', value: 'ID', doc: "External id or uuid of the user record. Default: the recording's name." },
    device: { type: 'string', value: 'ID', doc: 'Device id. Default: import-NAME.' },
    start: { type: 'string', value: 'TIME', doc: 'Time of the first sample, for recordings that do not state it.' },
  },
  examples: ['biosignal import night.edf --subject patient-7', 'biosignal import data/mitdb --start 2026-01-05T08:00:00Z'],
  run: async ({ console, options, positionals, json }) => {
    if (positionals.length === 0) throw new UsageError('name at least one recording');
    const paths = (await Promise.all(positionals.map((path) => listRecordings(path)))).flat();
    const credential = options.required('key');
    const results: ReplayResult[] = [];
    for (const path of paths) {
      if (console.signal.aborted) break;
      const recording = await withAnnotations(await openRecording(path));
      const startUnixNs = options.time('start') ?? startOf(recording);
      if (startUnixNs === null) throw new UsageError(`${path} does not state when it was recorded: give --start`);
      const deviceId = options.text('device') || `import-${recording.name}`.slice(0, 64);
      const bootId = identityOf(recording, deviceId, startUnixNs);
      const result = await replayRecording(
        recording,
        {
          url: options.text('to'),
          credential,
          subject: options.text('subject') || recording.name,
          deviceId,
          packetMs: PACKET_MS,
          speed: Infinity,
          startUnixNs,
          resume: { bootId, startUnixNs: String(startUnixNs), packetMs: PACKET_MS, nextSeq: 0 },
          durationSec: Infinity,
          withEvents: true,
        },
        console,
      );
      results.push(result);
      if (!json) {
        const { accepted, duplicates, rejected, elapsedSec, samples } = result;
        const total = packetCount(recording, PACKET_MS);
        console.out(
          `${recording.name}: ${samples} samples in ${elapsedSec.toFixed(1)} s; ${accepted} packets new, ${duplicates} were there, ` +
            `${rejected} rejected, of ${total}; user ${result.subject}, device ${deviceId}`,
        );
        if (result.firstRejection !== '') console.out(`  first: ${result.firstRejection}`);
      }
    }
    if (json) console.out(JSON.stringify(results, null, 2));
    if (console.signal.aborted) return EXIT_INTERRUPTED;
    return results.some(({ rejected }) => rejected > 0) ? EXIT_FAILED : EXIT_OK;
  },
};

async function withAnnotations(recording: Recording): Promise<Recording> {
  if (recording.annotationPath === null) return recording;
  const fs = (recording.channels[0]?.config.rateNanoHz ?? 1e9) / 1e9;
  const annotations = await readAnnotations(recording.annotationPath);
  const events = annotations.map(({ sample, code, aux }) => ({ atSec: sample / fs, text: aux === '' ? code : `${code} ${aux}` }));
  return { ...recording, events: [...recording.events, ...events] };
}

function startOf(recording: Recording): bigint | null {
  return recording.startUnixSec === null ? null : BigInt(Math.round(recording.startUnixSec * 1e6)) * 1000n;
}

/** A boot id that the same samples of the same device at the same time always get. */
function identityOf(recording: Recording, deviceId: string, startUnixNs: bigint): string {
  const hash = createHash('sha256').update(`${deviceId}\n${startUnixNs}\n`);
  for (const { config, startSec, samples } of recording.channels) {
    hash.update(JSON.stringify([config, startSec]));
    hash.update(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
  }
  return hash.digest('hex').slice(0, 32);
}
