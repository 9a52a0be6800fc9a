/** A wall that lacks something: a consent, a session, the list of values, a connection. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { requireConsents } from '../helpers/dashboard.ts';
import { fits, liveTiles, picture, startWall, tiles } from '../helpers/wall.ts';
import type { WallFixture } from '../helpers/wall.ts';
import type { WardPerson } from '../helpers/ward.ts';

let wall: WallFixture;
let group: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  wall = await startWall(9);
  group = await wall.groupOf('Ward 4', wall.people.slice(0, 6));
});
afterAll(() => wall?.close());

describe.skipIf(chromiumPath === null)('a wall that lacks something', () => {
  it('shows nothing of a person who has withdrawn consent to sharing, and shows them again soon after it is given', async () => {
    const { send, people } = wall;
    const [first, other, silentOne] = people.slice(6, 9) as [WardPerson, WardPerson, WardPerson];
    const room = await wall.groupOf('Room 1', [first, other, silentOne]);
    const consent = (id: string, granted: boolean) =>
      send('POST', `/api/v1/xusers/${id}/consents`, { purpose: 'sharing', granted, document: '' });
    for (const { id } of [first, other, silentOne]) await consent(id, true);
    await requireConsents(wall, ['sharing']);
    try {
      const { page, errors } = await wall.openWall(`#/wall?group=${room}`);
      const tile = page.locator(`[data-person="${first.id}"]`);
      // One who sends nothing is shown again, too: as silent.
      const silent = page.locator(`[data-person="${silentOne.id}"]`);
      await expect.poll(() => liveTiles(page).count(), { timeout: 60_000 }).toBe(3);
      wall.ward.silence(silentOne.id);
      await silent.getByText('No signal').waitFor();
      for (const { id } of [first, silentOne]) await consent(id, false);
      for (const gone of [tile, silent]) await gone.getByText('No longer shown').waitFor({ timeout: 60_000 });
      expect(await tile.textContent()).not.toMatch(/\d+ ?%/);
      const shown = page.locator(`[data-person="${other.id}"]`);
      expect(await shown.getAttribute('class')).toBe('wall-tile');
      for (const { id } of [first, silentOne]) await consent(id, true);
      await expect.poll(() => tile.getAttribute('class'), { timeout: 60_000 }).toBe('wall-tile');
      await silent.getByText('No signal').waitFor({ timeout: 60_000 });
      expect(await shown.getAttribute('class')).toBe('wall-tile');
      expect(errors).toEqual([]);
    } finally {
      await requireConsents(wall, []);
    }
  });

  it('goes on by itself once its member has signed in again', async () => {
    const member = { email: 'night@example.org', password: 'a wall of the night shift' };
    await wall.send('POST', '/api/v1/members', { ...member, display_name: 'Night', role: 'viewer' });
    const { page, errors } = await wall.open(`/dashboard/#/wall?group=${group}`);
    onTestFinished(() => page.context().close());
    await page.getByLabel('E-mail').fill(member.email);
    await page.getByLabel('Password').fill(member.password);
    await page.keyboard.press('Enter');
    await expect.poll(() => liveTiles(page).count(), { timeout: 60_000 }).toBeGreaterThanOrEqual(5);
    const [cookie] = await page.context().cookies();
    const { baseUrl } = wall.service;
    const headers = { cookie: `${cookie!.name}=${cookie!.value}`, origin: baseUrl };
    expect((await fetch(`${baseUrl}/auth/session`, { method: 'DELETE', headers })).status).toBe(204);
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.waitFor();
    await expect.poll(() => liveTiles(page).count()).toBe(0);
    await again.getByLabel('Password').fill(member.password);
    await page.keyboard.press('Enter');
    await expect.poll(() => liveTiles(page).count(), { timeout: 60_000 }).toBeGreaterThanOrEqual(5);
    expect(errors).toEqual([]);
  });

  it('goes on without the other values while they cannot be read, says so, and keeps the one that is chosen', async () => {
    const { page, errors } = await wall.openWall('');
    let isAway = true;
    await page.route(/\/api\/v1\/methods/, (route) =>
      isAway ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503}' }) : route.continue(),
    );
    await page.goto(`${wall.service.baseUrl}/dashboard/#/wall?group=${group}&value=af_index`);
    await expect.poll(() => tiles(page).count()).toBe(6);
    const second = page.locator('.wall-second').first();
    expect(await second.getAttribute('title')).toContain('Respiratory rate');
    await page.getByRole('option', { name: 'could not be read from the service' }).waitFor({ state: 'attached' });
    await page.getByLabel('At most').selectOption('4');
    await expect.poll(() => tiles(page).count()).toBe(4);
    expect(page.url()).toContain('value=af_index&size=4');
    isAway = false;
    await expect.poll(() => second.getAttribute('title'), { timeout: 30_000 }).toMatch(/^Index of atrial fibrillation/);
    expect(errors.filter((error) => !error.includes('503'))).toEqual([]);
  });

  // promise: own-connection
  it('says within five seconds that its own connection is gone, with every value grey, and goes on when it is back', async () => {
    const proxy = await TcpProxy.start(Number(new URL(wall.service.baseUrl).port));
    try {
      const { page } = await wall.openWall('');
      await page.goto(`http://127.0.0.1:${proxy.port}/dashboard/#/wall?group=${group}`);
      await expect.poll(() => liveTiles(page).count(), { timeout: 60_000 }).toBeGreaterThanOrEqual(5);
      const startedMs = performance.now();
      proxy.mode = 'hole';
      await page.getByRole('status').filter({ hasText: 'No connection to the service' }).waitFor();
      expect(await liveTiles(page).count()).toBe(0);
      expect(performance.now() - startedMs).toBeLessThan(5000);
      expect(await page.locator('.wall-value:not(.old)').count()).toBe(0);
      await picture(page, 'wall-lost');
      // A refresh of the list fails later: the sentence about it must not take the place of the tiles.
      proxy.mode = 'refuse';
      await page.locator('.wall > .problem').waitFor({ timeout: 60_000 });
      await expect.poll(() => fits(page)).toBe(true);
      const heights = await page.locator('.wall-tile').evaluateAll((all) => all.map((tile) => tile.getBoundingClientRect().height));
      expect(Math.min(...heights)).toBeGreaterThan(100);
      await picture(page, 'wall-lost-list');
      proxy.mode = 'pass';
      await expect.poll(() => liveTiles(page).count(), { timeout: 60_000 }).toBeGreaterThanOrEqual(5);
    } finally {
      await proxy.close();
    }
  });
});
