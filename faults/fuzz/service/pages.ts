/** Asks every page about devices that sent nonsense: each must be answered 2xx, with a body that is as described. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../../src/cli/command.ts';
import { exportRecordings } from '../../../src/cli/export.ts';
import type { FuzzStage } from '../stage.ts';
import { quietConsole } from './stored.ts';

export type Reader = Readonly<{ key: string; projectId: string; people: readonly Readonly<{ id: string; token: string }>[] }>;
type Stream = Readonly<{ id: string; started_at: string; recorded_from: string | null; recorded_until: string | null }>;

/** So many streams of each person are looked at from all sides. */
const STREAMS_MAX = 40;
const AT_ONCE = 4;
/** Each takes a minute: a service that hangs is not asked on. */
const UNANSWERED_MAX = 4;
/** What requests take as a time. */
const CALENDAR_MS = [Date.parse('1900-01-02T00:00:00Z'), Date.parse('2199-12-30T00:00:00Z')] as const;
const exportFormats = ['wfdb', 'edf', 'csv', 'parquet', 'fhir'] as const;
/** What no sentence of ours to a person looks like. */
const NO_SENTENCE =
  /TypeError|RangeError|ReferenceError|Cannot read|is not a function|undefined|NaN\b|\bat .*\.ts:\d+|invalid input syntax|out of range for type/;

