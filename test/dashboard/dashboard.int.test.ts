/** Changes that operators make in the dashboard, in a real Chromium on the whole service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { email, signIn, startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';

let dashboard: DashboardFixture;
let open: DashboardFixture['open'];
let signedIn: DashboardFixture['signedIn'];

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  ({ open, signedIn } = dashboard);
});

afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('the dashboard', () => {
  it('refuses a wrong password', async () => {
    const { page } = await open('/dashboard/');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill('not this one, surely');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('creates, rotates and revokes a key; the secret is shown once', async () => {
    const { page, errors } = await open('/dashboard/#/settings/keys', { storageState: signedIn });
    await page.getByRole('textbox', { name: 'Name' }).fill('clinic backend');
    await page.getByLabel('Write').check();
    await page.getByRole('button', { name: 'Create key' }).click();
    const secret = (await page.locator('.secret code').textContent()) ?? '';
    const uses = (key: string): Promise<number> =>
      fetch(`${dashboard.service.baseUrl}/api/v1/projects`, { headers: { authorization: `Bearer ${key}` } }).then(
        (answer) => answer.status,
      );
    expect(await uses(secret)).toBe(200);
    expect(await violations(page)).toEqual([]);

    await page.getByRole('button', { name: 'I have stored it' }).click();
    await expect.poll(() => page.evaluate((text) => document.documentElement.outerHTML.includes(text), secret)).toBe(false);

    await page.getByRole('button', { name: 'Rotate clinic backend' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await expect.poll(() => page.locator('.secret code').textContent()).not.toBe(secret);
    const next = (await page.locator('.secret code').textContent()) ?? '';
    expect([await uses(secret), await uses(next)]).toEqual([200, 200]);

    await page.getByRole('button', { name: 'Revoke clinic backend' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('This cannot be undone').waitFor();
    const { x, width } = (await dialog.getByRole('button', { name: 'Revoke' }).boundingBox())!;
    expect(x >= 0 && x + width <= 1280).toBe(true);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.count()).toBe(0);
    expect(await uses(next)).toBe(200);
    await page.getByRole('button', { name: 'Revoke clinic backend' }).first().click();
    await dialog.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.locator('.state.revoked').waitFor();
    await expect.poll(() => uses(next), { timeout: 3000 }).toBe(401);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('publishes a questionnaire with rules, after a try-out, and shows what is wrong with a rule', async () => {
    const { page, errors } = await open('/dashboard/#/settings/questionnaires', { storageState: signedIn });
    await page.getByLabel('URL name').fill('pain-diary');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByLabel('Title', { exact: true }).fill('Pain diary');
    await page.getByLabel('Question', { exact: true }).fill('How strong is the pain?');
    await page.getByLabel('Answers One per line').fill('None = 0\nSome = 4\nUnbearable = 10');
    await page.getByRole('button', { name: 'Add a score' }).click();
    await page.getByLabel('Rule', { exact: true }).fill('sum(all');
    await page.getByRole('button', { name: 'Publish version 1' }).click();
    await expect.poll(() => page.getByRole('alert').textContent(), { timeout: 10_000 }).toContain('")" is missing');
    await page.getByLabel('Rule', { exact: true }).fill('sum(all) * 10');
    await page.getByLabel('Bands').fill('0 low, 80 high');
    await page.getByRole('button', { name: 'Add a safety rule' }).click();
    await page.getByLabel('Condition').fill('{q1} >= 10');
    await page.getByRole('combobox', { name: 'How strong is the pain?' }).selectOption('Unbearable');
    await page.getByRole('button', { name: 'Score these answers' }).click();
    await page.getByText('Score 100').waitFor();
    expect(await page.locator('.badge.bad').textContent()).toContain('An answer needs attention');
    await page.getByRole('button', { name: 'Publish version 1' }).click();
    await page.getByText('version 1 is now in use').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: webhook-secret
  it('registers a webhook and shows its secret once; sets retention', async () => {
    const { page } = await open('/dashboard/#/settings/webhooks', { storageState: signedIn });
    await page.getByLabel('Address').fill('https://hooks.example/x');
    await page.getByRole('button', { name: 'Add webhook' }).click();
    const secret = (await page.locator('.secret code').textContent()) ?? '';
    expect(Buffer.from(secret, 'base64')).toHaveLength(32);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('status').filter({ hasText: 'test not delivered' }).waitFor();
    await page.getByRole('button', { name: /^New secret/ }).click();
    await page.getByRole('button', { name: 'New secret', exact: true }).click();
    await page.getByText('two secrets sign until').waitFor();
    expect(await page.locator('.secret code').textContent()).not.toBe(secret);
    await page.getByRole('link', { name: 'Projects' }).click();
    await page.getByLabel('Samples, days').fill('30');
    await page.getByLabel('Sharing').check();
    await page.getByLabel('Sharing').uncheck();
    const saved = page.waitForResponse((response) => response.request().method() === 'PUT');
    await page.getByRole('button', { name: 'Save retention and consent' }).click();
    await saved; // a page that is left takes its requests along
    await page.reload();
    await expect.poll(() => page.getByLabel('Samples, days').inputValue()).toBe('30');
    expect(await page.evaluate((text) => document.documentElement.outerHTML.includes(text), secret)).toBe(false);
    await page.context().close();
  });

  it('rotates and revokes SDK keys and the project key, after asking', async () => {
    const { page, errors } = await open('/dashboard/#/settings/projects', { storageState: signedIn });
    const keys = page.getByRole('listitem').filter({ hasText: 'sdk_' });
    await page.getByRole('button', { name: 'Add an SDK key' }).click();
    await expect.poll(() => keys.count()).toBe(2);
    await keys
      .last()
      .getByRole('button', { name: /^Rotate sdk_/ })
      .click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await keys
      .last()
      .getByRole('button', { name: /^Rotate sdk_/ })
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate', exact: true }).click();
    await expect.poll(() => keys.count()).toBe(3);
    await keys
      .filter({ hasText: 'works until' })
      .getByRole('button', { name: /^Revoke sdk_/ })
      .click();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await expect.poll(() => keys.filter({ hasText: 'revoked' }).count()).toBe(1);
    await page.getByRole('button', { name: 'Rotate project key' }).click();
    await page.getByRole('button', { name: 'Rotate', exact: true }).click();
    await page.getByRole('button', { name: 'Revoke previous project key' }).click();
    await page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByRole('button', { name: 'Rotate project key' }).waitFor();
    const shot = process.env['SHOT'];
    if (shot !== undefined) await page.screenshot({ path: shot });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: profile-assigned
  it('adds a device profile with the calibration of its oximeter, and assigns it to a device', async () => {
    const { page, errors } = await open('/dashboard/#/settings/devices', { storageState: signedIn });
    await page.getByLabel('Name', { exact: true }).fill('Acme finger clip');
    await page.getByLabel('Code', { exact: true }).fill('acme-clip');
    await page.getByLabel('Channels').fill('ppg.red ppg 100 1 finger\nppg.ir ppg 100 1 finger');
    await page.getByLabel('Offset, %').fill('108.5');
    await page.getByLabel('Slope, %').fill('22');
    await page.getByRole('button', { name: 'Add profile' }).click();
    await page.getByText('SpO₂ = 108.5 − 22 × R').waitFor();
    const profiles = await dashboard.send<{ code: string; spo2_calibration: unknown }[]>('GET', '/api/v1/device-profiles');
    expect(profiles.find(({ code }) => code === 'acme-clip')?.spo2_calibration).toEqual({ offset: 108.5, slope: 22 });
    // The simulated device may not have sent yet when the page was opened.
    await expect
      .poll(async () => (await dashboard.send<unknown[]>('GET', '/api/v1/devices')).length, { timeout: 30_000 })
      .toBeGreaterThan(0);
    await page.reload();
    await page.locator('select[name=device]').selectOption({ index: 0 });
    await page.locator('select[name=profile]').selectOption('Acme finger clip');
    await page.getByRole('button', { name: 'Assign', exact: true }).click();
    await page.getByText('uses the profile Acme finger clip from its next recording').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says what of a profile is refused at its field, and gives no two lines of a page one id', async () => {
    const { page, errors } = await open('/dashboard/#/settings/devices', { storageState: signedIn });
    await page.getByLabel('Name', { exact: true }).fill('Half a clip');
    await page.getByLabel('Code', { exact: true }).fill('half-clip');
    await page.getByLabel('Offset, %').fill('110');
    await page.getByRole('button', { name: 'Add profile' }).click();
    const words = 'Offset and slope are needed together, or neither.';
    await page.getByRole('alert').getByText(words).waitFor();
    const slope = page.getByLabel('Slope, %');
    expect(await slope.evaluate((field) => document.getElementById(field.getAttribute('aria-describedby')!)?.textContent)).toBe(words);
    expect(await slope.evaluate((field) => field === document.activeElement)).toBe(true);
    await dashboard.send('POST', '/api/v1/projects', { name: 'Second' });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/settings/projects`);
    await page.getByRole('heading', { name: 'Second' }).waitFor();
    const origins = page.locator('[name=origins]');
    for (const i of [0, 1]) {
      await origins.nth(i).fill(`nowhere-${i}`);
      await page.getByRole('button', { name: 'Save origins' }).nth(i).click();
      await expect.poll(() => origins.nth(i).getAttribute('aria-invalid')).toBe('true');
    }
    const said = await origins.evaluateAll((fields) =>
      fields.map((field) => document.getElementById(field.getAttribute('aria-describedby')!)?.textContent),
    );
    expect(said).toEqual(['nowhere-0', 'nowhere-1'].map((origin) => `${origin} is not the origin of a web page.`));
    expect(await page.evaluate(() => [...document.querySelectorAll('[id]')].map(({ id }) => id))).toSatisfy(
      (ids: string[]) => new Set(ids).size === ids.length,
    );
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says that the overview is old while the service gives no answer, asks it once, and goes on afterwards', async () => {
    const { page, errors } = await open('/dashboard/#/', { storageState: signedIn });
    await page.getByRole('heading', { name: 'No open episodes' }).or(page.getByText('No open episodes')).first().waitFor();
    const old = page.getByText(/Not up to date: this is how it was at .* The service does not answer/);
    expect(await old.count()).toBe(0);
    const { pool } = dashboard.database;
    const holder = await pool.connect();
    let asked = 0;
    page.on('request', (request) => void (asked += Number(request.url().includes('/episodes'))));
    try {
      await holder.query('begin');
      await holder.query('lock table episode in access exclusive mode');
      await old.waitFor({ timeout: 90_000 });
      expect(asked).toBeLessThan(3);
      expect(await violations(page, 'main')).toEqual([]);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
    await old.waitFor({ state: 'detached', timeout: 60_000 });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('signs out', async () => {
    const { page } = await open('/dashboard/');
    await signIn(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.context().close();
  });
});
