/** The numbers shown are the values: a simulated person's hours through the service, REST and the browser. Whatever the zoom, the greatest
 *  heart rate is the greatest good value; the newest value and its age are one; steps of today are one number wherever it is asked for; HRV
 *  of every window can be recomputed from the beats. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildWeb } from '../../scripts/build-web.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import type { NewOrganization } from '../../src/auth/organizations.ts';
import type { Command } from '../../src/cli/command.ts';
import { importRecordings } from '../../src/cli/import.ts';
import { simulate } from '../../src/cli/simulate.ts';
import { simulatedChannels } from '../../src/cli/simulator/device.ts';
import { readConfig } from '../../src/config.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { recording } from '../helpers/annotated-recordings.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { ran } from '../helpers/commands.ts';
import { testDatabase, until } from '../helpers/database.ts';
import type { TestDatabase } from '../helpers/database.ts';
import { refreshRollups } from '../../src/storage/maintenance.ts';
import { de } from '../../widgets/lang/de.ts';
import { es } from '../../widgets/lang/es.ts';
import { fr } from '../../widgets/lang/fr.ts';
import { zh } from '../../widgets/lang/zh.ts';
import { unitLabel } from '../../widgets/shared/format.ts';
import { patientFetch } from '../helpers/patient-fetch.ts';

const HOURS = 2;
let folder: string;
let database: TestDatabase;
let service: Service;
let org: NewOrganization;
let browser: Browser | null = null;
let token: string;
let streamId: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bio-values-'));
  [database] = await Promise.all([testDatabase(), buildWeb(folder)]);
  service = await startService({
    config: readConfig({ DATABASE_URL: database.url, PORT: '0', BIO_LOG_LEVEL: 'silent', BIO_REQUESTS_PER_SEC_MAX: '10000' }),
    webDir: folder,
  });
  org = await createOrganization(database.pool, 'Values');
  if (chromiumPath !== null) browser = await launchChromium();
  const args = ['--subject', 'ada', '--duration', String(HOURS * 3600), '--speed', 'max', '--activity', 'mixed', '--contact-loss', '6'];
  await run(simulate, [...args, '--packet-ms', '10000', '--channels', 'ppg.ir,acc.x,acc.y,acc.z']);
  token = (await send<{ xuser_token: string }>('POST', '/api/v1/sdk/token', { external_id: 'ada', project_key: org.projectKey }))
    .xuser_token;
  streamId = (await send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=ada'))[0]!.id;
  await computed('ada', 'hr_ppg');
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await database?.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(command: Command, args: readonly string[]): Promise<void> {
  const env = { BIO_URL: service.baseUrl, BIO_KEY: org.apiKey.key, DATABASE_URL: database.url };
  const { code, err } = await ran(command, [...args, '--json'], { env, cwd: folder });
  expect(code, err.join('\n')).toBe(0);
}

/** Everything that was sent has been computed: the values of a feature reach the end of the recording, and no value came for a while. */
async function computed(subject: string, feature: string): Promise<void> {
  let [count, quiet] = [-1, 0];
  await until(async () => {
    const { rows } = await database.pool.query<{ n: number; left: number | null }>(
      `select (select count(*) from feature)::integer as n,
         extract(epoch from s.last_sample_at - (select max(f.time) from feature f join method m on m.id = f.method_id where f.stream_id = s.id and m.name = $2))::float8 as left
       from stream s join xuser x on x.id = s.xuser_id where x.external_id = $1`,
      [subject, feature],
    );
    const [now] = rows;
    quiet = now!.n === count && now!.left !== null && now!.left < 90 ? quiet + 1 : 0;
    count = now!.n;
    if (quiet < 7) await sleep(400);
    return quiet >= 7;
  }, 120_000);
}

