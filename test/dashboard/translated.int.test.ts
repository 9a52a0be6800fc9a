/** The dashboard in other languages, in a real Chromium on the whole service: nothing on its pages stays English, every language has room,
 *  and a page that is read from right to left is laid out so. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { languages } from '../../dashboard/language.ts';
import type { Translation, Translations } from '../../dashboard/language.ts';
import type { Language } from '../../widgets/shared/strings.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { until } from '../helpers/until.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';

let dashboard: DashboardFixture;
let addresses: readonly string[];

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  addresses = await addressesOf(dashboard);
});

afterAll(() => dashboard?.close());

type Demo = Readonly<{ xuser_id: string; xuser_token: string }>;
type Asked = Readonly<{ item: readonly Readonly<{ linkId: string; answerOption: readonly object[] }>[] }>;

const sections = ['overview', 'wall', 'users', 'devices', 'quality', 'episodes', 'rules', 'groups', 'audit', 'nowhere'];

/** Every page, with something on it. */
async function addressesOf({ send, service }: DashboardFixture): Promise<string[]> {
  const [project] = await send<{ id: string }[]>('GET', '/api/v1/projects');
  const of = `/api/v1/projects/${project!.id}`;
  const { id: group } = await send<{ id: string }>('POST', `${of}/groups`, { name: 'G-1' });
  const bound = { comparison: 'above', threshold: 120, sustain_sec: 60 };
  await send('POST', `${of}/rules`, { name: 'R-1', feature: 'hr_ecg', group_id: group, ...bound });
  const post = async <T>(path: string, credential: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' };
    const answer = await fetch(service.baseUrl + path, { method: 'POST', headers, ...(body && { body: JSON.stringify(body) }) });
    expect(answer.ok, `${path}: ${answer.status}`).toBe(true);
    return (await answer.json()) as T;
  };
  const { xuser_id: person, xuser_token: token } = await post<Demo>('/demo/session', service.demoSecret ?? '');
  const { item: questions } = await send<Asked>('GET', `/api/v1/questionnaires/who-5?project_id=${project!.id}`);
  const item = questions.map(({ linkId, answerOption }) => ({ linkId, answer: [answerOption[0]!] }));
  const response = { resourceType: 'QuestionnaireResponse', status: 'completed', questionnaire: 'who-5', item };
  await post('/api/v1/questionnaire-responses', token, response);
  await post('/api/v1/moods', token, { score: 4 });
  const started = new Date().toISOString();
  await send('POST', '/api/v1/tasks', { subject_id: person, title: 'T-1', due: started });
  const episode = { subject_id: person, kind: 'manual', title: 'E-1', severity: 'high', started_at: started };
  const { id: episodeId } = await send<{ id: string }>('POST', '/api/v1/episodes', episode);
  const streams = (): Promise<readonly { id: string; channels: readonly object[] }[]> =>
    send('GET', `/api/v1/streams?subject_id=${person}`);
  await until(async () => ((await streams())[0]?.channels.length ?? 0) > 0);
  return [
    ...sections,
    ...['keys', 'projects', 'questionnaires', 'biosignals', 'devices', 'webhooks', 'members'].map((name) => `settings/${name}`),
    `settings/questionnaires/${project!.id}/pain-diary`, // not written yet: the texts of one that ships are edited as they are
    `users/${person}`,
    `users/${person}/report`,
    `users/${person}/recordings`,
    `episodes/${episodeId}`,
    `recordings/${(await streams())[0]!.id}`,
  ];
}

async function opened(language: string, options: BrowserContextOptions = {}): Promise<{ page: Page; errors: string[] }> {
  const { page, errors } = await dashboard.open('/dashboard/', { storageState: dashboard.signedIn, locale: language, ...options });
  await page.locator('nav').waitFor({ state: 'attached' });
  return { page, errors };
}

async function goTo(page: Page, address: string): Promise<void> {
  await page.evaluate((hash) => (location.hash = hash), `#/${address}`);
  // The page of the last address goes before this one is drawn.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await page.locator(':is(main, .wall) h1').first().waitFor();
  await expect.poll(() => page.locator('.skeletons').count(), { timeout: 40_000, message: address }).toBe(0);
}

const [BEGIN, END] = ['⟦', '⟧'] as const;
const bracketed = (text: string): string => BEGIN + text + END;

function marked(translation: Translation): Translation {
  if (typeof translation === 'string') return bracketed(translation);
  return { one: bracketed(translation.one ?? translation.other), other: bracketed(translation.other) };
}

const each = <T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));

/** A German in which everything that was translated stands between brackets. */
async function markEverything(page: Page): Promise<void> {
  await page.route('**/dashboard/lang/de.json', async (route) => {
    const texts = (await (await route.fetch()).json()) as Translations;
    await route.fulfill({ json: each(texts, marked) });
  });
  await page.route('**/cdn/v1/lang/de.json', async (route) => {
    const { texts, phrases } = (await (await route.fetch()).json()) as Language;
    await route.fulfill({ json: { texts: each(texts, bracketed), phrases: each(phrases, bracketed) } });
  });
}

