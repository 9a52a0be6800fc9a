/** The words of a wall of 36 people: each is whole, or is said in full nearby, also on a phone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Page } from 'playwright-core';
import { TcpProxy } from '../../faults/lib/tcp-proxy.ts';
import { featureMethods } from '../../src/dsp/rows/methods.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { violations } from '../helpers/dashboard.ts';
import { fits, liveTiles, picture, startWall } from '../helpers/wall.ts';
import type { WallFixture } from '../helpers/wall.ts';

const PEOPLE = 36;

let wall: WallFixture;

beforeAll(async () => {
  if (chromiumPath !== null) wall = await startWall(PEOPLE);
});
afterAll(() => wall?.close());

/** Words and numbers of tiles and of the line below them that are cut, or that stand outside of their tile. */
function outside(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('.wall-tile :is(.wall-label, output, .unit, .wall-wait, .q), .wall-legend > span')]
      .filter((part) => getComputedStyle(part).clipPath === 'none')
      .filter((part) => {
        const room = (part.closest('.wall-tile') ?? part.closest('.wall')!).getBoundingClientRect();
        const { left, right, top, bottom } = part.getBoundingClientRect();
        return left < room.left || right > room.right || top < room.top || bottom > room.bottom || part.scrollWidth > part.clientWidth + 1;
      })
      .map((part) => `${part.className}: ${part.textContent}`),
  );
}

