/** The whole service with its simulated device, an owner who can sign in, and a Chromium that looks at its pages. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { buildWeb } from '../../scripts/build-web.ts';
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';
import type { Service } from '../../src/server.ts';
import { launchChromium } from './chromium.ts';
import { testDatabase } from './database.ts';
import type { TestDatabase } from './database.ts';
import { patientFetch } from './patient-fetch.ts';

export const email = 'ada@example.org';
export const password = 'correct horse battery';

export type Opened = Readonly<{ page: Page; errors: string[] }>;
export type DashboardFixture = Readonly<{
  service: Service;
  database: TestDatabase;
  /** Opens an address of the service; `errors` are what the page threw and what its policy blocked. */
  open: (path: string, context?: BrowserContextOptions) => Promise<Opened>;
  /** The cookie of an operator who signed in once: passwords are slow on purpose. */
  signedIn: Awaited<ReturnType<BrowserContext['storageState']>>;
  /** Asks the REST API with the key that may everything. */
  send: <T>(method: string, path: string, body?: object) => Promise<T>;
  /** Stops the service, does this, and starts it again: at the same address and database. It needs a port of its own. */
  whileAway: (during: () => Promise<void>) => Promise<void>;
  close: () => Promise<void>;
}>;

/** @param port 0: any. Sockets of one that the system has chosen keep it for a minute after they are closed */
export async function startDashboard(port = 0): Promise<DashboardFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'bio-web-'));
  const [database, browser] = await Promise.all([testDatabase(), launchChromium(), buildWeb(folder)]);
  const settings = { DATABASE_URL: database.url, BIO_DEMO: '1', BIO_LOG_LEVEL: 'silent' };
  const start = (at: string): Promise<Service> => startService({ config: readConfig({ ...settings, PORT: at }), webDir: folder });
  const service = await start(String(port));
  let running = service;
  const open: DashboardFixture['open'] = async (path, options = {}) => {
    const page = await (await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options })).newPage();
    page.setDefaultTimeout(90_000); // a machine at work needs long to draw a page
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    // What the policy of the service blocks is missing on the page, without an exception.
    page.on('console', (said) => said.type() === 'error' && said.text().includes('Content Security Policy') && errors.push(said.text()));
    await page.goto(service.baseUrl + path);
    return { page, errors };
  };
  const send: DashboardFixture['send'] = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await patientFetch(service.baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.ok, `${method} ${path}: ${answer.status}`).toBe(true);
    return (await answer.json()) as T;
  };
  await send('POST', '/api/v1/members', { email, display_name: 'Ada', role: 'admin', password });
  const { page } = await open('/dashboard/');
  await signIn(page);
  const signedIn = await page.context().storageState();
  await page.context().close();
  return {
    service,
    database,
    open,
    signedIn,
    send,
    whileAway: async (during) => {
      await running.stop();
      try {
        await during();
      } finally {
        running = await start(new URL(service.baseUrl).port);
      }
    },
    close: async () => {
      await browser.close();
      await running.stop();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function signIn(page: Page): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation').waitFor();
}

let axe: Promise<string> | null = null;

/** What axe-core finds. @param part what to look at; the frame around the pages is the same for all of them */
export async function violations(page: Page, part = 'html'): Promise<string[]> {
  axe ??= readFile(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8');
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(`${await axe};0`);
  return page.evaluate(async (selector) => {
    const runner = (
      globalThis as unknown as {
        axe: { run: (selector: string, options: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      }
    ).axe;
    const { violations: found } = await runner.run(selector, { resultTypes: ['violations'] });
    return found.map((item) => `${item.id}: ${item.nodes.map((node) => node.html).join(' ')}`);
  }, part);
}

/** Sets which consents the project of the fixture requires of each person. */
export async function requireConsents({ send }: DashboardFixture, consents: readonly ('recording' | 'sharing')[]): Promise<void> {
  const [project] = await send<{ id: string }[]>('GET', '/api/v1/projects');
  const retention = { samples_days: null, features_days: null, beats_days: null };
  await send('PUT', `/api/v1/projects/${project!.id}/settings`, { retention, consent_required: consents });
}