/** Words on the page, and in what is read aloud, that do not stand between brackets; the shadow trees of widgets, too. Code, times and what
 *  says its language itself are no words of the page. */
function unmarked(page: Page): Promise<string[]> {
  return page.evaluate(
    ([begin, end]) => {
      const skipped =
        'script, style, noscript, noscript *, code, pre, time, textarea, datalist *, canvas, [lang]:not(html), .brand *, .name *, .name';
      const spoken = ['aria-label', 'aria-valuetext', 'aria-description', 'placeholder', 'title', 'alt', 'data-name'];
      const innermost = new RegExp(`${begin}[^${begin}${end}]*${end}`);
      const found = new Set<string>();
      const look = (text: string): void => {
        let rest = text.replaceAll(/\s+/g, ' ');
        while (innermost.test(rest)) rest = rest.replace(innermost, ' ');
        if (/\p{L}{2}/u.test(rest)) found.add(rest.trim());
      };
      const walk = (root: ParentNode): void => {
        for (const element of root.querySelectorAll('body *')) lookAt(element);
        if (root instanceof ShadowRoot) for (const element of root.querySelectorAll('*')) lookAt(element);
      };
      const lookAt = (element: Element): void => {
        if (element.matches(skipped)) return;
        if (element.shadowRoot !== null) walk(element.shadowRoot);
        const own = [...element.childNodes].flatMap((node) => (node.nodeType === Node.TEXT_NODE ? [node.textContent ?? ''] : []));
        // A sentence with markup in it is in pieces.
        const isCut = own.some((text) => text.split(begin).length !== text.split(end).length);
        look(isCut ? (element.textContent ?? '') : own.join(' '));
        for (const name of spoken) look(element.getAttribute(name) ?? '');
      };
      walk(document);
      return [...found];
    },
    [BEGIN, END] as const,
  );
}

/** What people named, what devices and the service call things, abbreviations, units, and what Intl writes. */
const data = [
  /derived:\S+(?: \w+)*/g, // where a line may break
  /\S+@\S+|https?:\S+|sdk_\w+/g,
  /(?:…|\b)[0-9a-f]{8}(?:-[0-9a-f-]{27})?\b/g,
  /demo-pa\w+|demo device \(this run\)|first key|simulator-?\d?|\b(?:Demo|Ada|UTC)\b|\bwrist\b|\bfinger\b/g,
  /\b[a-z]+(?:_[a-z]+)*[.:][a-z]\w*(?:\.\w+)*\b|\b(?:create|resolve|list|get|put)[A-Z]\w+/g, // codes, actions, operations
  /\b[A-Z][A-Z\d-]+(?:\/[A-Z\d]+)?\b|\b(?:SpO|pNN)\S*/g,
  /\b(?:ecg|ppg|eda|temp|acc|biosignal|grip_strength|acme-patch-\d|pain-diary|daily-checkin)\b/g,
  /\b(?:mV|mm|ms|min|Hz|deg|mmHg|mg|dL|kg|cm|ppm)\b|µS|°C/g,
  /\b\d+ (?:Std|Tg|Min|Sek)\.|\b(?:und|Nov|Dez)\b/g,
  /\d{1,2}\. \p{L}+\.? \d{4}/gu,
];
const isData = (text: string): boolean => !/\p{L}{2}/u.test(data.reduce((rest, pattern) => rest.replaceAll(pattern, ' '), text));

