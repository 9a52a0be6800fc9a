/** Languages of the widgets in a real Chromium: each widget speaks one of them as a whole. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildWeb } from '../../scripts/build-web.ts';
import { shippedQuestionnaires } from '../../src/records/shipped-questionnaires.ts';
import { fixtureToken, startFixture } from '../helpers/browser-fixture.ts';
import type { Fixture } from '../helpers/browser-fixture.ts';
import { chromiumPath, launchChromium } from '../helpers/chromium.ts';
import { serveWidgetAnswers, widgetPage, widgetTags } from '../helpers/widget-answers.ts';
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
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  await fixture?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

beforeEach(() => {
  if (fixture !== undefined) serveWidgetAnswers(fixture, state);
});

async function open(lang: string, options: BrowserContextOptions = {}, body?: string): Promise<Page> {
  const attributes = `sdk-key="sdk_x" xuser-token="${fixtureToken()}"`;
  const page = widgetPage({ origin: fixture.origin, attributes, lang, ...(body === undefined ? {} : { body }) });
  fixture.on('GET', '/page', { html: page.replace(' lang=""', '') });
  const opened = await (await browser.newContext(options)).newPage();
  await opened.goto(`${fixture.origin}/page`);
  return opened;
}

/** What stands on the screen, of every widget. */
const shown = (page: Page): Promise<string> =>
  page.evaluate((tags) => tags.map((tag) => document.querySelector(tag)?.shadowRoot?.textContent ?? '').join('\n'), [...widgetTags]);
const settled = (page: Page): Promise<boolean> =>
  page.evaluate(
    (tags) => tags.every((tag) => (document.querySelector<HTMLElement>(tag)?.dataset['state'] ?? 'ready') === 'ready'),
    [...widgetTags],
  );

