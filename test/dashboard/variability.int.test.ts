/** Variability of a window of a recording, through the whole service and in a real Chromium: the values that are stored, intervals that
 *  were left out and why, the spectrum, and the page that shows them. Recordings of MIT-BIH; skipped, loudly, where they are absent. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importRecordings } from '../../src/cli/import.ts';
import { recording } from '../helpers/annotated-recordings.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { ran } from '../helpers/commands.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture, Opened } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';
import type { Answer } from '../../sdk/request.ts';

type Variability = Answer<'getVariability'>;
type Feature = Readonly<{ name: string; ts_ns: bigint[]; values: number[]; qmask: number[]; method_code: string }>;

const [calm, flutter] = [recording('mitdb/101.hea'), recording('mitdb/207.hea')];
/** A year ago, as recordings of a study are. */
const START = '2025-11-20T08:00:00Z';
const at = (sec: number, micro = 0): string =>
  `${new Date(Date.parse(START) + 1000 * sec).toISOString().slice(0, -1)}${String(micro).padStart(3, '0')}Z`;
const isHere = chromiumPath !== null && calm !== null && flutter !== null;

let dashboard: DashboardFixture;
const streams = new Map<string, string>();

beforeAll(async () => {
  if (!isHere) return;
  dashboard = await startDashboard();
  const { baseUrl: url, firstKey: key } = dashboard.service;
  for (const [subject, file] of [
    ['calm', calm],
    ['flutter', flutter],
  ] as const) {
    const options = { env: { BIO_URL: url, BIO_KEY: key! }, cwd: process.cwd() };
    const { code, err } = await ran(importRecordings, [file, '--subject', subject, '--start', START, '--json'], options);
    expect(code, err.join('\n')).toBe(0);
    const [stream] = await dashboard.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`);
    streams.set(subject, stream!.id);
    await until(async () => (await features(subject, 'hrv_mean_nn_300s'))[0]?.ts_ns.some((ns) => ns > nanos(1650)) === true, 120_000);
  }
});
afterAll(() => dashboard?.close());

const nanos = (sec: number): bigint => BigInt(Date.parse(START) + 1000 * sec) * 1_000_000n;

async function features(subject: string, names: string): Promise<Feature[]> {
  const path = `/api/v1/streams/${streams.get(subject)!}/features?names=${names}&limit=10000`;
  const answer = await fetch(dashboard.service.baseUrl + path, { headers: { authorization: `Bearer ${dashboard.service.firstKey}` } });
  // Nanoseconds are more than a double holds.
  const text = (await answer.text()).replaceAll(
    /"ts_ns":\[([^\]]*)\]/g,
    (_, list: string) => `"ts_ns":[${list.replaceAll(/\d+/g, '"$&"')}]`,
  );
  return (JSON.parse(text) as Feature[]).map((one) => ({ ...one, ts_ns: one.ts_ns.map(BigInt) }));
}

const ask = (subject: string, query: string): Promise<Variability> =>
  dashboard.send('GET', `/api/v1/streams/${streams.get(subject)!}/variability?${query}`);

const isoOf = (ns: bigint, micro = 0n): string => {
  const us = ns / 1000n + micro;
  return `${new Date(Number(us / 1000n)).toISOString().slice(0, -1)}${String(us % 1000n).padStart(3, '0')}Z`;
};

describe.skipIf(!isHere)('variability of a window', () => {
  // promise: window-variability
  it('is what is stored where five minutes end with a stored value, and the same numbers when computed for the answer', async () => {
    let [stored, worse, better] = [0, 0, 0];
    for (const subject of ['calm', 'flutter']) {
      const all = await features(subject, (await namesOf(subject)).join());
      const ends = all.find(({ name }) => name === 'hrv_mean_nn_300s')!.ts_ns;
      for (const end of ends.filter((_, i) => i % 8 === 0)) {
        const window = (micro: bigint): string => `since=${isoOf(end - 300_000_000_000n, micro)}&until=${isoOf(end, micro)}`;
        const [own] = (await ask(subject, window(0n))).series;
        const [again] = (await ask(subject, window(2n))).series; // ends with no stored value
        for (const { name, ts_ns: times, values, qmask, method_code: code } of all) {
          const i = times.indexOf(end);
          if (i < 0) continue;
          const short = name.replace(/^hrv_|_300s$/g, '');
          const [shown, computed] = [own, again].map((one) => one!.values.find((value) => value.name === short)!);
          expect([name, shown]).toMatchObject([name, { value: values[i], qmask: qmask[i], method_code: code }]);
          expect([name, isoOf(end), computed]).toMatchObject([name, isoOf(end), { value: values[i], method_code: null }]);
          stored++;
          if (computed!.qmask! > qmask[i]!) worse++;
          if (computed!.qmask! < qmask[i]!) better++;
        }
      }
    }
    expect({ better, isOftenWorse: worse > stored / 10 }).toEqual({ better: 0, isOftenWorse: false });
    expect(stored).toBeGreaterThan(100);
  });

  it('is that of the day, too, of the values as they are computed', async () => {
    const days = await dashboard.send<Answer<'getDayVariability'>>('GET', '/api/v1/day-variability?subject_id=calm&date=2025-11-20');
    expect(days).toMatchObject([{ device_id: expect.any(String) as string, resting_hr: expect.any(Number) as number }]);
    // Half an hour of 101 at rest: a heart beats 60 to 72 times a minute.
    expect(days[0]!.window_count).toBeGreaterThan(3);
    expect(Math.abs(days[0]!.resting_hr! - 66)).toBeLessThan(6);
  });

  it('of a recording that has only begun is looked for again, and shown without being asked', async () => {
    const id = streams.get('calm')!;
    let asked = 0;
    const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn });
    await page.route(new RegExp(`/api/v1/streams/${id}$`), async (route) => {
      asked += 1;
      const response = await route.fetch();
      const stream = (await response.json()) as object;
      // As it is in its first two seconds, longer.
      await route.fulfill({ response, json: asked > 1 ? stream : { ...stream, recorded_from: null, last_sample_at: null } });
    });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/recordings/${id}/variability`);
    await page.getByText('This recording has only begun.').waitFor();
    await page.locator('.tachogram').waitFor({ timeout: 12_000 });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('is of ten seconds to half an hour, and says what people corrected', async () => {
    const status = async (query: string): Promise<number> =>
      (
        await fetch(`${dashboard.service.baseUrl}/api/v1/streams/${streams.get('calm')!}/variability?${query}`, {
          headers: { authorization: `Bearer ${dashboard.service.firstKey}` },
        })
      ).status;
    expect(await status(`since=${at(0)}&until=${at(1801)}`)).toBe(422);
    expect(await status(`since=${at(0)}&until=${at(9)}`)).toBe(422);
    expect(await status(`since=${at(9)}&until=${at(0)}`)).toBe(422);
    expect((await ask('calm', `since=${at(-900)}&until=${at(-600)}`)).series).toEqual([]);
    const window = `since=${at(60)}&until=${at(180)}`;
    const [before] = (await ask('calm', window)).series;
    const beat = before!.beats.at_ms.findIndex((_, i) => i > 50 && before!.beats.use[i] === 'nn' && before!.beats.use[i + 1] === 'nn');
    const tooth = { stream_id: streams.get('calm')!, kind: 'beat', starts_at: at(60 + before!.beats.at_ms[beat]! / 1000), beat: 'V' };
    await dashboard.send('POST', '/api/v1/annotations', tooth);
    const [computed] = (await ask('calm', window)).series;
    expect(computed).toMatchObject({ corrected_count: 1, nn_count: before!.nn_count, values: before!.values });
    expect(computed!.beats.said.flatMap((said, i) => (said === null ? [] : [[i, said]]))).toEqual([[beat, 'V']]);
    const [corrected] = (await ask('calm', `${window}&corrected=true`)).series;
    expect(corrected!.nn_count).toBe(before!.nn_count - 2);
    expect(corrected!.beats.use.slice(beat, beat + 2)).toEqual(['ectopic', 'ectopic']);
    type Compared = { computed: { rmssd_ms: number; sdnn_ms: number }; corrected: { rmssd_ms: number; sdnn_ms: number } };
    const [compared] = await dashboard.send<Compared[]>('GET', `/api/v1/streams/${streams.get('calm')!}/corrections?${window}`);
    for (const [of, one] of [
      ['computed', computed],
      ['corrected', corrected],
    ] as const)
      for (const name of ['rmssd', 'sdnn'] as const)
        expect(one!.values.find((value) => value.name === name)!.value).toBeCloseTo(compared![of][`${name}_ms`], 2);
  });

  // promise: variability-page
  it('is one key from the viewer, and its numbers are those of the service', async () => {
    const { page, errors } = await open('flutter', `?at=${encodeURIComponent(at(700))}`);
    await page.locator('bio-recording[data-state=ready]').waitFor();
    await page.locator('bio-recording').evaluate((viewer: HTMLElement) => viewer.focus());
    await page.keyboard.press('V'); // with Caps Lock on
    await page.getByRole('heading', { name: 'Heart rate variability of flutter' }).waitFor();
    const values = page.getByRole('region', { name: 'Values', exact: true });
    await values.waitFor();
    const [since, until] = await page
      .locator('.hrv-window time')
      .evaluateAll((times) => times.map((time) => time.getAttribute('datetime')!));
    expect(Date.parse(until!) - Date.parse(since!)).toBe(300_000);
    expect(Math.abs(Date.parse(since!) + 150_000 - Date.parse(at(700)))).toBeLessThanOrEqual(31_000);
    const [own] = (await ask('flutter', `since=${since!}&until=${until!}`)).series;
    for (const name of ['sdnn', 'rmssd', 'sd1', 'sd2']) {
      const { value, qmask, method_code: code } = own!.values.find((one) => one.name === name)!;
      const row = values.getByRole('row').filter({ has: page.locator('b', { hasText: new RegExp(`^${name.toUpperCase()}$`) }) });
      const text = (await row.textContent())!.replaceAll(/\s+/g, ' ');
      expect([name, text]).toEqual([name, expect.stringContaining(qmask === 2 ? '–' : value!.toFixed(1))]);
      expect(text).toContain(code!.replace('derived:', ''));
      expect(text).toContain(['Good', 'Suspect', 'Unusable'][qmask!]!);
    }
    const note = (await page.getByRole('region', { name: 'How these values are made' }).textContent())!;
    expect(note).toContain(own!.method_code);
    expect(note).toContain(`${own!.nn_count} of ${own!.interval_count} intervals count`);
    expect(await page.getByRole('region', { name: 'Poincaré plot' }).textContent()).toContain(`${own!.pair_count} pairs`);
    await picture(page, 'hrv-flutter');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Open in the recording' }).click();
    await page.locator('bio-recording[data-state=ready]').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('has another length, place and stretch, by mouse and by keyboard, in the address', async () => {
    const { page, errors } = await open('calm', `/variability?at=${encodeURIComponent(at(900))}`);
    const plot = page.getByRole('group', { name: 'Intervals over time' });
    await plot.waitFor();
    await picture(page, 'hrv-calm');
    const first = async (): Promise<string> => (await page.locator('.hrv-window time').first().getAttribute('datetime'))!;
    const before = Date.parse(await first());
    await page.getByRole('button', { name: 'Later' }).click();
    await expect.poll(async () => Date.parse(await first()) - before).toBe(300_000);
    await page.keyboard.press('<');
    await expect.poll(async () => Date.parse(await first()) - before).toBe(0);
    await page.getByRole('button', { name: '10 minutes' }).click();
    await expect.poll(() => hashOf(page).get('minutes')).toBe('10');
    await page.getByText('10 min 0 s').waitFor();
    expect(await page.getByRole('region', { name: 'How these values are made' }).textContent()).toContain('mean of 3 windows');
    await picture(page, 'hrv-calm-10');
    const box = (await plot.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.4, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + 90, { steps: 5 });
    await page.mouse.up();
    await page.getByRole('button', { name: 'Whole window again' }).waitFor();
    const { from, to } = Object.fromEntries(hashOf(page)) as { from: string; to: string };
    expect(Math.abs(Date.parse(to) - Date.parse(from) - 127_000)).toBeLessThan(10_000);
    await page.reload();
    await page.getByRole('button', { name: 'Whole window again' }).waitFor();
    expect(await first()).toContain(from.slice(0, 19));
    await page.keyboard.press('Escape');
    await expect.poll(() => hashOf(page).get('from')).toBe(null);
    await page.getByText('10 min 0 s').waitFor();
    await plot.focus();
    const reading = page.locator('#hrv-reading');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await expect.poll(() => reading.textContent()).toMatch(/\d\d:\d\d\.\d{3} · [\d,.]+ ms · (counts|left out)/);
    await page.keyboard.press('[');
    for (let i = 0; i < 6; i++) await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press(']');
    await picture(page, 'hrv-drag');
    await page.keyboard.press('Enter');
    await expect.poll(() => hashOf(page).get('from')).not.toBe(null);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: variability-bigeminy
  it('does not call bigeminy fibrillation for two values of its index, and says how much of a window counts', async () => {
    const { baseUrl: url, firstKey: key } = dashboard.service;
    const options = { env: { BIO_URL: url, BIO_KEY: key! }, cwd: process.cwd() };
    const args = [recording('mitdb/119.hea')!, '--subject', 'bigeminy', '--start', START, '--json'];
    const { code, err } = await ran(importRecordings, args, options);
    expect(code, err.join('\n')).toBe(0);
    const [stream] = await dashboard.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=bigeminy`);
    streams.set('bigeminy', stream!.id);
    await until(async () => (await features('bigeminy', 'af_index'))[0]?.ts_ns.some((ns) => ns > nanos(1650)) === true, 120_000);
    const [index] = await features('bigeminy', 'af_index');
    for (const [from, to] of [
      [0, 1800],
      [1200, 1500],
    ] as const) {
      const within = index!.values.filter(
        (_, i) => index!.ts_ns[i]! > nanos(from) && index!.ts_ns[i]! <= nanos(to) && index!.qmask[i] === 0,
      );
      const [own] = (await ask('bigeminy', `since=${at(from)}&until=${at(to)}`)).series;
      expect(own!.af_share).toBeCloseTo(within.filter((value) => value >= 0.5).length / within.length, 2);
      expect(own).toMatchObject({ is_af_likely: false });
    }
    const { page, errors } = await open('bigeminy', `/variability?at=${encodeURIComponent(at(1350))}`);
    await page.getByRole('region', { name: 'Values', exact: true }).waitFor();
    const shown = (await page.locator('main').textContent())!.replaceAll(/\s+/g, ' ');
    expect(shown).not.toContain('The rhythm looks like');
    const [{ beats, nn_coverage: normal } = { beats: null, nn_coverage: 0 }] = (
      await ask('bigeminy', `since=${at(1200)}&until=${at(1500)}`)
    ).series;
    const countedMs = beats!.interval_ms.reduce<number>((sum, ms, i) => sum + (beats!.use[i] === 'nn' ? ms! : 0), 0);
    expect(normal).toBeCloseTo(countedMs / 300_000, 3);
    expect(shown).toMatch(/Intervals cover 100 % of the window, those that count \d\d %\./);
    expect(shown).toMatch(/Intervals that count cover \d\d % of the window; a spectrum needs 80 %\./);
    expect(shown).toMatch(/\d+ % of the good values of the index of atrial fibrillation/);
    await picture(page, 'hrv-bigeminy');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: variability-warns
  it('says above its plots that the rhythm looks like fibrillation, and never calls the variability of a pulse that of the heart', async () => {
    const { baseUrl: url, firstKey: key } = dashboard.service;
    for (const [subject, path] of [
      ['fibrillation', 'mitdb/201.hea'],
      ['pulse', 'bidmc/bidmc_07_Signals.csv.gz'],
    ] as const) {
      const options = { env: { BIO_URL: url, BIO_KEY: key! }, cwd: process.cwd() };
      const { code, err } = await ran(importRecordings, [recording(path)!, '--subject', subject, '--start', START, '--json'], options);
      expect(code, err.join('\n')).toBe(0);
      const [stream] = await dashboard.send<{ id: string }[]>('GET', `/api/v1/streams?subject_id=${subject}`);
      streams.set(subject, stream!.id);
    }
    const window = `since=${at(0)}&until=${at(300)}`;
    await until(async () => ((await ask('fibrillation', window)).series[0]?.af_share ?? 0) > 0.9, 60_000);
    // The page asks once, and where a recording begins is written after its first values.
    const ofStream = `/api/v1/streams/${streams.get('fibrillation')!}`;
    await until(async () => (await dashboard.send<{ recorded_from: string | null }>('GET', ofStream)).recorded_from !== null, 60_000);
    const { page, errors } = await open('fibrillation', `/variability?at=${encodeURIComponent(at(150))}`);
    const warning = page.getByText('The rhythm looks like atrial fibrillation');
    await warning.waitFor();
    expect(
      await page
        .getByRole('region', { name: 'Window', exact: true })
        .getByText(/^The rhythm looks/)
        .count(),
    ).toBe(1);
    expect(await warning.count()).toBe(1);
    const { bottom } = await warning.evaluate((element) => element.getBoundingClientRect());
    expect(bottom).toBeLessThan(page.viewportSize()!.height);
    // The ellipse of fibrillation is as wide as the plot: it ends where the plot does.
    const [drawn, plot] = await page
      .locator('.plot svg.inside')
      .evaluate((inside) => [inside, inside.parentElement!].map((element) => element.getBoundingClientRect().toJSON() as DOMRect));
    expect(drawn!.left).toBeGreaterThan(plot!.left + 20);
    expect(drawn!.bottom).toBeLessThan(plot!.bottom - 10);
    // No number of an axis begins outside its plot.
    const outside = await page
      .locator('.plot > svg text')
      .evaluateAll((words) =>
        words
          .filter((word) => word.getBoundingClientRect().left < word.closest('svg')!.getBoundingClientRect().left - 1)
          .map(({ textContent }) => textContent),
      );
    expect(outside).toEqual([]);
    await picture(page, 'hrv-fibrillation');
    // The service names its episodes in English; the strip has them in the language of the page, which reads them once.
    await until(async () => (await dashboard.send<unknown[]>('GET', '/api/v1/episodes?subject_id=fibrillation')).length > 1, 60_000);
    const german = await dashboard.open('/dashboard/?lang=de', { storageState: dashboard.signedIn, timezoneId: 'UTC' });
    await german.page.addInitScript(() => {
      const written: string[] = ((globalThis as { written?: string[] }).written ??= []);
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (...given) {
        written.push(given[0]);
        fillText.apply(this, given);
      };
    });
    await german.page.goto(`${url}/dashboard/?lang=de#/recordings/${streams.get('fibrillation')!}?at=${encodeURIComponent(at(60))}`);
    await german.page.reload(); // the address has another hash alone
    await expect
      .poll(() => german.page.evaluate(() => (globalThis as { written?: string[] }).written), { timeout: 60_000 })
      .toContain('Unregelmäßiger Rhythmus ohne P-Wellen');
    expect(await german.page.evaluate(() => (globalThis as { written?: string[] }).written!.join())).not.toContain('Irregular rhythm');
    await german.page.context().close();
    // So does the report.
    const [{ subject_id: person }] = (await dashboard.send<{ subject_id: string }[]>('GET', '/api/v1/streams?subject_id=fibrillation')) as [
      { subject_id: string },
    ];
    await page.goto(`${url}/dashboard/#/users/${person}/report?from=2025-11-20&to=2025-11-20`);
    await page.getByText(/The rhythm looks like atrial fibrillation in \d+\s?% of the recordings/).waitFor();
    await until(async () => (await ask('pulse', window)).series.some(({ signal }) => signal === 'ppg'), 60_000);
    await page.goto(
      `${url}/dashboard/#/recordings/${streams.get('pulse')!}/variability?at=${encodeURIComponent(at(150))}&channel=ppg.pleth`,
    );
    await page.getByRole('heading', { name: 'Pulse rate variability of pulse' }).waitFor();
    const shown = (await page.locator('main').textContent())!;
    expect(shown).toContain('Pulse rate of these intervals');
    expect(shown).toContain('PP n, ms');
    expect(shown).not.toContain('Heart rate');
    expect(shown).not.toContain('HRV');
    await picture(page, 'prv-pulse');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: clock-change-said
  it('says which of two equal times is meant where the clocks are put back', async () => {
    const options = { env: { BIO_URL: dashboard.service.baseUrl, BIO_KEY: dashboard.service.firstKey! }, cwd: process.cwd() };
    const { code, err } = await ran(importRecordings, [calm!, '--subject', 'clocks', '--start', '2025-10-26T00:45:00Z', '--json'], options);
    expect(code, err.join('\n')).toBe(0);
    const [stream] = await dashboard.send<{ id: string; subject_id: string }[]>('GET', '/api/v1/streams?subject_id=clocks');
    streams.set('clocks', stream!.id);
    await until(
      async () => (await dashboard.send<{ last_sample_at: string | null }>('GET', `/api/v1/streams/${stream!.id}`)).last_sample_at !== null,
    );
    await dashboard.send('PATCH', `/api/v1/xusers/${stream!.subject_id}`, { time_zone: 'Europe/Berlin' });
    const window = '?from=2025-10-26T00:58:00Z&to=2025-10-26T01:03:00Z';
    const { page, errors } = await open('clocks', `/variability${window}`, { locale: 'en-GB' });
    const shown = page.locator('.hrv-window');
    await shown.waitFor();
    await picture(page, 'hrv-clocks');
    expect(await shown.locator('time').allTextContents()).toEqual(['26 Oct 2025, 02:58:00.0 CEST', '02:03:00.0 CET']);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('fits a phone, the dark and paper, in other languages', async () => {
    for (const [lang, sec, options] of [
      ['de', 1000, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
      ['es', 1700, { viewport: { width: 768, height: 900 } }],
    ] as const) {
      const { page, errors } = await dashboard.open(
        `/dashboard/?lang=${lang}#/recordings/${streams.get('flutter')!}/variability?at=${encodeURIComponent(at(sec))}`,
        { storageState: dashboard.signedIn, timezoneId: 'UTC', ...options },
      );
      await page.locator('.tachogram').waitFor();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect([lang, wide]).toEqual([lang, 0]);
      expect(await misplaced(page)).toEqual([]);
      await picture(page, `hrv-${lang}`);
      expect(await violations(page)).toEqual([]);
      if (lang === 'es') {
        await page.emulateMedia({ media: 'print' });
        await picture(page, 'hrv-print');
      }
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  it('cuts off no number of its plots, and lays no peak over the name of a band, however wide it is', async () => {
    const { page, errors } = await open('calm', `/variability?at=${encodeURIComponent(at(900))}`);
    for (const width of [390, 560, 800, 1000, 1200, 1500]) {
      await page.setViewportSize({ width, height: 900 });
      await page.reload();
      await page.locator('.tachogram').waitFor();
      expect(await misplaced(page), `${width}`).toEqual([]);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

/** Words of plots that are cut off at an edge, or lie under the mark of a peak. */
const misplaced = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const texts = [...document.querySelectorAll<SVGTextElement>('.plot svg text')].filter(({ textContent }) => textContent !== '');
    const peaks = [...document.querySelectorAll('.plot svg .peak')].map((peak) => peak.getBoundingClientRect());
    const bad = texts.filter((text) => {
      const [word, plot] = [text.getBoundingClientRect(), text.ownerSVGElement!.getBoundingClientRect()];
      const isCut = word.left < plot.left - 0.5 || word.right > plot.right + 0.5;
      const isUnder = peaks.some(
        (peak) => peak.left < word.right && peak.right > word.left && peak.top < word.bottom && peak.bottom > word.top,
      );
      return isCut || isUnder;
    });
    return bad.map(({ textContent }) => textContent);
  });

async function open(subject: string, rest: string, options: BrowserContextOptions = {}): Promise<Opened> {
  return dashboard.open(`/dashboard/#/recordings/${streams.get(subject)!}${rest}`, {
    storageState: dashboard.signedIn,
    timezoneId: 'UTC',
    ...options,
  });
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

const hashOf = (page: Page): URLSearchParams => new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '');

async function namesOf(subject: string): Promise<string[]> {
  const [one] = (await ask(subject, `since=${at(0)}&until=${at(300)}`)).series;
  return one!.values.map(({ name }) => `hrv_${name}_300s`);
}
