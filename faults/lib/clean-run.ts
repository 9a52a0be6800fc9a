/** Holds beats and values against those of a clean run: the packets that were acknowledged, sent once, in order and without a pause to a
 *  service and a database of their own. */
import { join } from 'node:path';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createOrganization } from '../../src/auth/organizations.ts';
import { Ledger } from '../../src/cli/client/ledger.ts';
import { isRejected } from '../../src/errors.ts';
import { defaultPacketLimits } from '../../src/proto/packet.ts';
import { decodePacket } from '../../src/proto/packet-decode.ts';
import { encodeBatch, encodePacket } from '../../src/proto/packet-encode.ts';
import { openDatabase } from '../../src/storage/database/database.ts';
import { PrivatePostgres } from './private-postgres.ts';
import { freePort } from './free-port.ts';
import { ServiceProcess } from './service.ts';

export type Comparison = Readonly<{
  /** Rows of the clean run. */
  rows: number;
  /** Rows that one of them has and the other has not. */
  otherRows: number;
  complaints: readonly string[];
}>;

/** By stream (device and boot) rows as text, every column that means something, times on the device's clock. */
type Rows = ReadonlyMap<string, ReadonlySet<string>>;

const BATCH_PACKETS = 100;
const DAY_NS = 86_400n * 1_000_000_000n;
/** Rows may still be on their way: they differ when nothing has changed for so long. */
const QUIET_MS = 15_000;
const WAIT_MS_MAX = 600_000;

/** @param url of the database that is held against it  @param workDir a folder for the clean run's own one */
export async function compareWithCleanRun(ledger: string, url: string, workDir: string): Promise<Comparison> {
  const wanted = await runClean(new Ledger(ledger), join(workDir, 'clean'));
  let complaints: string[] = [];
  let otherRows = 0;
  let sinceMs = performance.now();
  for (const deadline = performance.now() + WAIT_MS_MAX; performance.now() < deadline; await sleep(500)) {
    const found = compare(await readRows(url), wanted);
    if (found.otherRows === 0) return { rows: countOf(wanted), ...found };
    if (found.otherRows !== otherRows) sinceMs = performance.now();
    ({ complaints, otherRows } = found);
    if (performance.now() - sinceMs > QUIET_MS) break;
  }
  return { rows: countOf(wanted), otherRows, complaints };
}

async function runClean(ledger: Ledger, folder: string): Promise<Rows> {
  const postgres = await PrivatePostgres.start(folder, { fsync: 'off', synchronous_commit: 'off' });
  const env = {
    DATABASE_URL: postgres.url,
    BIO_REQUESTS_PER_SEC_MAX: '100000',
    BIO_DSP_IDLE_FLUSH_MS: '600000',
    BIO_DSP_TASK_TIMEOUT_MS: '60000',
    BIO_STOP_TIMEOUT_MS: '600000',
  };
  const service = new ServiceProcess(await freePort(), { env });
  try {
    await service.untilReady();
    const database = await openDatabase(postgres.url);
    const { apiKey } = await createOrganization(database.pool, 'clean');
    await database.close();
    for (const entries of ledger.streams.values()) {
      const accepted = entries.filter(({ answer }) => answer === 'accepted').sort((a, b) => a.key.seq - b.key.seq);
      for (let at = 0; at < accepted.length; at += BATCH_PACKETS)
        await postClean(service.url, apiKey.key, ledger.readPackets(accepted.slice(at, at + BATCH_PACKETS)).map(asOldPacket));
    }
    const code = await service.terminate(); // gives out the last beats
    if (code !== 0) throw new Error(`the clean run ended with ${code}:\n${service.log.slice(-2000)}`);
    return await readRows(postgres.url);
  } finally {
    if (service.running) await service.kill();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As sent a day after it was recorded: a clock that jumped ahead meanwhile is not ahead of the service's. */
export function asOldPacket(bytes: Uint8Array): Uint8Array {
  const packet = decodePacket(bytes, defaultPacketLimits);
  if (isRejected(packet)) throw new Error(`a packet of the ledger: ${packet.detail}`);
  return encodePacket({ ...packet, sentUnixNs: packet.t0UnixNs + DAY_NS });
}

export async function postClean(url: string, key: string, packets: readonly Uint8Array[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${url}/ingest/raw-packet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-protobuf; encoding=delimited' },
      body: encodeBatch(packets) as Uint8Array<ArrayBuffer>,
    });
    const text = await response.text();
    if (response.status === 202 && (JSON.parse(text) as { rejected: unknown[] }).rejected.length === 0) return;
    const isBusy = response.status === 429 || response.status === 503 || /"code":"(busy|rate_limited)"/.test(text);
    if (!isBusy || attempt > 600) throw new Error(`the clean run was answered ${response.status}: ${text.slice(0, 500)}`);
    await sleep(100);
  }
}

const rowsOf = (table: 'beat' | 'feature', what: string): string => `
  select d.external_id || ' ' || encode(s.boot_id, 'hex') as stream,
    concat_ws(' ', m.name, m.code, r.channel_no, r.ts_ns - s.epoch_ns, r.qmask, ${what}) as row
  from ${table} r join stream s on s.id = r.stream_id join device d on d.id = s.device_id join method m on m.id = r.method_id`;

async function readRows(url: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: url, application_name: 'faults' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ stream: string; row: string }>(
      `${rowsOf('beat', `encode(float8send(r.interval_ms), 'hex'), r.kind, r.reason`)} union all ${rowsOf('feature', `encode(float8send(r.value), 'hex')`)}`,
    );
    return new Map([...Map.groupBy(rows, ({ stream }) => stream)].map(([stream, own]) => [stream, new Set(own.map(({ row }) => row))]));
  } finally {
    await client.end();
  }
}

const countOf = (rows: Rows): number => [...rows.values()].reduce((sum, own) => sum + own.size, 0);

/** Streams that are not in the clean run are those of earlier legs. */
function compare(got: Rows, wanted: Rows): { otherRows: number; complaints: string[] } {
  const complaints: string[] = [];
  let otherRows = 0;
  for (const [stream, own] of wanted) {
    const there = got.get(stream) ?? new Set<string>();
    const missing = [...own].filter((row) => !there.has(row));
    const extra = [...there].filter((row) => !own.has(row));
    if (missing.length + extra.length === 0) continue;
    otherRows += missing.length + extra.length;
    const first = (rows: readonly string[]): string => rows.slice(0, 3).join(', ');
    complaints.push(
      `${stream}: beats and values: ${missing.length} of ${own.size} of a clean run are missing (${first(missing)}), ${extra.length} are there besides (${first(extra)})`,
    );
  }
  return { otherRows, complaints };
}
