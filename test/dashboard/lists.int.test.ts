/** Lists that can be sorted and searched, with the choice in the address. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/until.ts';
import { startWard } from '../helpers/ward.ts';
import type { Ward } from '../helpers/ward.ts';

const EPISODES = 210;
const RECORDINGS = 23;
const BUSY = JSON.stringify({ status: 503, code: 'unavailable', title: 'Part of the service is unavailable' });

let dashboard: DashboardFixture;
let ward: Ward;
let often: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  const { send, service } = dashboard;
  const [project] = await send<{ id: string; project_key: string }[]>('GET', '/api/v1/projects');
  const levels = [80, 12, 45];
  const people: { id: string; batteryPercent: number }[] = [];
  for (const [i, batteryPercent] of levels.entries()) {
    const body = { external_id: `bed-${i + 1}`, project_key: project!.project_key };
    people.push({ id: (await send<{ xuser_id: string }>('POST', '/api/v1/xusers', body)).xuser_id, batteryPercent });
  }
  ward = await startWard(service.baseUrl, service.firstKey!, people);
  often = people[2]!.id;
  // One more of the same device at each boot.
  const boots = await startWard(
    service.baseUrl,
    service.firstKey!,
    Array.from({ length: RECORDINGS - 1 }, () => ({ id: often, channels: ['resp'] as const, batteryPercent: 45 })),
  );
  await until(async () => (await send<unknown[]>('GET', `/api/v1/streams?subject_id=${often}&limit=100`)).length === RECORDINGS, 60_000);
  boots.stop();
  for (let i = 0; i < EPISODES; i++) {
    const [minute, second] = [Math.floor(i / 60), i % 60].map((n) => String(n).padStart(2, '0'));
    await send('POST', '/api/v1/episodes', {
      subject_id: people[0]!.id,
      kind: 'alert',
      title: `episode ${i}`,
      severity: i === 0 ? 'high' : 'low',
      started_at: `2026-03-01T08:${minute}:${second}Z`,
    });
  }
});

afterAll(async () => {
  ward?.stop();
  await dashboard?.close();
});

describe.skipIf(chromiumPath === null)('lists of the dashboard', () => {
  // promise: devices-sorted
  it('devices are sorted by what is chosen and searched, and the address keeps it', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/devices', { storageState: dashboard.signedIn });
    const users = async (): Promise<(string | undefined)[]> =>
      (await page.locator('tbody tr').allTextContents()).map((text) => /bed-\d|demo-patient/.exec(text)?.[0]);
    await expect.poll(async () => (await page.locator('tbody').textContent())?.includes('45 %')).toBe(true);
    await page.getByLabel('Sort by').selectOption('battery');
    expect((await users()).slice(0, 3)).toEqual(['bed-2', 'bed-3', 'bed-1']);
    await page.reload();
    await expect.poll(users).toContain('bed-2');
    expect((await users())[0]).toBe('bed-2');
    await page.getByLabel('Search', { exact: false }).first().fill('BED-3');
    await expect.poll(users).toEqual(['bed-3']);
    expect(page.url()).toContain('sort=battery&search=BED-3');
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: lists-in-address
  it('keys, members, webhooks, groups and rules are searched and sorted, and the address keeps it', async () => {
    const { send, open, signedIn } = dashboard;
    const [project] = await send<{ id: string }[]>('GET', '/api/v1/projects');
    for (const name of ['zeta of the ward', 'alpha', 'Beta']) {
      await send('POST', '/api/v1/api-keys', { name, scopes: name === 'alpha' ? ['ingest'] : ['read'], env: 'test', project_id: null });
      await send('POST', `/api/v1/projects/${project!.id}/groups`, { name });
      const rule = { name, feature: 'hr_ecg', comparison: 'above', threshold: 200, sustain_sec: 60, release_sec: 30 };
      await send('POST', `/api/v1/projects/${project!.id}/rules`, {
        ...rule,
        severity: name === 'Beta' ? 'high' : name === 'alpha' ? 'medium' : 'low',
      });
      const path = name.split(' ')[0]!.toLowerCase();
      await send('POST', '/api/v1/webhooks', { url: `https://${path}.example/hook`, events: ['*'], project_id: null, description: '' });
      await send('POST', '/api/v1/members', {
        email: `${path}@example.org`,
        display_name: name,
        role: 'viewer',
        password: 'correct horse battery',
      });
    }
    const pages = [
      ['settings/keys', 'name', ['alpha', 'Beta', 'zeta of the ward'], 'INGEST', ['alpha']],
      ['settings/members', 'name', ['Ada', 'alpha', 'Beta', 'zeta of the ward'], 'zeta', ['zeta of the ward']],
      ['settings/webhooks', 'address', ['alpha.example', 'beta.example', 'zeta.example'], 'beta.', ['beta.example']],
      ['groups', 'people', ['alpha', 'Beta', 'zeta of the ward'], 'of the', ['zeta of the ward']],
      ['rules', 'severity', ['Beta', 'alpha', 'zeta of the ward'], 'high', ['Beta']],
    ] as const;
    for (const [address, sort, order, search, found] of pages) {
      const { page, errors } = await open(`/dashboard/#/${address}`, { storageState: signedIn });
      const names = async (): Promise<string[]> =>
        (await page.locator('table').first().locator('tbody tr').allTextContents())
          .map((text) => /Ada|alpha\.example|beta\.example|zeta\.example|alpha|Beta|zeta of the ward/.exec(text)?.[0] ?? '')
          .filter((name) => name !== '');
      await page.getByLabel('Sort by').first().selectOption(sort);
      await expect.poll(names, { message: address }).toEqual(order);
      await page.reload();
      await expect.poll(names, { message: `${address}, reloaded` }).toEqual(order);
      await page.getByRole('searchbox', { name: 'Search' }).fill(search);
      await expect.poll(names, { message: search }).toEqual(found);
      expect(page.url()).toContain(`sort=${sort}&search=${new URLSearchParams({ '': search }).toString().slice(1)}`);
      expect(await violations(page), address).toEqual([]);
      await page.getByRole('searchbox', { name: 'Search' }).fill('zzzz');
      await page.getByText('Nothing in this list contains this text.').waitFor();
      expect(await page.locator('table').count(), 'no head without rows').toBe(0);
      await page.getByRole('searchbox', { name: 'Search' }).fill(search.replace('e', 'é'));
      await expect.poll(names, { message: `${search} with an accent` }).toEqual(found);
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  // promise: lists-in-address
  it('the audit log begins with the oldest when asked for, page by page', async () => {
    const seen: Readonly<{ id: number; time: string }>[] = [];
    for (let path: string | undefined = '/api/v1/audit-log?kind=acts&sort=oldest&limit=5'; path !== undefined;) {
      const answer: Response = await fetch(dashboard.service.baseUrl + path, {
        headers: { authorization: `Bearer ${dashboard.service.firstKey}` },
      });
      seen.push(...((await answer.json()) as typeof seen));
      path = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1];
    }
    expect(seen.length).toBeGreaterThan(10);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(seen.length);
    // By time: acts of one moment may have been chained in another order.
    const times = seen.map(({ time }) => time);
    expect(times).toEqual(times.toSorted());
    const { page } = await dashboard.open('/dashboard/#/audit?sort=oldest', { storageState: dashboard.signedIn });
    const [oldest] = await dashboard.send<{ action: string }[]>('GET', '/api/v1/audit-log?kind=acts&sort=oldest&limit=1');
    await expect.poll(() => page.locator('tbody tr').first().textContent()).toContain(oldest!.action);
    await page.context().close();
  });

  it('the audit log shows nobody else below a person whom it does not know', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/audit?kind=all', { storageState: dashboard.signedIn });
    await page.locator('tbody tr').first().waitFor();
    await page.getByLabel('Person').fill('nobody at all');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByRole('alert').getByText('no such user').waitFor();
    await expect.poll(() => page.locator('tbody tr').count()).toBe(0);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.locator('tbody tr').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('a list that could not be loaded says so, is not empty, and can be asked for again', async () => {
    const lists = [
      ['users', /\/api\/v1\/xusers\?/, (page: Page) => page.getByLabel('Sort by').selectOption('name')],
      ['audit', /\/api\/v1\/audit-log\?/, (page: Page) => page.getByLabel('Sort by').selectOption('oldest')],
      ['episodes', /\/api\/v1\/fleet\/episodes\?/, (page: Page) => page.getByRole('button', { name: 'All', exact: true }).click()],
      ['quality', /\/api\/v1\/signal-quality\?/, (page: Page) => page.getByRole('button', { name: '3 days' }).click()],
      [`users/${often}`, /\/api\/v1\/streams\?.*sort=oldest/, (page: Page) => page.getByLabel('Sort by').selectOption('oldest')],
    ] as const;
    for (const [address, path, choose] of lists) {
      const { page, errors } = await dashboard.open(`/dashboard/#/${address}`, { storageState: dashboard.signedIn });
      const rows = page.locator(address === 'quality' ? '.quality-list li' : 'tbody tr a');
      await rows.first().waitFor();
      await page.route(path, (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: BUSY }));
      await choose(page);
      await page.getByRole('alert').waitFor();
      expect(
        await page.getByText(/^No (users|entries|episodes|open episodes|signals|recordings)/).count(),
        `${address}: nothing is called empty`,
      ).toBe(0);
      expect(await page.getByRole('alert').count(), address).toBe(1);
      expect(await violations(page), address).toEqual([]);
      await page.unroute(path);
      await page.getByRole('button', { name: 'Try again' }).click();
      await rows.first().waitFor();
      expect(await page.getByRole('alert').count(), address).toBe(0);
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  it('an older answer does not replace that of a newer search, nor its failure', async () => {
    for (const fails of [false, true]) {
      const { page, errors } = await dashboard.open('/dashboard/#/users', { storageState: dashboard.signedIn });
      await page.locator('tbody tr').first().waitFor();
      let isAnswered = false;
      const held = Promise.withResolvers<undefined>();
      await page.route(/xusers\?.*search=bed-1/, async (route) => {
        await held.promise;
        await (fails
          ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: BUSY })
          : route.fulfill({ response: await route.fetch() }));
        isAnswered = true;
      });
      const find = async (words: string): Promise<void> => {
        await page.getByRole('searchbox', { name: 'Search' }).fill(words);
        await page.getByRole('button', { name: 'Find' }).click();
      };
      const found = (): Promise<string[]> => page.locator('tbody tr td:first-child').allTextContents();
      await find('bed-1');
      await find('bed-2');
      await expect.poll(found).toEqual(['bed-2']);
      held.resolve(undefined);
      await expect.poll(() => isAnswered).toBe(true);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      expect(await found()).toEqual(['bed-2']);
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });

  it('the audit log asks for years of four figures alone, in its fields and in its address', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/audit?since=275760-01-01T00:00&until=2999-01-01T00:00', {
      storageState: dashboard.signedIn,
    });
    await page.locator('tbody tr').first().waitFor();
    expect(await page.getByLabel('From').inputValue()).toBe('');
    const isTaken = await page.locator('[name=until]').evaluate((field: HTMLInputElement) => {
      field.value = '275760-01-01T00:00';
      return field.value === '' || field.validity.valid;
    });
    expect(isTaken).toBe(false);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('the wall reads one page of people, however many there are, and says so of a group', async () => {
    const [project] = await dashboard.send<{ id: string }[]>('GET', '/api/v1/projects');
    const { id } = await dashboard.send<{ id: string }>('POST', `/api/v1/projects/${project!.id}/groups`, { name: 'Large' });
    const { page, errors } = await dashboard.open('/dashboard/#/overview', { storageState: dashboard.signedIn });
    await page.route(/\/api\/v1\/xusers\?/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), link: '</api/v1/xusers?limit=1000&cursor=more>; rel="next"' } });
    });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/wall?group=${id}`);
    await page.getByText('Of all people of the group, the first 1,000.').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: counts-in-sections
  it('the sections say how many there are', async () => {
    const { page } = await dashboard.open('/dashboard/#/overview', { storageState: dashboard.signedIn });
    const [users, devices] = await Promise.all(
      ['xusers', 'devices'].map((name) => dashboard.send<unknown[]>('GET', `/api/v1/${name}?limit=1000`)),
    );
    const nav = page.getByRole('navigation');
    await nav.getByRole('link', { name: `Users ${users!.length}`, exact: true }).waitFor();
    await nav
      .getByRole('link', { name: `Devices ${new Set((devices as { id: string }[]).map(({ id }) => id)).size}`, exact: true })
      .waitFor();
    await nav.getByRole('link', { name: `Episodes ${EPISODES} open`, exact: true }).waitFor();
    await expect.poll(() => page.locator('main').textContent(), { timeout: 20_000 }).toMatch(/disk\s+database \d+ MiB/);
    await page.context().close();
  });

  // promise: recordings-paged
  it('every recording of a person can be reached, the oldest first and of one device when asked for', async () => {
    const { page, errors } = await dashboard.open(`/dashboard/#/users/${often}`, { storageState: dashboard.signedIn });
    const rows = page.locator('section.card', { has: page.getByRole('heading', { name: 'Recordings' }) }).locator('tbody tr');
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(20);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(() => rows.count()).toBe(RECORDINGS);
    const received = (): Promise<string[]> =>
      rows.locator('td[data-name=View] a').evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''));
    const newest = (await received())[0];
    await page.getByLabel('Sort by').selectOption('oldest');
    await expect.poll(async () => (await received()).includes(newest!)).toBe(false);
    await page.getByRole('button', { name: 'Show more' }).click();
    await expect.poll(async () => (await received()).at(-1)).toBe(newest);
    await page.getByLabel('Device', { exact: true }).fill('of nobody');
    await page.keyboard.press('Enter');
    await page.getByText('No recordings found').waitFor();
    expect(page.url()).toContain('sort=oldest&device=of+nobody');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: episodes-paged
  it('an open episode older than the newest 200 can be reached, and the most severe comes first when asked for', async () => {
    const { page, errors } = await dashboard.open('/dashboard/#/episodes', { storageState: dashboard.signedIn });
    await page.getByText('episode 209', { exact: true }).waitFor();
    expect(await page.getByText('episode 0', { exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText('episode 0', { exact: true }).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(EPISODES);
    expect(await page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    await page.getByLabel('Sort by').selectOption('severity');
    await expect.poll(() => page.locator('tbody tr').first().textContent()).toContain('episode 0');
    await page.reload();
    await expect.poll(() => page.locator('tbody tr').first().textContent()).toContain('episode 0');
    expect(page.url()).toContain('sort=severity');
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
