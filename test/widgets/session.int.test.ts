/** The life of a token, direct mode, the outbox and the live feed, as a page in a real Chromium sees them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildWeb } from '../../scripts/build-web.ts';
import { fixtureEcg, fixtureFrame, fixtureToken, startFixture } from '../helpers/browser-fixture.ts';
import type { Fixture, FixtureSocket } from '../helpers/browser-fixture.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { serveWidgetAnswers, widgetPage } from '../helpers/widget-answers.ts';
import type { Mode } from '../helpers/widget-answers.ts';

let folder: string;
let fixture: Fixture;
let browser: Browser;
const state: { mode: Mode; word: string | null } = { mode: 'ready', word: null };

beforeAll(async () => {
  if (chromiumPath === null) return;
  folder = await mkdtemp(join(tmpdir(), 'bio-web-'));
  await buildWeb(folder);
  fixture = await startFixture(folder);
  serveWidgetAnswers(fixture, state);
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await fixture?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  state.mode = 'ready';
  if (fixture !== undefined) fixture.requests.length = 0;
});

const CARD = '<bio-trend-card biosignals="HR" refresh="0"></bio-trend-card>';

async function open(attributes: string, body: string): Promise<{ page: Page; console: string[] }> {
  fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, body }) });
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  const page = await context.newPage();
  const lines: string[] = [];
  page.on('console', (message) => lines.push(message.text()));
  page.on('pageerror', (error) => lines.push(`ERROR ${error.message}`));
  await page.clock.install({ time: Date.now() });
  await page.goto(`${fixture.origin}/page`);
  await page.evaluate(() => {
    const seen = globalThis as unknown as { expiring: number; details: unknown[]; states: string[] };
    seen.expiring = 0;
    seen.states = [];
    document.addEventListener('bio:token:expiring', () => seen.expiring++);
    document.addEventListener('bio:state', (event) => seen.states.push((event as CustomEvent<{ state: string }>).detail.state));
  });
  return { page, console: lines };
}

const expiring = (page: Page): Promise<number> => page.evaluate(() => (globalThis as unknown as { expiring: number }).expiring);
const cardState = (page: Page): Promise<string | null> => page.locator('bio-trend-card').getAttribute('data-state');
const apiCalls = (): number => fixture.requests.filter((request) => request.path.startsWith('/api/')).length;

describe.skipIf(chromiumPath === null)('token mode', () => {
  // promise: token-expiring
  it('announces the end of a token once, 5 minutes before, on the document', async () => {
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, CARD);
    await expect.poll(() => cardState(page)).toBe('ready');
    // The clock also runs by itself: half a minute is left for a busy machine.
    await page.clock.runFor('54:30');
    expect(await expiring(page)).toBe(0);
    await page.clock.runFor('00:45');
    expect(await expiring(page)).toBe(1);
    await page.clock.runFor('02:00');
    expect(await expiring(page)).toBe(1);
    await page.context().close();
  });

  it('announces it when a sleeping tab wakes, and ends the session when nobody answered', async () => {
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, CARD);
    await expect.poll(() => cardState(page)).toBe('ready');
    await page.clock.fastForward('57:00'); // timers fire once at most, as after a sleep
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    expect(await expiring(page)).toBe(1);
    await page.clock.fastForward('05:00');
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await expect.poll(() => cardState(page)).toBe('unauthorized');
    expect(await page.locator('bio-trend-card [part=value]').count()).toBe(0);
    await page.context().close();
  });

  // promise: token-expiring
  it('goes on without a flicker when the token is replaced, and announces the end of the new one too', async () => {
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, CARD);
    await expect.poll(() => cardState(page)).toBe('ready');
    await page.clock.runFor('56:00');
    const before = apiCalls();
    await page.evaluate(() => {
      (globalThis as unknown as { states: string[] }).states.length = 0;
    });
    const nowSec = Math.floor((await page.evaluate(() => Date.now())) / 1000);
    await page.evaluate(
      (token) => document.querySelector('bio-provider')!.setAttribute('xuser-token', token),
      fixtureToken({ iat: nowSec, exp: nowSec + 3600 }),
    );
    await page.clock.runFor('01:00');
    expect(await page.evaluate(() => (globalThis as unknown as { states: string[] }).states)).toEqual([]);
    expect(apiCalls()).toBe(before);
    await page.clock.runFor('55:00');
    expect(await expiring(page)).toBe(2);
    await page.context().close();
  });

  for (const minutes of [56, 61, -61]) {
    // promise: browser-clock
    it(`is not misled by a browser whose clock is ${minutes} minutes ahead: one token lasts for its lifetime`, async () => {
      let given = 0;
      fixture.on('POST', '/token', () => ({ json: { token: fixtureToken({ jti: `t${++given}` }) } }));
      const attributes = `sdk-key="sdk_x" xuser-token="${fixtureToken()}"`;
      fixture.on('GET', '/page', {
        html: widgetPage({
          origin: fixture.origin,
          attributes,
          body: CARD.replace('<bio-trend-card', '<bio-trend-card stale-after="24h"'),
        }),
      });
      const page = await (await browser.newContext()).newPage();
      await page.clock.install({ time: Date.now() + minutes * 60_000 });
      await page.addInitScript(() => {
        const seen = globalThis as unknown as { states: string[] };
        seen.states = [];
        document.addEventListener('bio:state', (event) => seen.states.push((event as CustomEvent<{ state: string }>).detail.state));
        document.addEventListener('bio:token:expiring', () => {
          void fetch('/token', { method: 'POST' })
            .then((answer) => answer.json() as Promise<{ token: string }>)
            .then(({ token }) => document.querySelector('bio-provider')!.setAttribute('xuser-token', token));
        });
      });
      await page.goto(`${fixture.origin}/page`);
      await expect.poll(() => cardState(page)).toBe('ready');
      await page.clock.runFor('05:00');
      // A token whose end seems near is asked for again once: it may have waited in a cache. The next one is known to be new.
      const atFirst = given;
      expect(atFirst).toBeLessThanOrEqual(1);
      await page.clock.runFor('44:00');
      expect(given).toBe(atFirst);
      await page.clock.runFor('10:00');
      await expect.poll(() => given).toBe(atFirst + 1);
      expect(await page.evaluate(() => (globalThis as unknown as { states: string[] }).states)).toEqual(['ready']);
      await page.context().close();
    });
  }

  // promise: token-refused
  it('asks again for a token that the service refuses before its end, at growing pauses', async () => {
    let given = 0;
    fixture.on('POST', '/token', () => ({ json: { token: fixtureToken({ jti: `r${++given}` }) } }));
    state.mode = 'unauthorized';
    const attributes = `sdk-key="sdk_x" xuser-token="${fixtureToken()}"`;
    fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes, body: CARD }) });
    const page = await (await browser.newContext()).newPage();
    await page.clock.install({ time: Date.now() });
    await page.addInitScript(() => {
      document.addEventListener('bio:token:expiring', () => {
        void fetch('/token', { method: 'POST' })
          .then((answer) => answer.json() as Promise<{ token: string }>)
          .then(({ token }) => document.querySelector('bio-provider')!.setAttribute('xuser-token', token));
      });
    });
    await page.goto(`${fixture.origin}/page`);
    await expect.poll(() => given).toBe(1);
    for (let second = 0; second < 60; second++) await page.clock.runFor(1000);
    expect(given).toBeGreaterThan(1);
    expect(given).toBeLessThan(10);
    // Grown to a minute, and no longer: five more in five minutes.
    const before = given;
    for (let tenth = 0; tenth < 30; tenth++) await page.clock.runFor(10_000);
    expect(given - before).toBeGreaterThanOrEqual(4);
    expect(given - before).toBeLessThanOrEqual(6);
    state.mode = 'ready';
    await page.clock.runFor('02:00');
    await expect.poll(() => cardState(page)).toBe('ready');
    await page.context().close();
  });

  it('clears what it shows when the new token is for another person', async () => {
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, CARD);
    await expect.poll(() => cardState(page)).toBe('ready');
    state.mode = 'loading';
    await page.evaluate(
      (token) => document.querySelector('bio-provider')!.setAttribute('xuser-token', token),
      fixtureToken({ sub: 'someone-else' }),
    );
    await expect.poll(() => cardState(page)).toBe('loading');
    expect(await page.locator('bio-trend-card [part=value]').count()).toBe(0);
    await page.context().close();
  });

  it('forgets what was typed and not saved when the new token is for another person', async () => {
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, '<bio-journal></bio-journal><bio-mood></bio-mood>');
    const [journal, mood] = [page.locator('bio-journal'), page.locator('bio-mood')];
    await journal.getByRole('textbox').fill('I told nobody');
    await mood.getByRole('radio').first().check();
    await mood.getByRole('textbox').fill('nobody at all');
    await page.evaluate(
      (token) => document.querySelector('bio-provider')!.setAttribute('xuser-token', token),
      fixtureToken({ sub: 'someone-else' }),
    );
    await expect.poll(() => journal.getByRole('textbox').inputValue()).toBe('');
    await expect.poll(() => mood.getByRole('textbox').count()).toBe(0);
    expect(await mood.getByRole('radio', { checked: true }).count()).toBe(0);
    await page.context().close();
  });

  it('comes back from the end of a session with a new token', async () => {
    state.mode = 'unauthorized';
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, CARD);
    await expect.poll(() => cardState(page)).toBe('unauthorized');
    state.mode = 'ready';
    await page.evaluate(
      (token) => document.querySelector('bio-provider')!.setAttribute('xuser-token', token),
      fixtureToken({ jti: 'second' }),
    );
    await expect.poll(() => cardState(page)).toBe('ready');
    await page.context().close();
  });

  it('says in the console, once for each widget, that the service knows no such sdk-key', async () => {
    state.mode = 'unauthorized';
    const { page, console: lines } = await open(`sdk-key="sdk_other" xuser-token="${fixtureToken()}"`, CARD);
    await page.locator('bio-trend-card[data-state=unauthorized]').waitFor();
    await expect.poll(() => lines.filter((line) => /^bio-trend-card: .+ \(credential_\w+\)$/.test(line)).length).toBe(1);
    await page.context().close();
  });

  // promise: no-credential-in-address
  it('keeps a token that was given as a property out of the document, the storage and the console', async () => {
    const token = fixtureToken({ jti: 'very-secret' });
    const { page, console: lines } = await open('sdk-key="sdk_x"', CARD);
    await page.evaluate((value) => {
      (document.querySelector('bio-provider') as unknown as { xuserToken: string }).xuserToken = value;
    }, token);
    await expect.poll(() => cardState(page)).toBe('ready');
    const places = await page.evaluate(() => [
      document.documentElement.outerHTML,
      JSON.stringify({ ...localStorage, ...sessionStorage }),
      document.cookie,
    ]);
    expect([...places, ...lines].filter((place) => place.includes(token))).toEqual([]);
    expect(fixture.requests.filter((request) => request.url.href.includes(token))).toEqual([]);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('direct mode', () => {
  it('resolves the user once, then sends the key with every request', async () => {
    fixture.on('POST', '/api/v1/xusers', { json: { xuser_id: 'uuid-7', external_id: 'patient 7', project_id: 'p1' } });
    const { page } = await open('api-key="org_test_key" project-key="proj_1" xuser-id="patient 7"', CARD + CARD);
    await expect.poll(() => page.locator('bio-trend-card').first().getAttribute('data-state')).toBe('ready');
    const calls = fixture.requests.filter((request) => request.path.startsWith('/api/'));
    expect(calls.filter((request) => request.path === '/api/v1/xusers').map((request) => request.body)).toEqual([
      { external_id: 'patient 7', project_key: 'proj_1' },
    ]);
    expect(calls.every((request) => request.headers.authorization === 'Bearer org_test_key')).toBe(true);
    expect(
      calls.every((request) => request.headers['project-key'] === 'proj_1' && request.headers['xuser-id'] === "UTF-8''patient%207"),
    ).toBe(true);
    const chart = calls.find((request) => request.path === '/api/v1/charts/query');
    expect(chart?.body).toMatchObject({ subject_id: 'uuid-7', series: [{ biosignal_id: 1 }] });
    await page.context().close();
  });

  it('shows an error where the origin is not registered', async () => {
    fixture.on('POST', '/api/v1/xusers', { status: 403, json: { status: 403, code: 'origin_forbidden', title: 'No', request_id: 'r' } });
    const { page } = await open('api-key="org_test_key" project-key="proj_1" xuser-id="7"', CARD);
    await expect.poll(() => cardState(page)).toBe('error');
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('the outbox', () => {
  // promise: outbox-life
  it('keeps an entry through a lost connection and a reload, and sends it once', async () => {
    const received: string[] = [];
    let refuse = true;
    fixture.on('POST', '/api/v1/moods', (request) => {
      if (refuse) return { status: -1 };
      received.push(String(request.headers['idempotency-key']));
      return { status: 201, json: { id: 'm9' } };
    });
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, '<bio-mood></bio-mood>');
    const mood = page.locator('bio-mood');
    await mood.getByLabel('Good', { exact: true }).check();
    await mood.getByLabel('Anything to add?').fill('After a walk');
    await mood.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => mood.getByRole('status').first().textContent()).toContain('Saved on this device');
    expect(await mood.getByText('After a walk').count()).toBe(1);
    const tried = fixture.requests
      .filter((request) => request.method === 'POST' && request.path === '/api/v1/moods')
      .map((request) => request.headers['idempotency-key']);
    await page.reload();
    await expect.poll(() => mood.getByText('After a walk').count()).toBe(1);
    refuse = false;
    await page.evaluate(() => globalThis.dispatchEvent(new Event('online')));
    await expect.poll(() => received.length).toBe(1);
    expect(new Set([...tried, ...received]).size).toBe(1);
    await expect.poll(() => mood.getByText('waiting to be sent').count()).toBe(0);
    await page.evaluate(() => globalThis.dispatchEvent(new Event('online')));
    await page.waitForTimeout(300);
    expect(received.length).toBe(1);
    await page.context().close();
  });

  // promise: outbox-life
  it('keeps an entry a month for its writer, and a day once another person uses this device', async () => {
    fixture.on('POST', '/api/v1/journal', { status: -1 });
    const writer = `sdk-key="sdk_x" xuser-token="${fixtureToken({ sub: 'writer' })}"`;
    const { page } = await open(writer, '<bio-journal></bio-journal>');
    const journal = page.locator('bio-journal');
    await journal.getByRole('textbox').fill('Not sent yet');
    await journal.getByRole('button', { name: 'Save' }).click();
    await journal.getByText('Not sent yet').waitFor();
    /** Entries on this device; `olderMs`: as if they were made so much earlier. */
    const kept = (olderMs: number): Promise<number> =>
      page.evaluate(async (older) => {
        const done = <T>(request: IDBRequest<T>): Promise<T> =>
          new Promise((resolve) => request.addEventListener('success', () => resolve(request.result)));
        const db = await done(indexedDB.open('bio-outbox'));
        const store = db.transaction('entries', 'readwrite').objectStore('entries');
        const entries = (await done(store.getAll())) as { createdMs: number }[];
        for (const entry of entries) if (older > 0) await done(store.put({ ...entry, createdMs: entry.createdMs - older }));
        db.close();
        return entries.length;
      }, olderMs);
    expect(await kept(2 * 86_400_000)).toBe(1);
    await page.reload();
    await journal.getByText('Not sent yet').waitFor();
    const body = '<bio-journal></bio-journal>';
    const other = `sdk-key="sdk_x" xuser-token="${fixtureToken({ sub: 'reader' })}"`;
    fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes: other, body }) });
    await page.reload();
    await expect.poll(() => kept(0)).toBe(0);
    fixture.on('GET', '/page', { html: widgetPage({ origin: fixture.origin, attributes: writer, body }) });
    await page.reload();
    await journal.getByRole('textbox').fill('Nor this one');
    await journal.getByRole('button', { name: 'Save' }).click();
    await journal.getByText('Nor this one').waitFor();
    expect(await kept(29 * 86_400_000)).toBe(1);
    await page.reload();
    await journal.getByText('Nor this one').waitFor();
    expect(await kept(2 * 86_400_000)).toBe(1);
    await page.reload();
    await expect.poll(() => kept(0)).toBe(0);
    await page.context().close();
  });

  it('does not move tasks while one after the other is marked', async () => {
    fixture.on('POST', '/api/v1/tasks/t2/status', { status: 200, json: { id: 't2', status: 'done' } });
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, '<bio-task-list></bio-task-list>');
    const tasks = page.locator('bio-task-list');
    const first = tasks.locator('[part=task]').first();
    await first.waitFor();
    const before = await first.boundingBox();
    await tasks.getByRole('button', { name: /^Done/ }).last().click();
    await expect.poll(() => tasks.getByRole('status').allTextContents()).toContainEqual(expect.stringContaining('Saved'));
    expect(await first.boundingBox()).toEqual(before);
    await page.context().close();
  });

  it('offers no mark for a task that only an answer can complete', async () => {
    fixture.on('GET', '/api/v1/tasks', {
      json: [
        { id: 'q1', title: 'PHQ-9', due: null, status: 'due', questionnaire: 'phq-9' },
        { id: 'q2', title: 'GAD-7', due: null, status: 'done', questionnaire: 'gad-7' },
        { id: 't2', title: 'Walk', due: null, status: 'due', questionnaire: null },
      ],
    });
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, '<bio-task-list></bio-task-list>');
    const tasks = page.locator('bio-task-list');
    await tasks.locator('[part=task]').first().waitFor();
    const labels = async (): Promise<string[]> => (await tasks.getByRole('button').allTextContents()).map((label) => label.trim());
    await expect.poll(() => labels()).toEqual(['Skip: PHQ-9', 'Done: Walk', 'Skip: Walk']);
    serveWidgetAnswers(fixture, state);
    await page.context().close();
  });

  it('says so when the service refuses an entry for good', async () => {
    fixture.on('POST', '/api/v1/journal', { status: 422, json: { status: 422, code: 'validation_failed', title: 'No' } });
    const { page } = await open(`sdk-key="sdk_x" xuser-token="${fixtureToken({ sub: 'other' })}"`, '<bio-journal></bio-journal>');
    const journal = page.locator('bio-journal');
    await journal.getByRole('textbox').fill('Text');
    await journal.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => journal.getByText('1 could not be sent').count()).toBe(1);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('the live feed', () => {
  /** Sends 100 ms frames at their pace. */
  function stream(socket: FixtureSocket, flag: (sec: number) => number): () => void {
    let seq = BigInt(Math.floor(Date.now() / 100));
    const timer = setInterval(() => {
      const now = BigInt(Math.floor(Date.now() / 100));
      for (; seq < now; seq++) {
        const t = Number(seq % 1_000_000n) / 10;
        const samples = Array.from({ length: 36 }, (_, i) => fixtureEcg(t + i / 360, 72));
        const level = flag(t);
        const channel = { code: 'ecg.ii', kind: 1, unit: 'mV', rateHz: 360, lead: 'II', primary: true, samples };
        socket.send(
          fixtureFrame(seq * 100_000_000n, [level === 0 ? channel : { ...channel, qmaskRuns: [36 * 4 + level] }], [], { lagMs: 20 }),
        );
      }
    }, 50);
    return () => clearInterval(timer);
  }

  async function live(more = ''): Promise<Page> {
    const body = `<bio-live-trace channel="ecg"></bio-live-trace>${more}`;
    fixture.on('GET', '/page', {
      html: widgetPage({ origin: fixture.origin, attributes: `sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, body }),
    });
    const page = await (await browser.newContext({ viewport: { width: 700, height: 400 } })).newPage();
    await page.goto(`${fixture.origin}/page`);
    return page;
  }

  /** Share of the upper canvas's columns in which something of the trace is drawn (the ribbon below is left out). */
  const inkedColumns = (page: Page): Promise<number> =>
    page.evaluate(() => {
      const canvas = document.querySelector('bio-live-trace')!.shadowRoot!.querySelectorAll('canvas')[1]!;
      const { data } = canvas.getContext('2d')!.getImageData(0, 0, canvas.width, canvas.height - 12);
      const inked = new Set<number>();
      for (let i = 3; i < data.length; i += 4) if (data[i]! > 0) inked.add(((i - 3) / 4) % canvas.width);
      return inked.size / canvas.width;
    });

  // promise: token-in-subprotocol
  it('draws the trace, with the credential in the subprotocol and never in the address', async () => {
    const opened: FixtureSocket[] = [];
    fixture.onSocket((socket) => {
      opened.push(socket);
      return stream(socket, () => 0);
    });
    const page = await live();
    await expect.poll(() => inkedColumns(page), { timeout: 10_000 }).toBeGreaterThan(0.3);
    expect(await page.locator('bio-live-trace').getByText('Good').count()).toBe(1);
    expect(opened[0]!.protocols).toMatch(/^bio\.v1, bio\.bearer\.[\w-]+, bio\.sdk\.sdk_x$/);
    expect([...opened[0]!.url.searchParams.keys()]).toEqual(['subject', 'after']);
    await page.context().close();
  });

  // promise: unusable-hidden
  it('draws nothing where the signal is unusable', async () => {
    fixture.onSocket((socket) => stream(socket, () => 2));
    const page = await live();
    await expect.poll(() => page.locator('bio-live-trace').getByText('Unusable').count(), { timeout: 5000 }).toBe(1);
    await page.waitForTimeout(1500);
    expect(await inkedColumns(page)).toBe(0);
    await page.context().close();
  });

  // promise: token-expiring
  it('reconnects with the last frame it has seen, and tells the open socket a new token', async () => {
    const opened: FixtureSocket[] = [];
    fixture.onSocket((socket) => {
      opened.push(socket);
      return stream(socket, () => 0);
    });
    const page = await live();
    await expect.poll(() => inkedColumns(page), { timeout: 10_000 }).toBeGreaterThan(0.05);
    opened[0]!.close(4013, 'restarting');
    await expect.poll(() => opened.length, { timeout: 5000 }).toBe(2);
    expect(Number(opened[1]!.url.searchParams.get('after'))).toBeGreaterThan(1e10);
    const token = fixtureToken({ jti: 'next' });
    fixture.texts.length = 0;
    await page.evaluate((value) => document.querySelector('bio-provider')!.setAttribute('xuser-token', value), token);
    await expect.poll(() => fixture.texts.map((text) => JSON.parse(text) as unknown)).toEqual([{ type: 'auth', token }]);
    expect(opened.length).toBe(2);
    await page.context().close();
  });

  it('leaves the screen when the session ends, and is there again with a new token', async () => {
    const opened: FixtureSocket[] = [];
    fixture.onSocket((socket) => {
      opened.push(socket);
      return stream(socket, () => 0);
    });
    const page = await live(CARD.replace('refresh="0"', 'refresh="2s"'));
    await expect.poll(() => inkedColumns(page), { timeout: 10_000 }).toBeGreaterThan(0.05);
    state.mode = 'unauthorized';
    opened[0]!.close(4001, 'token_expired');
    await expect.poll(() => cardState(page)).toBe('unauthorized');
    await expect.poll(() => inkedColumns(page)).toBe(0);
    state.mode = 'ready';
    const token = fixtureToken({ jti: 'after the end' });
    await page.evaluate((value) => document.querySelector('bio-provider')!.setAttribute('xuser-token', value), token);
    await expect.poll(() => inkedColumns(page), { timeout: 10_000 }).toBeGreaterThan(0.05);
    await page.context().close();
  });

  it('tells a socket of a token that was replaced while it was opening', async () => {
    fixture.onSocket((socket) => stream(socket, () => 0));
    fixture.texts.length = 0;
    const token = fixtureToken({ jti: 'while opening' });
    fixture.on('GET', '/page', {
      html: widgetPage({
        origin: fixture.origin,
        attributes: `sdk-key="sdk_x" xuser-token="${fixtureToken()}"`,
        body: '<bio-live-trace channel="ecg"></bio-live-trace>',
      }),
    });
    const page = await (await browser.newContext()).newPage();
    await page.addInitScript((next) => {
      globalThis.WebSocket = class extends WebSocket {
        constructor(url: string | URL, protocols?: string | string[]) {
          super(url, protocols);
          document.querySelector('bio-provider')!.setAttribute('xuser-token', next);
        }
      };
    }, token);
    await page.goto(`${fixture.origin}/page`);
    await expect.poll(() => fixture.texts.map((text) => JSON.parse(text) as unknown)).toEqual([{ type: 'auth', token }]);
    await page.context().close();
  });

  // promise: no-number, marks-in-words
  it('shows the quality of values on the live page: good and suspect as numbers, unusable as none', async () => {
    const session = { xuser_token: fixtureToken(), xuser_id: 'u', expires_in: 3600, sdk_key: 'sdk_x' };
    fixture.on('POST', '/demo/session', (request) => (request.headers.authorization === 'Bearer s3' ? { json: session } : { status: 401 }));
    fixture.onSocket((socket) => {
      const timer = setInterval(() => {
        const seq = BigInt(Math.floor(Date.now() / 100));
        const samples = Array.from({ length: 25 }, (_, i) => fixtureEcg(Number(seq % 1_000_000n) / 10 + i / 250, 72));
        const channel = { code: 'ecg.ii', kind: 1, unit: 'mV', rateHz: 250, lead: 'II', primary: true, samples };
        socket.send(
          fixtureFrame(
            seq * 100_000_000n,
            [channel],
            [
              { name: 'hr_ecg', value: 72.2, qmask: 0 },
              { name: 'hrv_rmssd_60s', value: 41.4, qmask: 1 },
              { name: 'hr_ppg', value: 180, qmask: 2 },
            ],
          ),
        );
      }, 100);
      return () => clearInterval(timer);
    });
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${fixture.origin}/dashboard/live#demo=s3`);
    await expect.poll(() => page.getByText('No alarms. Not a medical device.', { exact: true }).isVisible()).toBe(true);
    const tile = (name: string): Promise<string | null> => page.locator(`[data-feature=${name}]`).innerText();
    await expect.poll(() => tile('hr_ecg')).toMatch(/72.*Good/s);
    expect(await tile('hrv_rmssd_60s')).toMatch(/41.*Suspect/s);
    expect(await tile('hr_ppg')).toMatch(/--.*Unusable/s);
    await page.context().close();
  });

  // promise: close-codes
  it('does not try again when trying cannot help, and closes the socket when the trace leaves the page', async () => {
    let opened = 0;
    let closed = 0;
    fixture.onSocket((socket) => {
      opened++;
      socket.close(4507, 'no such subject');
      return undefined;
    });
    const refused = await live();
    await expect.poll(() => refused.locator('bio-live-trace').getByText('Access refused').count()).toBe(1);
    const warnings: string[] = [];
    refused.on('console', (message) => warnings.push(message.text()));
    await refused.reload();
    await expect.poll(() => refused.locator('bio-live-trace').getByText('Access refused').count()).toBe(1);
    await refused.waitForTimeout(1500);
    expect(opened).toBe(2); // the page was loaded twice
    expect(warnings.filter((line) => line.includes('no such subject'))).toHaveLength(1);
    await refused.context().close();

    fixture.onSocket((socket) => {
      const stop = stream(socket, () => 0);
      return () => {
        closed++;
        stop();
      };
    });
    const page = await live();
    await expect.poll(() => inkedColumns(page), { timeout: 10_000 }).toBeGreaterThan(0.02);
    await page.evaluate(() => document.querySelector('bio-live-trace')!.remove());
    await expect.poll(() => closed).toBe(1);
    await page.context().close();
  });

  it('fills a slow trace at once with what the service still holds, and writes leads as on paper', async () => {
    const now = BigInt(Math.floor(Date.now() / 100));
    const channels = (seq: bigint) => [
      { code: 'eda', kind: 3, unit: 'uS', rateHz: 10, primary: true, samples: [5 + Math.sin(Number(seq) / 40)] },
      { code: 'ecg.avr', kind: 1, unit: 'mV', rateHz: 50, lead: 'AVR', primary: true, samples: [0, 0.1, 0.9, -0.2, 0] },
    ];
    fixture.onSocket((socket) => {
      // As the service: what was asked for is older than what it holds; it says from where it can begin.
      if (socket.url.searchParams.get('after') === '0') {
        socket.tell({ type: 'replay', status: 'too_old', code: 'replay_too_old', oldest_seq: Number(now) - 600 });
      }
      let seq = now;
      let replayed = false;
      const timer = setInterval(() => {
        if (!replayed && fixture.texts.includes(JSON.stringify({ type: 'replay', after: Number(now) - 591 }))) {
          replayed = true;
          for (let old = now - 590n; old < seq; old++) socket.send(fixtureFrame(old * 100_000_000n, channels(old), [], { replayed: true }));
        }
        for (; seq <= BigInt(Math.floor(Date.now() / 100)); seq++) socket.send(fixtureFrame(seq * 100_000_000n, channels(seq)));
      }, 100);
      return () => clearInterval(timer);
    });
    fixture.texts.length = 0;
    const body = '<bio-live-trace channel="eda"></bio-live-trace><bio-live-trace channel="ecg"></bio-live-trace>';
    fixture.on('GET', '/page', {
      html: widgetPage({ origin: fixture.origin, attributes: `sdk-key="sdk_x" xuser-token="${fixtureToken()}"`, body }),
    });
    const page = await (await browser.newContext({ viewport: { width: 700, height: 500 } })).newPage();
    await page.goto(`${fixture.origin}/page`);
    // 660 px at 2.5 mm/s are 70 s: of them 60 were held.
    await expect.poll(() => inkedColumns(page), { timeout: 8000 }).toBeGreaterThan(0.75);
    await page.getByText('ECG aVR').waitFor();
    await page.context().close();
  });

  it('tells a lost connection from a silent device: within seconds, with every value grey and its age', async () => {
    const session = { xuser_token: fixtureToken(), xuser_id: 'u', expires_in: 3600, sdk_key: 'sdk_x' };
    fixture.on('POST', '/demo/session', { json: session });
    let sockets = 0;
    let lost: FixtureSocket | null = null;
    fixture.onSocket((socket) => {
      sockets++;
      const timer = setInterval(() => {
        if (socket === lost) return;
        const seq = BigInt(Math.floor(Date.now() / 100));
        const samples = Array.from({ length: 25 }, (_, i) => fixtureEcg(Number(seq % 1_000_000n) / 10 + i / 250, 72));
        const channel = { code: 'ecg.ii', kind: 1, unit: 'mV', rateHz: 250, lead: 'II', primary: true, samples };
        const values = ['hr_ecg', 'hrv_rmssd_60s', 'hrv_sdnn_300s'].map((name) => ({ name, value: 60, qmask: 0 }));
        socket.send(fixtureFrame(seq * 100_000_000n, [channel], values));
        if (sockets === 1 && lose) {
          lost = socket;
          socket.deafen();
        }
      }, 100);
      return () => clearInterval(timer);
    });
    let lose = false;
    const page = await (await browser.newContext()).newPage();
    await page.goto(`${fixture.origin}/dashboard/live#demo=s3`);
    await expect.poll(() => page.locator('.tile:not(.old)').count(), { timeout: 10_000 }).toBe(3);
    await page.evaluate(() => {
      const seen = ((globalThis as unknown as { seen: string[] }).seen = []) as string[];
      document.addEventListener('bio:live-state', (event) => seen.push((event as CustomEvent<{ state: string }>).detail.state));
    });
    lose = true;
    await expect.poll(() => page.locator('.link').textContent(), { timeout: 8000 }).toContain('No connection to the service');
    expect(await page.locator('bio-live-trace').first().getByText('No connection to the service').count()).toBe(1);
    expect(await page.locator('.tile:not(.old)').count()).toBe(0);
    for (const tile of await page.locator('.tile').all()) expect(await tile.innerText()).toMatch(/out of date.*ago/s);
    // The socket that says nothing is given up, and the next one goes on.
    await expect.poll(() => page.locator('.tile:not(.old)').count(), { timeout: 20_000 }).toBe(3);
    expect(sockets).toBe(2);
    const states = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
    expect(states).not.toContain('stale');
    await page.context().close();
  });

  // promise: no-signal
  it('says that there is no signal while no device sends', async () => {
    fixture.onSocket(() => () => {});
    const page = await live();
    await expect.poll(() => page.locator('bio-live-trace').getByText('No signal').count(), { timeout: 8000 }).toBe(1);
    await page.context().close();
  });

  // promise: no-signal
  it('says that there is none any more when frames stop', async () => {
    fixture.onSocket((socket) => {
      const stop = stream(socket, () => 0);
      const timer = setTimeout(stop, 1000);
      return () => clearTimeout(timer);
    });
    const page = await live();
    await expect.poll(() => page.locator('bio-live-trace').getByText('No signal').count(), { timeout: 8000 }).toBe(1);
    await page.context().close();
  });
});