describe.skipIf(chromiumPath === null)('languages', () => {
  it('falls back to English as a whole where a language does not ship: no Arabic ages in English sentences', async () => {
    const page = await open('ar', { locale: 'ar-EG' });
    await expect.poll(() => settled(page)).toBe(true);
    const text = await shown(page);
    expect(text).toMatch(/\d minutes ago/);
    expect(text).not.toMatch(/[\u0600-\u06ff]/);
    expect(await page.locator('bio-trend-card section').getAttribute('lang')).toMatch(/^en/);
    await page.context().close();
  });

  it('speaks German to the end: catalog names and ages as well as sentences, on a page that names no language', async () => {
    fixture.on('GET', /\/biosignals$/, {
      json: [
        { id: 1, name: 'Heart rate from ECG', abbreviation: 'HR', unit: '/min', loinc_code: '8867-4', signal_type: 'scalar' },
        { id: 2, name: 'Steps', abbreviation: 'STEPS', unit: '{steps}', loinc_code: '55423-8', signal_type: 'scalar' },
      ],
    });
    const page = await open(
      '',
      { locale: 'de-DE' },
      '<bio-trend-card biosignals="HR"></bio-trend-card><bio-trend-chart></bio-trend-chart>',
    );
    await expect.poll(() => settled(page)).toBe(true);
    expect(await page.locator('bio-trend-card h2').textContent()).toBe('Herzfrequenz aus EKG');
    const text = await shown(page);
    expect(text).toMatch(/vor \d+ (Sekunden|Minuten?)/);
    expect(text).toMatch(/\d\d\.\d\d\.\d{4}, \d\d:\d\d/);
    expect(text).not.toMatch(/Heart rate|ago|\b[AP]M\b/);
    await page.context().close();
  });

  const spoken = [
    { language: 'German', lang: 'de', hours: 'Stunden Schlaf', send: 'Senden', severity: 'mittelschwer' },
    { language: 'French', lang: 'fr', hours: 'Heures de sommeil', send: 'Envoyer', severity: 'modérément sévère' },
    { language: 'Spanish', lang: 'es', hours: 'Horas de sueño', send: 'Enviar', severity: 'moderadamente grave' },
  ];
  const asked = spoken.flatMap((one) => ['phq-9', 'gad-7', 'who-5', 'daily-checkin'].map((code) => ({ ...one, code })));
  it.each(asked)(
    'asks $code in $language; what is sent keeps the words of the questionnaire',
    async ({ code, lang, hours, send, severity }) => {
      const { text, version } = shippedQuestionnaires.find((item) => item.code === code)!;
      fixture.on('GET', /\/questionnaires\//, { json: { resourceType: 'Questionnaire', id: code, version: String(version), ...text } });
      let sent: { item: { text: string; answer: { valueCoding?: { display: string } }[] }[] } | null = null;
      fixture.on('POST', '/api/v1/questionnaire-responses', (request) => {
        sent = request.body as typeof sent;
        return { status: 201, json: { id: 'r1', scores: [{ name: text.title, value: 3, text: 'moderately severe' }], safety: false } };
      });
      const page = await open(lang, {}, `<bio-checkin questionnaire="${code}" show-score></bio-checkin>`);
      const form = page.locator('bio-checkin form');
      await form.waitFor();
      const words = text.item.flatMap((item) => [item.text!, ...(item.answerOption ?? []).map((option) => option.valueCoding!.display!)]);
      const translated = await form.evaluate((element) => element.textContent);
      for (const word of words) expect(translated).not.toContain(word);
      for (const set of await form.locator('fieldset').all()) await set.getByRole('radio').last().check();
      if (code === 'daily-checkin') await form.getByLabel(hours).fill('7');
      await form.getByRole('button', { name: send }).click();
      await expect.poll(() => sent).not.toBeNull();
      expect(sent!.item.every((item) => words.includes(item.text))).toBe(true);
      expect(
        sent!.item
          .flatMap((item) => item.answer.map((answer) => answer.valueCoding?.display ?? words[0]))
          .every((word) => words.includes(word!)),
      ).toBe(true);
      await page.getByText(severity).waitFor();
      await page.context().close();
    },
  );

  it.each([
    ['fr', 'fr-CA', 'Fréquence cardiaque (ECG)', /il y a \d+ (seconde|minute)/],
    ['es', 'es-MX', 'Frecuencia cardiaca (ECG)', /hace \d+ (segundo|minuto)/],
  ])('speaks %s to the end, in the way of the region of the browser: %s', async (_lang, locale, name, age) => {
    fixture.on('GET', /\/biosignals$/, {
      json: [{ id: 1, name: 'Heart rate from ECG', abbreviation: 'HR', unit: '/min', loinc_code: '8867-4', signal_type: 'scalar' }],
    });
    const page = await open('', { locale }, '<bio-trend-card biosignals="HR"></bio-trend-card><bio-trend-chart></bio-trend-chart>');
    await expect.poll(() => settled(page)).toBe(true);
    expect(await page.locator('bio-trend-card h2').textContent()).toBe(name);
    const text = await shown(page);
    expect(text).toMatch(age);
    expect(text).not.toMatch(/Heart rate|ago|Latest/);
    await page.context().close();
  });

  it('leaves a questionnaire that was changed as it was written: never half a translation', async () => {
    const { text } = shippedQuestionnaires.find((item) => item.code === 'phq-9')!;
    const changed = { ...text, item: text.item.map((item, i) => (i === 3 ? { ...item, text: 'Feeling tired after lunch' } : item)) };
    fixture.on('GET', /\/questionnaires\//, { json: { resourceType: 'Questionnaire', id: 'own', version: '1', ...changed } });
    const page = await open('de', {}, '<bio-checkin questionnaire="own"></bio-checkin>');
    await page.locator('bio-checkin form').waitFor();
    const words = await page.locator('bio-checkin form').evaluate((element) => element.textContent);
    expect(words).toContain('Little interest or pleasure');
    expect(words).not.toContain('An einzelnen Tagen');
    await page.context().close();
  });

  it('speaks English, not a mixture, when the language cannot be fetched', async () => {
    fixture.on('GET', /^\/cdn\/v1\/lang\//, { status: 503, json: {} });
    const page = await open('de', {}, '<bio-trend-card biosignals="HR"></bio-trend-card>');
    await expect.poll(() => settled(page)).toBe(true);
    await expect.poll(() => shown(page)).toMatch(/minutes? ago|seconds? ago|now/);
    expect(await shown(page)).not.toMatch(/vor \d/);
    await page.context().close();
  });

  it('keeps other languages out of the script', async () => {
    const script = await readFile(join(folder, 'cdn/v1/bio-widgets.js'), 'utf8');
    for (const word of ['Herzfrequenz', 'Fréquence', 'Frecuencia']) expect(script).not.toContain(word);
    expect(script).not.toMatch(/[\u4e00-\u9fff]/);
  });
});
