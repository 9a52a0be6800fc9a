/** A wall with the whole service and people whose simulated devices stream into it. */
import type { Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { SimulatedChannel } from '../../src/cli/simulator/device.ts';
import { startDashboard } from './dashboard.ts';
import type { DashboardFixture, Opened } from './dashboard.ts';
import { startWard } from './ward.ts';
import type { Ward, WardPerson } from './ward.ts';

const kinds: readonly (readonly SimulatedChannel[])[] = [['ecg.ii'], ['ecg.ii', 'ppg.ir', 'resp'], ['ppg.ir']];

export type WallFixture = DashboardFixture &
  Readonly<{
    ward: Ward;
    /** bed-01 and so on: the first is of ECG, PPG and breathing, the second of PPG, the third of ECG, and again. */
    people: readonly WardPerson[];
    /** Makes a group of them. @returns its id */
    groupOf: (name: string, members: readonly WardPerson[]) => Promise<string>;
    /** As a member who is signed in, until the test ends: a wall that goes on slows the next one. @param path behind /dashboard/ */
    openWall: (path: string, options?: Parameters<DashboardFixture['open']>[1]) => Promise<Opened>;
  }>;

export async function startWall(count: number): Promise<WallFixture> {
  const dashboard = await startDashboard();
  const { send, service } = dashboard;
  const [project] = await send<{ id: string; project_key: string }[]>('GET', '/api/v1/projects');
  const people: WardPerson[] = [];
  for (let i = 1; i <= count; i++) {
    const name = i === 3 ? { display_name: 'Grace Hopper' } : {};
    const body = { external_id: `bed-${String(i).padStart(2, '0')}`, project_key: project!.project_key, ...name };
    const { xuser_id: id } = await send<{ xuser_id: string }>('POST', '/api/v1/xusers', body);
    people.push({ id, channels: kinds[i % 3]!, batteryPercent: i === 2 ? 12 : 80 });
  }
  const ward = await startWard(service.baseUrl, service.firstKey!, people);
  return {
    ...dashboard,
    ward,
    people,
    groupOf: async (name, members) => {
      const { id: room } = await send<{ id: string }>('POST', `/api/v1/projects/${project!.id}/groups`, { name });
      for (const { id } of members) {
        const address = `${service.baseUrl}/api/v1/projects/${project!.id}/groups/${room}/members/${id}`;
        const put = await fetch(address, { method: 'PUT', headers: { authorization: `Bearer ${service.firstKey}` } });
        if (!put.ok) throw new Error(`${address}: ${put.status}`);
      }
      return room;
    },
    openWall: async (path, options = {}) => {
      const opened = await dashboard.open(`/dashboard/${path}`, { storageState: dashboard.signedIn, ...options });
      onTestFinished(() => opened.page.context().close());
      return opened;
    },
    close: async () => {
      ward.stop();
      await dashboard.close();
    },
  };
}

export const tiles = (page: Page) => page.locator('.wall-tile');
export const liveTiles = (page: Page) => page.locator('.wall-tile:not(.old)');

/** For people who want to look: BIO_TEST_PICTURES names a folder. */
export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
}

/** Whether everything of the wall is within the screen. */
export function fits(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const inside = (element: Element): boolean => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      return left >= -0.5 && top >= -0.5 && right <= innerWidth + 0.5 && bottom <= innerHeight + 0.5;
    };
    const { scrollHeight, scrollWidth } = document.documentElement;
    const ofItsTile = (device: Element): boolean => {
      const tile = device.closest('.wall-tile')!.getBoundingClientRect();
      const { left, top, right, bottom } = device.getBoundingClientRect();
      return left >= tile.left && top >= tile.top && right <= tile.right && bottom <= tile.bottom;
    };
    if (![...document.querySelectorAll('.wall-device')].every(ofItsTile)) return false;
    const all = [...document.querySelectorAll('.wall-tile, .wall-heart output, .wall-second output, .wall-name, .notice')];
    return all.length > 3 && all.every(inside) && scrollHeight <= innerHeight && scrollWidth <= innerWidth;
  });
}
