/** The wall of a group: what is chosen, who falls silent, and a sensor that is off. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { fits, picture, startWall, tiles } from '../helpers/wall.ts';
import type { WallFixture } from '../helpers/wall.ts';
import type { WardPerson } from '../helpers/ward.ts';

let wall: WallFixture;
let group: string;

beforeAll(async () => {
  if (chromiumPath === null) return;
  wall = await startWall(14);
  group = await wall.groupOf('Ward 4', wall.people.slice(0, 6));
});
afterAll(() => wall?.close());

describe.skipIf(chromiumPath === null)('the wall of a group', () => {
  // promise: wall-silent
  it('shows a group, keeps what is chosen in the address, greys who falls silent, and opens a person', async () => {
    const { page, errors } = await wall.openWall(`#/wall?group=${group}`);
    await expect.poll(() => tiles(page).count()).toBe(6);
    await page.getByText('Grace Hopper').waitFor();
    await page.getByLabel('Second value').selectOption('pulse');
    await page.getByLabel('At most').selectOption('4');
    await expect.poll(() => tiles(page).count()).toBe(4);
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => tiles(page).count()).toBe(2);
    expect(page.url()).toContain(`group=${group}&value=pulse&size=4&part=2`);
    await page.reload();
    await expect.poll(() => tiles(page).count()).toBe(2);
    const last = wall.people[5]!.id;
    const tile = page.locator(`[data-person="${last}"]`);
    await expect.poll(() => tile.getAttribute('class'), { timeout: 30_000 }).toBe('wall-tile');
    wall.ward.silence(last);
    await expect.poll(() => tile.getAttribute('class'), { timeout: 10_000 }).toBe('wall-tile old');
    expect(await tile.textContent()).toContain('No signal');
    await picture(page, 'wall-group');
    await page.getByRole('button', { name: 'Full screen' }).click();
    await expect.poll(() => page.evaluate(() => document.fullscreenElement !== null)).toBe(true);
    await tile.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'bed-06' }).waitFor();
    expect(errors).toEqual([]);
  });

  // promise: unusable-hidden, marks-in-words, no-rate-of-a-flat-line
  it('shows no rate of a sensor that is off, from the moment that its trace is unusable, and a mark on every number', async () => {
    const [ecg, both] = [wall.people[8]!, wall.people[9]!]; // ECG alone; ECG, PPG and breathing
    const room = await wall.groupOf('Room 2', [ecg, both]);
    const { page, errors } = await wall.openWall(`#/wall?group=${room}&value=pulse`, { viewport: { width: 800, height: 600 } });
    const of = (person: WardPerson, part: string) => page.locator(`[data-person="${person.id}"] ${part}`);
    for (const value of [of(ecg, '.wall-heart'), of(both, '.wall-heart'), of(both, '.wall-second')]) {
      await expect.poll(() => value.locator('output').textContent(), { timeout: 90_000 }).toMatch(/^\d+$/);
      expect(await value.locator('.q').textContent()).toMatch(/^(Good|Suspect)$/);
      expect(await value.locator('.q svg').isVisible()).toBe(true);
    }
    await picture(page, 'wall-marks');
    try {
      for (const { id } of [ecg, both]) wall.ward.takeOff(id);
      const seen = await page.evaluate(async () => {
        const found: string[] = [];
        const unusable = new Set<string>();
        // A rate is of eight seconds, and stays for five: no number until well after both.
        let endMs = performance.now() + 60_000;
        for (let isBoth = false; performance.now() < endMs;) {
          if (!isBoth && unusable.size === 2) endMs = performance.now() + 15_000;
          isBoth = unusable.size === 2;
          for (const tile of document.querySelectorAll<HTMLElement>('.wall-tile:not(.old)')) {
            if (tile.querySelector('.wall-state .q2') === null) continue;
            unusable.add(tile.dataset['person']!);
            found.push(tile.querySelector('.wall-heart')!.textContent.replaceAll(/\s+/g, ' ').trim());
          }
          await new Promise(requestAnimationFrame);
        }
        return { unusable: unusable.size, rates: [...new Set(found)].filter((text) => /\d/.test(text)) };
      });
      expect(seen).toEqual({ unusable: 2, rates: [] });
      await expect.poll(() => of(both, '.wall-second output').textContent()).toBe('--');
      expect(await of(ecg, '.wall-heart .q').textContent()).toBe('Unusable');
      await picture(page, 'wall-off');
    } finally {
      for (const { id } of [ecg, both]) wall.ward.takeOff(id, false);
    }
    await expect.poll(() => of(ecg, '.wall-heart output').textContent(), { timeout: 60_000 }).toMatch(/^\d+$/);
    expect(errors).toEqual([]);
  }, 240_000);

  it('says heart rate in the language of the page', async () => {
    const { page } = await wall.openWall('?lang=de');
    await page.goto(`${wall.service.baseUrl}/dashboard/?lang=de#/wall?group=${group}`);
    await page.locator('.wall-heart .wall-label', { hasText: /^HF$/ }).first().waitFor();
    expect(await page.locator('.wall-heart .wall-label', { hasText: /^HR$/ }).count()).toBe(0);
  });

  // promise: wall-order
  it('begins with those who send, and leaves who falls silent in their place', async () => {
    const [first, second, ...others] = wall.people.slice(8, 14).map(({ id }) => id);
    const room = await wall.groupOf('Room 3', wall.people.slice(8, 14));
    const isFlowing = async (person: string): Promise<boolean | undefined> => {
      const devices = await wall.send<{ xuser_id: string | null; is_flowing: boolean }[]>('GET', '/api/v1/devices?limit=1000');
      return devices.find(({ xuser_id: id }) => id === person)?.is_flowing;
    };
    const falls = { timeout: 120_000, interval: 1000 };
    wall.ward.silence(first!);
    await expect.poll(() => isFlowing(first!), falls).toBe(false);
    const { page } = await wall.openWall(`#/wall?group=${room}&size=4`);
    const shown = () => tiles(page).evaluateAll((all) => all.map((tile) => (tile as HTMLElement).dataset['person']));
    const sending = [second, ...others.slice(0, 3)];
    await expect.poll(shown).toEqual(sending);
    wall.ward.silence(second!);
    await expect.poll(() => page.locator(`[data-person="${second}"]`).getAttribute('class'), { timeout: 30_000 }).toBe('wall-tile old');
    await expect.poll(() => isFlowing(second!), falls).toBe(false);
    // The page draws an answer before it asks for the next one: when the third is asked for, two that have them silent are drawn.
    for (let asked = 0; asked < 3; asked++) {
      const listed = await page.waitForRequest(/\/api\/v1\/devices/, { timeout: 30_000 });
      expect((await listed.response())?.ok()).toBe(true);
      expect(await shown()).toEqual(sending);
    }
    await page.getByRole('button', { name: 'Next' }).click();
    await expect.poll(shown).toEqual([others[3], first]);
  }, 240_000);

  // promise: live-any-value
  it('shows any computed value as the second one, by name and unit, and no number where there is none', async () => {
    const { page, errors } = await wall.openWall(`#/wall?group=${group}&size=4`);
    await expect.poll(() => tiles(page).count()).toBe(4);
    const choice = page.getByLabel('Second value');
    await expect.poll(() => choice.locator('option').count(), { timeout: 30_000 }).toBeGreaterThan(20);
    const offered = await choice
      .locator('option')
      .evaluateAll((all) => all.map((one) => [(one as HTMLOptionElement).value, one.textContent!.trim()]));
    // resp_rate stands for the three rates of breathing
    expect(offered).toHaveLength(featureMethods.length - 2);
    const second = page.locator('.wall-second').first();
    for (const [value, name] of offered as [string, string][]) {
      expect([value, name]).toEqual([value, expect.stringMatching(/^[^_]{3,}$/)]);
      await choice.selectOption(value);
      // of breathing, with what it is computed from
      await expect.poll(() => second.getAttribute('title')).toContain(name);
      expect([value, await second.locator('.wall-label').textContent()]).toEqual([value, expect.stringMatching(/^[^_]{2,}$/)]);
      expect([value, await second.locator('output').textContent()]).toEqual([value, expect.stringMatching(/^(--|-?[\d.,]+|yes|no)$/)]);
      expect([value, await fits(page)]).toEqual([value, true]);
    }
    for (const value of ['longest_rr_10s', 'sqi_ecg', 'af_index']) {
      await choice.selectOption(value);
      await expect
        .poll(async () => (await page.locator('.wall-second output').allTextContents()).some((text) => /^\d/.test(text)), {
          timeout: 90_000,
        })
        .toBe(true);
      await picture(page, `wall-${value}`);
    }
    await page.reload();
    await expect.poll(() => second.getAttribute('title'), { timeout: 30_000 }).toMatch(/^Index of atrial fibrillation/);
    expect(await second.locator('.wall-label').textContent()).toBe('AF-INDEX'); // as the catalog has it
    expect(errors).toEqual([]);
  });
});