describe.skipIf(chromiumPath === null)('the dashboard in other languages', () => {
  // promise: dashboard-languages
  it('has nothing left in English on any page', async () => {
    const { page, errors } = await opened('de-DE');
    await markEverything(page);
    await page.reload();
    await page.locator('nav').waitFor();
    for (const address of addresses) {
      await goTo(page, address);
      // Every detail of the service has words; what has none says that it is English, and is skipped below.
      if (address === 'overview') expect(await page.locator('main .rows [lang=en]').allTextContents()).toEqual([]);
      const left = async (): Promise<string[]> => (await unmarked(page)).filter((text) => !isData(text));
      await expect.poll(left, { timeout: 10_000, message: address }).toEqual([]);
      await inEachDialog(page, async (name) => {
        await expect.poll(left, { timeout: 10_000, message: `${address}, ${name}` }).toEqual([]);
      });
    }
    // The live page is a page of its own, without an account.
    await page.goto(`${dashboard.service.baseUrl}/dashboard/live#demo=${dashboard.service.demoSecret}`);
    await page.locator('.link.live').waitFor({ timeout: 20_000 });
    await expect
      .poll(async () => (await unmarked(page)).filter((text) => !isData(text)), { timeout: 10_000, message: 'live page' })
      .toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // English is looked at in test/dashboard/pages.int.test.ts.
  it.each(Object.keys(languages).filter((name) => name !== 'en'))(
    'has room for it on a desk and on a phone, and no axe violation in the dark, in dialogs either: %s',
    async (language) => {
      const { page, errors } = await opened(language, { colorScheme: 'dark' }); // the light is looked at in English
      expect(await page.evaluate(() => document.documentElement.lang)).toBe(language);
      for (const address of addresses) {
        await page.setViewportSize({ width: 1280, height: 900 });
        await goTo(page, address);
        await expectRoom(page, `${address} at a desk`);
        await page.setViewportSize({ width: 390, height: 844 });
        await expectRoom(page, `${address} on a phone`);
        expect(await violations(page), address).toEqual([]);
        await picture(page, `${language}-${address.replaceAll('/', '-').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id')}`);
        await inEachDialog(page, async (name) => {
          expect(await violations(page, 'dialog'), `${address}, ${name}`).toEqual([]);
        });
      }
      await page.goto(`${dashboard.service.baseUrl}/dashboard/live#demo=${dashboard.service.demoSecret}`);
      await page.locator('.link.live').waitFor({ timeout: 20_000 });
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 });
        await expectRoom(page, `live page, ${width} px`);
      }
      expect(await violations(page)).toEqual([]);
      expect(errors).toEqual([]);
      await page.context().close();
    },
  );

  it('is laid out from right to left where the page says so, with English where a language has no texts', async () => {
    const { page } = await opened('ar');
    expect(await page.evaluate(() => document.documentElement.lang)).toBe('en');
    await page.evaluate(() => (document.documentElement.dir = 'rtl'));
    for (const address of addresses) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await goTo(page, address);
      await expectRoom(page, `${address} at a desk`);
      if (address !== 'wall') {
        const [sections, main] = await Promise.all([page.locator('nav').boundingBox(), page.locator('main').boundingBox()]);
        expect(sections!.x, address).toBeGreaterThan(main!.x + main!.width - 2);
      }
      await page.setViewportSize({ width: 390, height: 844 });
      await expectRoom(page, `${address} on a phone`);
    }
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('keeps the language that a person chooses, for dates and failures as well', async () => {
    const { page } = await opened('en-GB');
    await page.getByLabel('Language').selectOption('Français');
    await page.getByRole('heading', { level: 1, name: 'Vue d’ensemble' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Vue d’ensemble' }).waitFor();
    // An address that names a language counts, until another is chosen.
    await page.goto(`${dashboard.service.baseUrl}/dashboard/?lang=de`);
    await page.getByLabel('Sprache').selectOption('Français');
    await page.getByRole('heading', { level: 1, name: 'Vue d’ensemble' }).waitFor();
    await goTo(page, `episodes/${crypto.randomUUID()}`);
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/^\s*Introuvable, ou non visible pour vous\. \(.+\)/);
    // Of a session that has ended nothing is left in English.
    const kept = await page.context().cookies();
    await page.context().clearCookies();
    await goTo(page, 'devices');
    await expect
      .poll(() => page.locator('main [role=alert]').textContent())
      .toMatch(/^\s*Cette adresse exige une authentification\.(?! \()/);
    await page.context().addCookies(kept);
    await page.reload();
    await goTo(page, 'settings/projects');
    await page.getByText('Durée, jours').or(page.getByText('Échantillons, jours')).waitFor();
    await page.context().close();
  });

  // promise: dashboard-languages
  it('is chosen on the live page as well, and goes before what the address asks for', async () => {
    const { page } = await dashboard.open(`/dashboard/live?lang=de#demo=${dashboard.service.demoSecret}`, { locale: 'en-GB' });
    await page.getByRole('heading', { level: 1, name: 'Live-Monitor' }).waitFor();
    // What is chosen is put into the address, next to its language.
    await page.getByLabel('Vorschub').selectOption({ index: 0 });
    expect(page.url()).toMatch(/\?lang=de&speed=12\.5#/);
    await page.getByLabel('Sprache').selectOption('Français');
    await page.locator('footer.notice', { hasText: 'Aucune alarme.' }).waitFor();
    await page.locator('.link.live').waitFor({ timeout: 20_000 });
    await page.context().close();
  });
});

/** Opens every dialog of a page that its main part has a button for, each name once. */
async function inEachDialog(page: Page, look: (name: string) => Promise<void>): Promise<void> {
  const buttons = page.locator('main [aria-haspopup=dialog]:enabled');
  const names = new Set((await buttons.allTextContents()).map((name) => name.trim()));
  for (const name of names) {
    const button = buttons.filter({ hasText: name }).first();
    if (!(await button.isVisible())) continue;
    await button.click();
    const dialog = page.locator('dialog[open]');
    await dialog.waitFor();
    await look(name);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}

async function expectRoom(page: Page, where: string): Promise<void> {
  // Charts follow a window that becomes narrower in the next frame.
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth - innerWidth), { message: where })
    .toBeLessThanOrEqual(0);
  expect(await cut(page), where).toEqual([]);
}

/** Tables and figures with more than fits, and a header of two lines; those of the live page on a phone are as high as one. */
const cut = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const isCut = (element: Element): boolean => element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1;
    const parts = [...document.querySelectorAll('main :is(.scroll, .figure, .figure dt, .figure dd)')].filter(isCut);
    const header = document.querySelector('header.top')?.getBoundingClientRect().height ?? 0;
    const texts = parts.map(({ className, textContent }) => `${className}: ${textContent.trim().slice(0, 60)}`);
    return header > 70 ? [...texts, `header of ${header} px`] : texts;
  });