/** @returns what is wrong */
export async function askEveryPage(stage: FuzzStage, { key, projectId, people }: Reader): Promise<string[]> {
  const complaints: string[] = [];
  let unanswered = 0;
  const ask = async (
    path: string,
    as: string,
    more: Readonly<{ accept?: string; body?: unknown; allowed?: readonly number[] }> = {},
  ): Promise<string> => {
    if (unanswered >= UNANSWERED_MAX) return '[]';
    const { accept, body, allowed = [] } = more;
    const method = body === undefined ? 'GET' : 'POST';
    const headers = { ...(accept === undefined ? {} : { accept }), ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
    const answer = await stage
      .ask(method, path, { as, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
      .catch(String);
    if (typeof answer === 'string') {
      unanswered++;
      complaints.push(`${method} ${path} ${accept ?? ''} ${body === undefined ? '' : JSON.stringify(body)}: no answer: ${answer}`);
      return '[]';
    }
    const operation = stage.description.operationOf(method, path)!;
    const wrong = stage.description.breaches(operation, answer);
    if (answer.status >= 300 && !allowed.includes(answer.status)) wrong.push(`answered ${answer.status}: ${answer.text.slice(0, 300)}`);
    complaints.push(
      ...wrong.slice(0, 3).map((text) => `${method} ${path} ${accept ?? ''} ${body === undefined ? '' : JSON.stringify(body)}: ${text}`),
    );
    return answer.status === 200 ? answer.text : '[]';
  };
  const asks: (() => Promise<unknown>)[] = [
    'devices?limit=1000',
    'signal-quality?limit=1000',
    'fleet/episodes?limit=1000',
    'fleet/counts',
    'xusers?limit=1000',
    'bootstrap',
    'device-profiles',
    'methods',
    'audit-log?limit=1000',
    'audit-log/chain',
    `projects/${projectId}/biosignals`,
  ].map((path) => () => ask(`/api/v1/${path}`, key));
  const biosignals = JSON.parse(await ask(`/api/v1/projects/${projectId}/biosignals`, key)) as { id: number; is_flowing: boolean }[];
  for (const { id, token } of people) {
    const streams = JSON.parse(await ask(`/api/v1/streams?subject_id=${id}&limit=1000`, key)) as Stream[];
    asks.push(
      () => ask('/api/v1/streams?limit=1000', token),
      () => ask(`/api/v1/episodes?subject_id=${id}&limit=1000`, key),
      () => ask(`/api/v1/xusers/${id}/export`, key),
      () => ask(`/api/v1/adherence?subject_id=${id}`, key),
    );
    for (const { id: signal } of biosignals)
      for (const more of ['', '&quality_max=2', '&order=asc'])
        asks.push(() => ask(`/api/v1/observations?subject_id=${id}&biosignal_id=${signal}&limit=1000${more}`, key));
    asks.push(() => ask(`/api/v1/observations?subject_id=${id}&biosignal_id=1&limit=100`, token, { accept: 'application/fhir+json' }));
    // A device whose clock leapt by years has a chart of years that may be refused for its length: said, and bounded.
    for (const chart of chartsOf(biosignals.map((one) => one.id)))
      asks.push(() => ask('/api/v1/charts/query', key, { body: { ...chart, subject_id: id }, allowed: [400] }));
    for (const stream of streams.slice(0, STREAMS_MAX)) asks.push(...streamAsks(stream, key, ask));
  }
  await inTurns(asks);
  return complaints;
}

function streamAsks(
  { id, started_at, recorded_from }: Stream,
  key: string,
  ask: (path: string, as: string, more?: { accept?: string; allowed?: readonly number[] }) => Promise<string>,
): (() => Promise<unknown>)[] {
  const path = `/api/v1/streams/${id}`;
  const fromMs = Math.min(Math.max(Date.parse(recorded_from ?? started_at), CALENDAR_MS[0]), CALENDAR_MS[1] - 10_000);
  const range = `since=${time(fromMs)}&until=${time(fromMs + 5000)}`;
  const whole = 'since=1900-01-02T00:00:00Z&until=2199-12-30T00:00:00Z';
  return [
    () => ask(path, key),
    ...['application/json', 'application/x-protobuf'].map((accept) => () => ask(`${path}/features`, key, { accept })),
    () => ask(`${path}/features?ts_unit=ms&quality_max=0`, key),
    () => ask(`${path}/beats`, key),
    ...['application/json', 'text/csv', 'application/x-protobuf', 'application/vnd.apache.arrow.stream'].map(
      (accept) => () => ask(`${path}/samples?${whole}`, key, { accept }),
    ),
    () => ask(`${path}/samples?raw=true&${range}`, key),
    // Nothing recorded there is nothing to draw.
    ...['svg', 'png', 'csv', 'wfdb'].map((format) => () => ask(`${path}/strip?${range}&format=${format}`, key, { allowed: [404, 400] })),
  ];
}

function chartsOf(signals: readonly number[]): readonly object[] {
  const series = signals.slice(0, 16).map((biosignal_id) => ({ biosignal_id }));
  const features = ['hr_ecg', 'hr_ppg', 'hrv_rmssd_60s', 'temp_mean'].map((feature) => ({ feature }));
  const waves = ['ecg', 'ppg', 'temp', 'eda'].flatMap((_, i) =>
    signals.slice(i, i + 1).map((biosignal_id) => ({ biosignal_id, agg: 'mean' })),
  );
  const whole = { from: '2017-01-01T00:00:00Z', to: '2026-12-31T00:00:00Z' }; // nearly as long as a chart may be
  return [
    { series, range: { duration: 'PT2H' } },
    { series: features, range: { duration: 'PT2H' }, resolution: '1s', max_points: 10_000, quality_max: 2, detail: true },
    { series: features, range: { duration: 'P30D' }, resolution: '1h', tz: 'Pacific/Chatham', fill: 'previous' },
    { series: waves, range: { duration: 'PT2H' }, detail: true },
    { series, range: whole, max_points: 100 },
  ];
}

function time(ms: number): string {
  return new Date(Math.min(CALENDAR_MS[1], Math.max(CALENDAR_MS[0], ms))).toISOString();
}

async function inTurns(asks: readonly (() => Promise<unknown>)[]): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < asks.length) await asks[next++]!();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** `biosignal export` of everybody, in every format: files, or a sentence that says why not. */
export async function exportEverybody(stage: FuzzStage, { people }: Reader): Promise<string[]> {
  const complaints: string[] = [];
  for (const { id } of people) {
    for (const format of exportFormats) {
      const folder = join(stage.workDir, 'export');
      mkdirSync(folder, { recursive: true });
      const out: string[] = [];
      try {
        const code = await runCommand(exportRecordings, [id, '--format', format, '--out', folder], quietConsole(stage, out));
        const said = out.join(' | ');
        if (code !== 0 && (said === '' || NO_SENTENCE.test(said)))
          complaints.push(`export --format ${format} ended with ${code}: ${said.slice(0, 500)}`);
      } catch (error) {
        complaints.push(`export --format ${format} threw ${String((error as Error).stack).slice(0, 500)}`);
      }
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return complaints;
}