async function send<T>(method: string, path: string, body?: object, as = org.apiKey.key): Promise<T> {
  const answer = await patientFetch(service.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(answer.ok, `${method} ${path}: ${text}`).toBe(true);
  return JSON.parse(text) as T;
}

type Series = { name: string; ts_ms: number[]; values: number[]; qmask: number[]; unit: string; method_code: string };
const series = (names: string, stream = streamId): Promise<Series[]> =>
  send('GET', `/api/v1/streams/${stream}/features?names=${names}&ts_unit=ms&limit=100000`);

type Observation = { value: number; effective_time: string; qmask: number; n: number; good_n: number; min: number; max: number };
const HR_PPG = 21;
const observations = (biosignal: number, query: string): Promise<Observation[]> =>
  send('GET', `/api/v1/observations?biosignal_id=${biosignal}&subject_id=ada&limit=1000&${query}`);

// promise: pages-once
test('pages of values, and of beats, give each once and leave none out, whatever the cadence of a series', async () => {
  await run(simulate, ['--subject', 'paged', '--channels', 'ecg.ii,ppg.ir,acc.x,acc.y,acc.z', '--duration', '300', '--speed', 'max']);
  await computed('paged', 'hr_ppg');
  const [stream] = await send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=paged');
  type Page = { name?: string; channel?: string; method_code: string; ts_ms: number[] };
  for (const what of ['features', 'beats']) {
    const path = `/api/v1/streams/${stream!.id}/${what}?ts_unit=ms`;
    const all = await send<Page[]>('GET', `${path}&limit=100000`);
    expect(all.length, what).toBeGreaterThan(1);
    expect(new Set(all.map(({ ts_ms: at }) => at.length)).size, 'series of several lengths').toBeGreaterThan(1);
    const paged = new Map<string, number[]>();
    const keyOf = ({ name = '', channel = '', method_code: method }: Page): string => `${name} ${channel} ${method}`;
    for (let next: string | undefined = `${path}&limit=70`; next !== undefined;) {
      const response = await patientFetch(service.baseUrl + next, { headers: { authorization: `Bearer ${org.apiKey.key}` } });
      for (const one of (await response.json()) as Page[]) paged.set(keyOf(one), [...(paged.get(keyOf(one)) ?? []), ...one.ts_ms]);
      next = /<([^>]+)>/.exec(response.headers.get('link') ?? '')?.[1];
    }
    expect(Object.fromEntries(paged)).toEqual(Object.fromEntries(all.map((one) => [keyOf(one), one.ts_ms])));
  }
});

type Totals = { n: number; good_n: number; min: number; max: number; mean: number; sum: number };
type Chart = { resolution: string; data: (number | null)[][]; detail: { max: (number | null)[][]; good_n: number[][]; n: number[][]; expected_n: number[][]; totals: Totals[] } }; // prettier-ignore
const chart = (body: object): Promise<Chart> => send('POST', '/api/v1/charts/query', { subject_id: 'ada', detail: true, ...body });

// promise: chart-detail, range-extremes
test('the extremes and the mean of a range are those of its good values, at every resolution', async () => {
  const [rate] = await series('hr_ppg');
  const good = rate!.values.filter((_, i) => rate!.qmask[i] === 0);
  const peak = Math.max(...good);
  const minutes = await observations(HR_PPG, 'quality_max=2');
  expect(Math.max(...minutes.filter(({ qmask }) => qmask === 0).map(({ value }) => value))).toBeLessThan(peak);
  for (const [duration, maxPoints] of [
    ['PT6H', 400],
    ['PT24H', 240],
    ['P7D', 400],
    ['P1W', 400],
    ['P30D', 400],
  ] as const) {
    const { detail } = await chart({ series: [{ biosignal_id: HR_PPG }], range: { duration }, max_points: maxPoints });
    const totals = detail.totals[0]!;
    expect([duration, totals.max, totals.min, totals.good_n]).toEqual([duration, peak, Math.min(...good), good.length]);
    expect(totals.mean).toBeCloseTo(good.reduce((sum, value) => sum + value, 0) / good.length, 3); // to 0.001 /min
    expect(Math.max(...detail.max.map(([max]) => max ?? 0))).toBeGreaterThanOrEqual(peak);
    // What is good does not fade: the counts of the buckets are those of the values.
    expect(detail.good_n.flat().reduce((sum, n) => sum + n, 0)).toBe(good.length);
    expect(totals.good_n).toBeLessThan(totals.n);
  }
  // Of the minutes: where the greatest good value is, the minute says so.
  expect(Math.max(...minutes.filter(({ qmask }) => qmask === 0).map(({ max }) => max))).toBeLessThanOrEqual(peak);
  expect(minutes.some(({ n, good_n }) => good_n < n)).toBe(true);
});

test.each([
  ['of neither', 'two-a-day', false],
  ['of the evening', 'one-kept', true],
])(
  'the first and the last value of a day with two recordings are those of the day: kept at first %s',
  async (_, subject, isEveningKept) => {
    // The evening is sent first: the order in which recordings arrive says nothing about which one is later.
    for (const [device, hour, hr] of [
      ['evening-', '20', '100'],
      ['morning-', '08', '50'],
    ] as const) {
      const what = [
        '--subject',
        subject,
        '--device-prefix',
        `${subject}-${device}`,
        '--hr',
        hr,
        '--channels',
        'ecg.ii',
        '--duration',
        '300',
      ];
      await run(simulate, [...what, '--start', `2025-11-10T${hour}:00:00Z`, '--speed', 'max', '--packet-ms', '10000']);
      await computed(subject, 'hr_ecg');
      if (isEveningKept && hour === '20') await refreshRollups(database);
    }
    const streams = await send<{ id: string; recorded_from: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`);
    const [morning, evening] = streams.map(({ id, recorded_from: from }) => [from, id] as const).sort(([a], [b]) => (a < b ? -1 : 1));
    const good = async (id: string): Promise<number[]> => {
      const [one] = await send<Series[]>('GET', `/api/v1/streams/${id}/features?names=hr_ecg&ts_unit=ms&limit=100000&quality_max=0`);
      return one!.values;
    };
    const [first, last] = [(await good(morning![1]))[0], (await good(evening![1])).at(-1)];
    const range = { from: '2025-11-10T00:00:00Z', to: '2025-11-11T00:00:00Z' };
    const ends = (['first', 'last'] as const).map((agg) => ({ feature: 'hr_ecg', agg }));
    for (const kept of [false, true]) {
      if (kept) await refreshRollups(database);
      for (const resolution of ['1h', '12h', '1d']) {
        const answer = await send<Chart>('POST', '/api/v1/charts/query', {
          subject_id: subject,
          series: ends,
          range,
          resolution,
          detail: true,
          tz: 'UTC',
        });
        expect([kept, resolution, answer.data[0]![1], answer.data.at(-1)![2]]).toEqual([kept, resolution, first, last]);
        expect(answer.detail.totals[0]).toMatchObject({ first, last });
      }
    }
  },
);

// promise: counts-add
test("minutes, chart and goal agree on the steps of today in the person's time zone", async () => {
  const [steps] = await series('steps');
  const midnight = new Date();
  midnight.setUTCHours(0, 0, 0, 0);
  const today = steps!.values
    .filter((_, i) => steps!.qmask[i]! < 2 && steps!.ts_ms[i]! >= midnight.getTime())
    .reduce((sum, value) => sum + value, 0);
  expect(today).toBeGreaterThan(0);
  const minutes = await observations(35, `quality_max=1&since=${midnight.toISOString()}`);
  expect(minutes.reduce((sum, { value }) => sum + value, 0)).toBe(today);
  const days = await chart({ series: [{ biosignal_id: 35 }], range: { duration: 'P2D' }, resolution: '1d', max_points: 4, tz: 'UTC' });
  expect(days.data.at(-1)![1]).toBe(today);
  const { id } = await send<{ id: string }>('POST', '/api/v1/goals', { subject_id: 'ada', biosignal_id: 35, target: 8000 });
  const [goal] = await send<{ value: number }[]>('GET', '/api/v1/goals?subject_id=ada');
  expect(goal!.value).toBe(today);
  await fetch(`${service.baseUrl}/api/v1/goals/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${org.apiKey.key}` } });
});

type Beats = {
  method_code: string;
  ts_ms: number[];
  interval_ms: (number | null)[];
  kind: string[];
  accepted: boolean[];
  aami: (string | null)[];
  confidence: (number | null)[];
};

/** RMSSD, SDNN and the mean of NN intervals as a script would: from the beats of /beats alone, by what their description says. */
function variability({ ts_ms: at, interval_ms: intervals, accepted }: Beats, fromMs: number, toMs: number): Record<string, number> {
  const nn: number[] = [];
  const differences: number[] = [];
  let before: number | null = null;
  for (const [i, ms] of at.entries()) {
    const interval = intervals[i] ?? null;
    if (ms <= fromMs || ms > toMs) continue;
    const usable = accepted[i] === true && interval !== null && ms - interval > fromMs + 1e-3;
    if (usable) {
      nn.push(interval);
      if (before !== null) differences.push(interval - before);
    }
    before = usable ? interval : null;
  }
  const mean = nn.reduce((sum, value) => sum + value, 0) / nn.length;
  return {
    rmssd: Math.sqrt(differences.reduce((sum, value) => sum + value * value, 0) / differences.length),
    sdnn: Math.sqrt(nn.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (nn.length - 1)),
    mean_nn: mean,
    pnn50: differences.filter((value) => Math.abs(value) > 50).length / differences.length,
  };
}

const bigeminy = recording('mitdb/119.hea');
// promise: window-end, beats-accepted, beats-aami
test.skipIf(bigeminy === null)('HRV of every window, including those with ectopic beats, can be recomputed from the beats', async () => {
  await run(importRecordings, [bigeminy!, '--subject', 'mit-119', '--start', '2026-01-05T08:00:00Z']);
  await computed('mit-119', 'hrv_sdnn_300s');
  const [stream] = await send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=mit-119');
  const [beats] = await send<Beats[]>('GET', `/api/v1/streams/${stream!.id}/beats?limit=100000&ts_unit=ms`);
  expect(beats!.kind.filter((kind) => kind === 'ectopic').length).toBeGreaterThan(100);
  // 444 of its beats are annotated as ventricular; kinds and confidences agree
  const of = (aami: string): (number | null)[] => beats!.confidence.filter((_, i) => beats!.aami[i] === aami);
  expect(Math.abs(of('V').length - 444)).toBeLessThan(10);
  expect(of('N').length).toBeGreaterThan(1500);
  for (const [aami, sure] of [
    ['V', 0.9],
    ['N', 0.97],
  ] as const)
    // prettier-ignore
    expect(of(aami).filter((confidence) => confidence! >= sure).length).toBeGreaterThan(0.9 * of(aami).length);
  expect(of('Q').length).toBeLessThan(30);
  for (const [i, aami] of beats!.aami.entries()) expect(beats!.confidence[i] === null, `${i} ${aami}`).toBe(aami === 'Q' || aami === null);
  const methods = await send<{ code: string; step: number | null }[]>('GET', '/api/v1/methods');
  let windows = 0;
  let corrected = 0;
  for (const [name, seconds] of [
    ['hrv_rmssd_60s', 60],
    ['hrv_rmssd_300s', 300],
    ['hrv_sdnn_300s', 300],
    ['hrv_mean_nn_300s', 300],
    ['hrv_pnn50_300s', 300],
  ] as const) {
    const [feature] = await series(name, stream!.id);
    expect(feature!.method_code).toMatch(`derived:${name}_v`);
    const halfStep = methods.find(({ code }) => code === feature!.method_code)!.step! / 2 + 1e-6;
    for (const [i, toMs] of feature!.ts_ms.entries()) {
      const fromMs = toMs - seconds * 1000;
      const again = variability(beats!, fromMs, toMs)[name.replace(/^hrv_|_\d+s$/g, '')]!;
      expect(Math.abs(again - feature!.values[i]!), `${name} ${i}: ${again}, stored ${feature!.values[i]}`).toBeLessThan(halfStep);
      windows += 1;
      if (beats!.ts_ms.some((ms, k) => ms > fromMs && ms <= toMs && beats!.interval_ms[k] !== null && !beats!.accepted[k])) corrected += 1;
    }
  }
  expect(corrected).toBeGreaterThan(0.3 * windows);
  expect(windows).toBeGreaterThan(300);
});

test('every series has the unit of its method, also where no biosignal shows it', async () => {
  const units = new Map((await send<{ code: string; unit: string }[]>('GET', '/api/v1/methods')).map(({ code, unit }) => [code, unit]));
  const names = featureMethods.filter(({ source }) => source === 'ppg' || source === 'acc').map(({ feature }) => feature);
  const found = await send<{ method_code: string; unit: string }[]>(
    'GET',
    `/api/v1/streams/${streamId}/features?names=${names.join(',')}&limit=1000`,
  );
  for (const name of ['activity', 'steps', 'perfusion_index'])
    expect(found.map(({ method_code: code }) => code)).toContainEqual(expect.stringContaining(`:${name}_v`));
  for (const { method_code: code, unit } of found) expect(unit, code).toBe(units.get(code));
});

// promise: window-variability
test('a window of pulse intervals has the stored values, and the same numbers when computed for the answer', async () => {
  type Window = {
    since: string;
    series: { signal: string; values: { name: string; value: number | null; qmask: number | null; method_code: string | null }[] }[];
  };
  const list = await send<{ name: string; ts_ms: number[]; values: number[]; qmask: number[]; method_code: string }[]>(
    'GET',
    `/api/v1/streams/${streamId}/features?names=prv_mean_nn_300s,prv_sdnn_300s,prv_rmssd_300s,prv_sd2_300s,prv_lf_300s&ts_unit=ms&limit=100000`,
  );
  const ends = list[0]!.ts_ms.filter((_, i) => i % 24 === 0);
  let seen = 0;
  for (const end of ends) {
    // Asked for seconds off it: snap finds the window; without, a window of other beats is none that is stored.
    const window = (shift: number): string =>
      `since=${new Date(end - 300_000 + shift).toISOString()}&until=${new Date(end + shift).toISOString()}`;
    const path = `/api/v1/streams/${streamId}/variability?`;
    const snapped = await send<Window>('GET', `${path}${window(9000)}&snap=true`);
    expect(Math.abs(Date.parse(snapped.since) + 300_000 - end)).toBeLessThanOrEqual(39_000);
    const until = Date.parse(snapped.since) + 300_000;
    const [own] = snapped.series;
    const [other] = (await send<Window>('GET', path + window(2))).series;
    expect(other!.values.every(({ method_code: code }) => code === null)).toBe(true);
    for (const { name, ts_ms: times, values, qmask, method_code: code } of list) {
      const short = name.replace(/^prv_|_300s$/g, '');
      const i = times.findIndex((ms) => Math.abs(ms - until) < 1);
      if (i >= 0)
        expect(own!.values.find((one) => one.name === short)).toMatchObject({ value: values[i], qmask: qmask[i], method_code: code });
      const k = times.indexOf(end);
      if (k < 0) continue;
      const computed = other!.values.find((one) => one.name === short)!;
      expect([name, computed.value]).toEqual([name, values[k]]);
      expect(computed.qmask!, name).toBeGreaterThanOrEqual(qmask[k]!);
      seen++;
    }
  }
  expect(seen).toBeGreaterThan(15);
});

// promise: range-ends
test('a time whose + was not escaped is refused with advice', async () => {
  const answer = await fetch(`${service.baseUrl}/api/v1/observations?biosignal_id=20&subject_id=ada&since=2026-01-05T08:00:00+01:00`, {
    headers: { authorization: `Bearer ${org.apiKey.key}` },
  });
  expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('write it as %2B')]);
});

describe.skipIf(chromiumPath === null)('in Chromium', () => {
  /** A page of the service's own origin with these widgets. */
  async function open(body: string, as = token): Promise<Page> {
    const page = await browser!.newPage({ viewport: { width: 1000, height: 1400 } });
    const { baseUrl } = service;
    const html = `<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="${baseUrl}/cdn/v1/bio-widgets.css">
      <script src="${baseUrl}/cdn/v1/bio-widgets.js"></script>
      <bio-provider sdk-key="${org.sdkKey}" xuser-token="${as}" base-url="${baseUrl}" lang="en" tz="UTC">${body}</bio-provider>`;
    await page.clock.setFixedTime(Date.now()); // one age for one time
    await page.route(`${baseUrl}/values`, (route) => route.fulfill({ contentType: 'text/html', body: html }));
    await page.goto(`${baseUrl}/values`);
    const states = (): Promise<(string | undefined)[]> =>
      page.evaluate(() => [...document.querySelectorAll<HTMLElement>('bio-provider > *')].map((element) => element.dataset['state']));
    await expect
      .poll(async () => (await states()).every((state) => state === 'ready' || state === 'stale'), { timeout: 30_000 })
      .toBe(true);
    return page;
  }
  const rounded = (value: number): string => String(Math.round(value));
  const seconds = 'refresh="0" stale-after="10d"';

  // promise: unusable-hidden, range-extremes, newest-and-steps
  test('card and charts of every range say the same maximum, minimum and newest value', async () => {
    const [rate] = await series('hr_ppg');
    const good = rate!.values.filter((_, i) => rate!.qmask[i] === 0);
    const [newest] = await observations(HR_PPG, 'quality_max=1');
    const ranges = ['6h', '24h', '7d', '30d'];
    const at = (days: number): string => new Date(Date.now() + days * 864e5).toISOString();
    const fixed = [
      [at(-1), at(0)],
      [at(-7), at(1)],
      [at(-40).slice(0, 10), at(0).slice(0, 10)],
    ];
    const page = await open(
      `<bio-health-metrics biosignals="HR-PPG" ${seconds}></bio-health-metrics><bio-trend-card biosignals="HR-PPG" ${seconds}></bio-trend-card>` +
        ranges.map((range) => `<bio-trend-chart biosignals="HR-PPG" range="${range}" ${seconds}></bio-trend-chart>`).join('') +
        fixed.map(([from, to]) => `<bio-trend-chart biosignals="HR-PPG" from="${from}" to="${to}" ${seconds}></bio-trend-chart>`).join(''),
    );
    const shown = await page.locator('[part=value]').allTextContents();
    expect(shown).toEqual(Array.from({ length: 2 + ranges.length + fixed.length }, () => rounded(newest!.value)));
    const marks = await page.locator('.foot, .now .row').allTextContents();
    expect(new Set(marks.map((text) => text.replaceAll(/\s+/g, ''))).size).toBe(1); // one flag and one age
    const [least, , greatest] = await page.locator('bio-trend-card .stats dd').allTextContents();
    expect([least, greatest]).toEqual([rounded(Math.min(...good)), rounded(Math.max(...good))]);
    const spoken = await page
      .locator('bio-trend-chart [role=img]')
      .evaluateAll((all) => all.map((element) => element.getAttribute('aria-label')!));
    for (const text of spoken) {
      expect(text).toContain(`minimum ${rounded(Math.min(...good))} /min, maximum ${rounded(Math.max(...good))} /min`);
      expect(text).toMatch(/, \d+% of values are good/);
    }
    await page.context().close();
  });

  // promise: good-share
  test('the bar of an hour says how much of it is good', async () => {
    const page = await open(`<bio-trend-chart biosignals="HR-PPG" range="7d" resolution="1h" ${seconds}></bio-trend-chart>`);
    await page.getByText('Show as table').click();
    const cells = await page
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent!.trim())));
    const { detail } = await chart({ series: [{ biosignal_id: HR_PPG }], range: { duration: 'P7D' }, resolution: '1h' });
    const whole = detail.good_n.findIndex(([good], i) => good! > 0 && detail.n[i]![0]! > 3000);
    const share = detail.good_n[whole]![0]! / Math.max(detail.n[whole]![0]!, detail.expected_n[whole]![0]!);
    expect(cells.toReversed()[whole]![2]).toMatch(new RegExp(`(Good|Suspect|Unusable) ${Math.round(100 * share)}%`));
    expect(cells[0]![1]).toMatch(/^\d+ \(\d+ – \d+\)$|^–$/);
    await page.context().close();
  });

  test('every computed value of the catalog is shown in words, with unit and flag, in every language; FHIR has its code', async () => {
    const args = ['--subject', 'eve', '--device-prefix', 'eve-', '--duration', '700', '--speed', 'max', '--packet-ms', '10000'];
    // breathing is computed from beats where no channel has it
    const channels = simulatedChannels.filter((code) => code !== 'resp');
    await run(simulate, [...args, '--pvc', '3', '--channels', channels.join()]);
    await computed('eve', 'hr_ecg');
    const { rows } = await database.pool.query<{
      id: number;
      abbreviation: string;
      name: string;
      unit: string;
      loinc: string;
      feature: string;
    }>(
      `select b.id, b.abbreviation, b.name, b.unit, b.loinc_code as loinc, b.feature from biosignal b where b.source_type = 'derived' and b.feature <> 'resp_rate'
       order by b.id`,
    );
    expect(rows.length).toBeGreaterThan(50);
    for (const { id, abbreviation, name, unit, loinc } of rows) {
      const answer = await patientFetch(`${service.baseUrl}/api/v1/observations?biosignal_id=${id}&subject_id=eve&limit=1&quality_max=1`, {
        headers: { authorization: `Bearer ${org.apiKey.key}`, accept: 'application/fhir+json' },
      });
      const { entry } = (await answer.json()) as { entry?: { resource: { code: { text: string; coding: { code: string }[] }; valueQuantity: { code: string } } }[] }; // prettier-ignore
      expect([abbreviation, entry?.length]).toEqual([abbreviation, 1]);
      const { code, valueQuantity } = entry![0]!.resource;
      const codes = code.coding.map((coding) => coding.code);
      expect([code.text, valueQuantity.code, codes]).toEqual([name, unit, loinc === '' ? [abbreviation] : [loinc, abbreviation]]);
    }
    const { xuser_token: own } = await send<{ xuser_token: string }>('POST', '/api/v1/sdk/token', {
      external_id: 'eve',
      project_key: org.projectKey,
    });
    const languages = { de: de.phrases, es: es.phrases, fr: fr.phrases, zh: zh.phrases, en: {} as Readonly<Record<string, string>> };
    const spoken = Object.keys(languages) as (keyof typeof languages)[];
    const langOf = (i: number): keyof typeof languages => spoken[i % spoken.length]!;
    const cards = rows.map(
      ({ abbreviation }, i) => `<bio-trend-card biosignals="${abbreviation}" lang="${langOf(i)}" ${seconds}></bio-trend-card>`,
    );
    // by the name of a feature, too, the newest minute, or the sum of today, and a name of its own
    const byFeature = ['hr_ppg', 'prv_rmssd_60s', 'hrv_rmssd_300s', 'temp_mean', 'eda_tonic', 'activity', 'ventricular_couplets_300s'];
    const both = byFeature.map((feature) => [feature, rows.find((row) => row.feature === feature)!.abbreviation]);
    cards.push(...both.flat().map((wanted) => `<bio-trend-card biosignals="${wanted}" lang="de" ${seconds}></bio-trend-card>`));
    cards.push(`<bio-health-metrics biosignals="${byFeature.join()}" lang="de" ${seconds}></bio-health-metrics>`);
    const page = await open(cards.join(''), own);
    const shown = await page.locator('bio-trend-card').evaluateAll((all) =>
      all.map((card) => {
        const text = (part: string): string => card.shadowRoot!.querySelector(part)?.textContent?.trim() ?? '';
        return [text('h2'), text('[part=value]'), text('.unit'), text('[part=quality]')] as const;
      }),
    );
    rows.forEach(({ abbreviation, name, unit }, i) => {
      const [title, value, label, flag] = shown[i]!;
      expect([abbreviation, title.replaceAll('\u00a0', ' ')]).toEqual([abbreviation, languages[langOf(i)][name] ?? name]);
      const read = abbreviation.includes('PNN') ? '%' : unitLabel(unit); // shares, which people read in per cent
      expect([abbreviation, value, label]).toEqual([abbreviation, expect.stringMatching(/\d/), read]);
      expect([abbreviation, flag.length > 0]).toEqual([abbreviation, true]);
    });
    both.forEach(([feature], i) => {
      const [one, other] = shown.slice(rows.length + 2 * i);
      expect([feature, ...one!]).toEqual([feature, ...other!]);
    });
    const names = byFeature.map((feature) => de.phrases[rows.find((row) => row.feature === feature)!.name]!);
    expect((await page.locator('bio-health-metrics h3').allTextContents()).map((title) => title.replaceAll('\u00a0', ' '))).toEqual(names);
    expect(new Set(names).size).toBe(names.length);
    if (process.env['BIO_SHOTS']) await page.screenshot({ path: process.env['BIO_SHOTS'], fullPage: true });
    await page.context().close();
  });

  // promise: newest-and-steps
  test('steps are the sum of today in every widget', async () => {
    const days = await chart({ series: [{ biosignal_id: 35 }], range: { duration: 'P2D' }, resolution: '1d', max_points: 4, tz: 'UTC' });
    const today = days.data.at(-1)![1]!.toLocaleString('en');
    const page = await open(
      `<bio-health-metrics ${seconds}></bio-health-metrics><bio-progress-ring ${seconds}></bio-progress-ring>` +
        `<bio-progress-ring biosignals="STEPS" ${seconds}></bio-progress-ring>` +
        `<bio-trend-card biosignals="55423-8" ${seconds}></bio-trend-card><bio-trend-chart biosignals="STEPS-D" ${seconds}></bio-trend-chart>`,
    );
    const metric = page.locator('bio-health-metrics [part=metric]', { hasText: 'Steps' }).locator('[part=value]');
    expect(await metric.textContent()).toBe(today);
    for (const tag of ['bio-progress-ring >> nth=0', 'bio-progress-ring >> nth=1', 'bio-trend-card', 'bio-trend-chart'])
      expect([tag, await page.locator(tag).locator('[part=value]').first().textContent()]).toEqual([tag, today]);
    await page.context().close();
  });
});