describe.skipIf(chromiumPath === null)('the words of the wall', () => {
  // promise: wall-names
  it.each([
    [
      'en',
      'Index of atrial fibrillation',
      'Burden of atrial fibrillation',
      /^within [2-8]\u00a0min$/,
      'shown when it is computed next',
      'no signal',
      'Supraventricular ectopic burden, 5\u00a0min',
      {
        rates: 'HR Heart rate from ECG · Pulse Pulse rate from PPG (/min)',
        breaths: 'Resp Respiratory rate · Respiratory rate from ECG · Respiratory rate from the pulse (/min)',
        heart: 'Heart rate from ECG',
        breath: 'Respiratory rate',
        short: { heart: 'HR', pulse: 'Pulse', breath: 'Resp' },
      },
    ],
    [
      'de',
      'Vorhofflimmer-Index',
      'Vorhofflimmer-Last',
      /^binnen [2-8]\u00a0min$/,
      'wird mit der nächsten Berechnung angezeigt',
      'kein Signal',
      'Anteil supraventrikulärer Extrasystolen, 5\u00a0min',
      {
        rates: 'HF Herzfrequenz aus EKG · Puls Pulsfrequenz aus PPG (/min)',
        breaths: 'Atmung Atemfrequenz · Atemfrequenz aus EKG · Atemfrequenz aus dem Puls (/min)',
        heart: 'Herzfrequenz aus EKG',
        breath: 'Atemfrequenz',
        short: { heart: 'HF', pulse: 'Puls', breath: 'Atmung' },
      },
    ],
  ])(
    'says in %s what its numbers are, in full, and when one comes that is not there yet',
    async (lang, index, burden, soon, when, none, extra, { rates, breaths, heart, breath, short: words }) => {
      const { page, errors } = await wall.openWall(`?lang=${lang}#/wall?value=af_burden_300s`);
      await expect.poll(() => liveTiles(page).count(), { timeout: 90_000 }).toBeGreaterThanOrEqual(PEOPLE - 4);
      const choice = page.locator('.wall-choices [name=value]');
      await expect.poll(() => choice.locator('option').count(), { timeout: 30_000 }).toBeGreaterThan(20);
      for (const [width, height] of [
        [1400, 900],
        [320, 640],
      ] as const) {
        await page.setViewportSize({ width, height });
        await choice.selectOption('af_burden_300s');
        const ofEcg = page.locator(`[data-person="${wall.people[2]!.id}"]`);
        const ofPpg = page.locator(`[data-person="${wall.people[1]!.id}"]`);
        // Of a person without ECG the number is a pulse rate: the line at the bottom has it, too.
        expect(await ofPpg.locator('.wall-heart .wall-label').textContent()).toBe(words.pulse);
        expect(await page.locator('.wall-legend .wall-heart').textContent()).toBe(rates);
        await expect.poll(() => ofEcg.locator('.wall-wait').textContent()).toMatch(soon);
        expect(await ofPpg.locator('.wall-wait').textContent()).toBe(none);
        expect(await ofEcg.getByRole('link').evaluate((link: HTMLElement) => link.innerText)).toContain(when);
        expect(await outside(page), `${width}`).toEqual([]);
        await picture(page, `wall-names-${lang}-${width}-burden`);
        for (const [value, name, short] of [
          ['hr_ecg', heart, words.heart],
          ['resp', breath, words.breath],
          ['hrv_rmssd_300s', 'HRV RMSSD, 5\u00a0min', 'RMSSD-5M'],
          ['supraventricular_burden_300s', extra, 'SV-BURDEN'],
          ['prv_rmssd_300s', 'PRV RMSSD, 5\u00a0min', 'PRV-RMSSD-5M'],
          ['af_burden_300s', burden, 'AF-BURDEN'],
          ['af_index', index, 'AF-INDEX'],
        ] as const) {
          await choice.selectOption(value);
          await expect.poll(() => ofEcg.locator('.wall-second .wall-label').textContent()).toBe(short);
          expect(await outside(page), `${width} ${value}`).toEqual([]);
          await expect.poll(() => page.getByRole('link', { name }).and(page.locator('.wall-tile a')).count()).toBe(PEOPLE);
          expect(await page.locator('.wall-legend .wall-second').textContent()).toContain(name);
          if (value === 'resp') {
            expect(await page.locator('.wall-legend .wall-second').textContent()).toBe(breaths);
            await picture(page, `wall-names-${lang}-${width}-resp`);
          }
          expect(await ofEcg.locator('.wall-second').getAttribute('title')).toContain(name);
          await expect.poll(() => fits(page), { message: `${width} ${value}` }).toBe(true);
        }
        await picture(page, `wall-names-${lang}-${width}`);
      }
      expect(await violations(page)).toEqual([]);
      expect(errors).toEqual([]);
    },
  );

  it('leaves the names whole when the connection is gone', async () => {
    const proxy = await TcpProxy.start(Number(new URL(wall.service.baseUrl).port));
    try {
      const { page } = await wall.openWall('');
      await page.setViewportSize({ width: 1360, height: 900 });
      await page.goto(`http://127.0.0.1:${proxy.port}/dashboard/#/wall`);
      await expect.poll(() => liveTiles(page).count(), { timeout: 90_000 }).toBeGreaterThanOrEqual(PEOPLE - 4);
      proxy.mode = 'hole';
      await page
        .locator('.wall-why', { hasText: 'No connection to the service' })
        .nth(PEOPLE - 6)
        .waitFor();
      for (const [width, height] of [
        [1360, 900],
        [390, 844],
      ] as const) {
        await page.setViewportSize({ width, height });
        await expect.poll(() => fits(page)).toBe(true);
        const cut = await page
          .locator('.wall-name')
          .evaluateAll((all) =>
            all.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map(({ textContent }) => textContent),
          );
        expect(cut, `${width}`).toEqual([]);
        await picture(page, `wall-lost-${width}`);
      }
    } finally {
      await proxy.close();
    }
  });

  it.each(['en', 'de'])('are whole on the live page of a phone with every value, in %s', async (lang) => {
    const all = featureMethods.map(({ feature }) => feature);
    const path = `?lang=${lang}#/users/${wall.people[0]!.id}?values=${all.join(',')}`;
    const { page } = await wall.openWall(path, { viewport: { width: 320, height: 640 } });
    await expect.poll(() => page.locator('.vitals .tile').count(), { timeout: 60_000 }).toBe(all.length);
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('.vitals .tile :is(h2, .foot)')]
        .filter((part) => part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight + 2)
        .map(({ textContent }) => textContent.trim()),
    );
    expect(cut).toEqual([]);
    await page.locator('.vitals').scrollIntoViewIfNeeded();
    await picture(page, `live-names-${lang}`);
  });
});
