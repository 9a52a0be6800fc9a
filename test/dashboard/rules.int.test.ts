/** Rules and groups in the dashboard: made, tried, changed, switched off, by an operator in a real browser. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Route } from 'playwright-core';
import { encodePacket } from '../../src/proto/packet-encode.ts';
import { formatValue } from '../../widgets/shared/format.ts';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import type { TriedRule } from '../../dashboard/service.ts';
import { ecgPackets } from '../helpers/ecg-packets.ts';

let dashboard: DashboardFixture;

beforeAll(async () => {
  if (chromiumPath !== null) dashboard = await startDashboard();
}, 300_000);
afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('the page of rules', () => {
  // promise: trial-incomplete
  it('says of a trial of more recordings than it takes that it is not complete, and what is left', async () => {
    const { database, open, signedIn } = dashboard;
    const begun = `select count(*)::integer as n from stream where recorded_from is not null`;
    await expect.poll(async () => (await database.pool.query<{ n: number }>(begun)).rows[0]!.n, { timeout: 60_000 }).toBeGreaterThan(0);
    const added = await database.pool.query<{ id: string }>(
      `insert into stream (organization_id, project_id, device_id, xuser_id, boot_id, epoch_ns, started_at, last_packet_at, recorded_from, last_sample_at)
       select s.organization_id, s.project_id, s.device_id, s.xuser_id, uuid_send(gen_random_uuid()), s.epoch_ns, s.started_at - interval '2 hours',
         s.last_packet_at - interval '2 hours', now() - interval '2 hours', now() - interval '2 hours' + interval '30 seconds'
       from (select * from stream where recorded_from is not null order by id limit 1) s, generate_series(1, 10000) returning id`,
    );
    try {
      const { page, errors } = await open('/dashboard/#/rules', { storageState: signedIn });
      const total = (await database.pool.query<{ n: number }>('select count(*)::integer as n from stream')).rows[0]!.n;
      await page.getByRole('button', { name: 'New rule' }).click();
      await page.locator('#rule-form [name=feature]').selectOption('spo2');
      await page.getByLabel(/^Threshold/).fill('20');
      await page.getByRole('button', { name: 'Try on history' }).click();
      const trial = page.locator('#rule-trial');
      await trial.getByText('not complete').waitFor();
      const count = (n: number): string => n.toLocaleString('en-US');
      const left = await trial.getByText(/recordings were looked at, the newest first/).textContent();
      const [, looked, of] = /Only ([\d,]+) of ([\d,]+) recordings/.exec(left ?? '')!;
      expect(of).toBe(count(total));
      expect(Number(looked!.replaceAll(',', ''))).toBeLessThanOrEqual(10_000);
      await trial.getByText('None in what was looked at').waitFor();
      await picture(page, 'rule-trial-incomplete');
      expect(await violations(page, 'main')).toEqual([]);
      await page.setViewportSize({ width: 360, height: 800 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      await picture(page, 'rule-trial-incomplete-phone');
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      await database.pool.query('delete from stream where id = any($1)', [added.rows.map(({ id }) => id)]);
    }
  });

  it('says why it was not saved where the button is, however far below the head of the page', async () => {
    const { page } = await dashboard.open('/dashboard/#/rules', {
      storageState: dashboard.signedIn,
      viewport: { width: 1000, height: 500 },
    });
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByLabel('Name').fill('Told by e-mail');
    await page.getByLabel(/^Threshold/).fill('20');
    await page.getByLabel('E-mail to').fill('ward@clinic.example');
    await page.getByRole('button', { name: 'Save' }).click();
    const problem = page.getByRole('alert').filter({ hasText: 'This service has no mail server' });
    await problem.waitFor();
    // Once it is known, and not only while the page is scrolled to where it was.
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    const seen = await problem.evaluate((element) => {
      const { top, bottom, left } = element.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight && element.contains(document.elementFromPoint(left + 30, (top + bottom) / 2));
    });
    expect(seen).toBe(true);
    expect(await violations(page, 'main')).toEqual([]);
    await page.context().close();
  });

  // promise: rules-page
  it('makes a rule for a group, tries it on history, changes it and switches it off', async () => {
    const { open, send, signedIn } = dashboard;
    const [project] = await send<{ id: string }[]>('GET', '/api/v1/projects');
    const { page, errors } = await open('/dashboard/#/groups', { storageState: signedIn });
    await page.getByRole('button', { name: 'New group' }).click();
    await page.getByLabel('Name').fill('Ward 3');
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByRole('link', { name: 'Ward 3', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Add Ward 3' }).click();
    const key = (await send<{ project_key: string }[]>('GET', '/api/v1/projects'))[0]!.project_key;
    await send('POST', '/api/v1/xusers', { external_id: 'in the next bed', project_key: key });
    // A ward at once; who is not known is named and left in the field, and everybody else is in it, as its row says.
    const field = page.getByLabel('External ids, one a line');
    await field.fill('demo-patient\nnobody\n\n in the next bed ');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const alertText = await page.getByRole('dialog').getByRole('alert').textContent();
    expect(alertText).toBe('Not known in this project: nobody. Everybody else is in the group.');
    expect(await field.inputValue()).toBe('nobody');
    await page.locator('td[data-name=People]').getByText('2').waitFor();
    await picture(page, 'group-unknown');
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await violations(page, 'main')).toEqual([]);
    await picture(page, 'groups');

    await page.getByRole('link', { name: 'Rules', exact: true }).click();
    await page.getByRole('button', { name: 'New rule' }).click();
    await expect.poll(() => page.getByLabel('Name').evaluate((field) => field === document.activeElement)).toBe(true);
    await page.getByText('This service has no mail server').waitFor(); // before it is refused
    await page.getByLabel('For at least, seconds').fill('0');
    // A value that nobody's sensor gives; and a trial needs no name.
    await page.locator('#rule-form [name=feature]').selectOption('spo2');
    await page.getByLabel(/^Threshold/).fill('20');
    await page.getByRole('button', { name: 'Try on history' }).click();
    await page.locator('#rule-trial').getByText('There was nothing to try it on').waitFor();
    const covered = page.locator('#rule-trial .figure', { hasText: 'Time covered' }).locator('dd');
    expect(await covered.textContent()).toBe('no values in this range');
    await expect
      .poll(() => page.locator('#rule-trial h2').evaluate((head) => head.getBoundingClientRect().bottom <= innerHeight))
      .toBe(true);
    await page.locator('#rule-form [name=feature]').selectOption('hr_ecg');
    await page.getByLabel(/^Threshold/).fill('20');
    await page.getByLabel('Name').fill('Anything at all');
    await page.getByLabel('Group').selectOption({ label: 'Ward 3' });
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Try on history' }).click();
          await page.locator('#rule-trial').waitFor();
          return await page.locator('#rule-trial .figure', { hasText: 'Episodes' }).locator('dd').textContent();
        },
        { timeout: 90_000, interval: 2000 },
      )
      .toBe('1');
    expect(await page.locator('#rule-trial').getByRole('link', { name: 'demo-patient' }).count()).toBe(1);
    const held = Promise.withResolvers<void>();
    const slow = async (route: Route): Promise<void> => {
      await held.promise;
      await route.continue();
    };
    await page.route('**/rules/try', slow);
    await page.getByRole('button', { name: 'Try on history' }).click();
    await page.locator('#rule-form .row').getByText('Trying the rule').waitFor();
    await page.getByLabel('Ends at (empty: the threshold)').fill('30');
    await page.getByRole('button', { name: 'Save' }).click();
    const alert = page
      .getByRole('alert')
      .getByText('Ends at (empty: the threshold): An episode that opens above 20 /min ends at 20 /min or below.');
    await alert.waitFor();
    held.resolve();
    await page.getByRole('button', { name: 'Try on history', disabled: false }).waitFor();
    expect(await alert.isVisible(), 'what ends well later leaves it there').toBe(true);
    await page.unroute('**/rules/try', slow);
    await page.getByLabel('Ends at (empty: the threshold)').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'Anything at all', exact: true }).waitFor();
    expect(await page.locator('main').textContent()).toContain('Not an alarm system. Not a medical device.');
    expect(await violations(page, 'main')).toEqual([]);
    await picture(page, 'rules');
    // Longer words: nothing of a row is cut off.
    const german = await dashboard.open('/dashboard/?lang=de#/rules', { storageState: dashboard.signedIn });
    await german.page.getByRole('button', { name: 'Löschen' }).waitFor();
    await picture(german.page, 'rules-de');
    expect(await german.page.locator('.scroll').evaluate((list) => list.scrollWidth - list.clientWidth)).toBeLessThanOrEqual(0);
    await german.page.context().close();

    await page.getByRole('button', { name: 'Edit Anything at all' }).click();
    await page.getByLabel('Name').fill('Anything');
    await page.getByLabel(/^Threshold/).fill('250');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('above 250').waitFor();
    const counted = page.getByRole('navigation').getByRole('link', { name: /^Rules/ });
    await expect.poll(() => counted.textContent()).toMatch(/1\s+switched on/);
    await page.getByRole('button', { name: 'Switch off Anything' }).click();
    const asked = page.getByRole('dialog').getByRole('button', { name: 'Switch off' });
    await asked.or(page.locator('.badge.off', { hasText: 'off' })).waitFor();
    if (await asked.isVisible()) await asked.click(); // its episode is still open
    await page.locator('.badge.off', { hasText: 'off' }).waitFor();
    await expect.poll(() => counted.textContent(), { timeout: 10_000 }).not.toMatch(/switched on/);
    const rules = await send<object[]>('GET', `/api/v1/projects/${project!.id}/rules`);
    expect(rules).toMatchObject([{ name: 'Anything', threshold: 250, sustain_sec: 0, enabled: false }]);
    await page.getByRole('link', { name: 'Ward 3', exact: true }).click();
    await page.getByRole('link', { name: 'demo-patient' }).waitFor();
    expect(page.url()).toMatch(/#\/users\?group=/);
    expect(await page.getByLabel('Group').inputValue()).not.toBe('');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says at its fields, in words of the page, what of a rule is refused', async () => {
    const { open, signedIn } = dashboard;
    const { page, errors } = await open('/dashboard/?lang=de#/rules', { storageState: signedIn, locale: 'de-DE' });
    await page.getByRole('button', { name: 'Neue Regel' }).click();
    const field = (name: string) => page.locator(`#rule-form [name=${name}]`);
    await field('name').fill('Schnell');
    await field('threshold').fill('130');
    await expect.poll(() => page.locator('#rule-form').textContent()).toMatch(/Keine E-Mail von nach den Uhren des Projekts, UTC/);
    const refused = async (name: string, words: string): Promise<void> => {
      await page.locator('#rule-form [value=save]').click();
      await page.getByRole('alert').getByText(words).waitFor();
      await expect.poll(() => field(name).getAttribute('aria-invalid')).toBe('true');
      const said = await field(name).evaluate((input) => document.getElementById(input.getAttribute('aria-describedby')!)?.textContent);
      expect(said).toBe(words);
      expect(await field(name).evaluate((input) => input === document.activeElement)).toBe(true);
      expect(await page.getByRole('alert').textContent()).not.toMatch(/email_to|quiet_|subject_id|pattern/);
    };
    await field('email_to').fill('ward@bio.example, niemand');
    await refused('email_to', 'niemand ist keine E-Mail-Adresse.');
    await picture(page, 'rule-refused-de');
    expect(await violations(page, 'main')).toEqual([]);
    await field('email_to').fill('');
    expect(await field('email_to').getAttribute('aria-invalid')).toBe(null);
    expect(await page.locator('.field-problem').count()).toBe(0);
    await field('quiet_from').fill('22:00');
    await refused(
      'quiet_to',
      'Ruhezeiten brauchen Anfang und Ende, und zwei verschiedene. Lassen Sie beide leer, wenn es keine geben soll.',
    );
    await field('quiet_to').fill('07:00');
    await field('subject_id').fill('niemand');
    await refused('subject_id', 'Niemand in diesem Projekt hat die Kennung niemand.');
    await page.locator('#rule-form [value=try]').click(); // a trial says the same
    await page.getByRole('alert').getByText('hat die Kennung').waitFor();
    await field('subject_id').fill('');
    await field('sustain_sec').fill('4000');
    await refused('sustain_sec', 'Zu groß: höchstens 3600.');
    await field('sustain_sec').fill('60');
    await page.locator('#rule-form [value=save]').click();
    await page.getByRole('cell', { name: 'Schnell', exact: true }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    // The fixture has no mail server, so that an address can be given to a rule only here.
    await dashboard.database.pool.query(`update episode_rule set email_to = '{ward@bio.example}' where name = 'Schnell'`);
    await page.reload();
    await page.getByText('E-Mail an ward@bio.example; keine von 22:00 bis 07:00 (UTC)').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('deletes and switches off what it shows: a rule that another client has changed since is shown again first', async () => {
    const { open, send, signedIn } = dashboard;
    const [project] = await send<{ id: string }[]>('GET', '/api/v1/projects');
    const rules = `/api/v1/projects/${project!.id}/rules`;
    const body = { name: 'Slow at night', feature: 'hr_ecg', comparison: 'below', threshold: 40, sustain_sec: 60 };
    const { id } = await send<{ id: string }>('POST', rules, body);
    const change = (threshold: number): Promise<object> => send('PATCH', `${rules}/${id}`, { threshold });
    const now = async (): Promise<unknown> => (await send<{ id: string }[]>('GET', rules)).find((rule) => rule.id === id);
    const { page, errors } = await open('/dashboard/#/rules', { storageState: signedIn });
    const line = page.getByRole('row').filter({ hasText: 'Slow at night' });
    await line.getByText('below 40').waitFor();
    await change(35);
    await line.getByRole('button', { name: 'Switch off' }).click();
    await page.getByRole('alert').getByText('Slow at night has been changed').waitFor();
    await line.getByText('below 35').waitFor();
    expect(await now()).toMatchObject({ enabled: true, threshold: 35 });

    await change(30);
    await line.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('below 30').waitFor(); // not what the list has had
    await change(25);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('alert').getByText('Nothing was deleted').waitFor();
    await dialog.getByText('below 25').waitFor();
    expect(await now()).toMatchObject({ threshold: 25 });
    await picture(page, 'rule-changed-meanwhile');
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await line.waitFor({ state: 'detached' });
    expect(await now()).toBeUndefined();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: rule-units
  it('has shares of differences in per cent, typed, tried and told, and is searched in the words of its language', async () => {
    const { open, send, service, signedIn } = dashboard;
    const [project] = await send<{ id: string }[]>('GET', '/api/v1/projects');
    const name = 'Viel Variabilität';
    const startMs = Date.now() - 3_600_000;
    const rrSec = (sec: number): number => 0.85 + 0.06 * Math.sin((2 * Math.PI * sec) / 3.4);
    for (const packet of ecgPackets({ deviceId: 'varied', subject: 'varied', startMs, seconds: 480, rrSec })) {
      const headers = { authorization: `Bearer ${service.firstKey}`, 'content-type': 'application/x-protobuf' };
      const answer = await fetch(`${service.baseUrl}/ingest/raw-packet`, {
        method: 'POST',
        headers,
        body: Buffer.from(encodePacket(packet)),
      });
      expect(answer.status).toBe(202);
    }
    const [stream] = await send<{ id: string }[]>('GET', '/api/v1/streams?subject_id=varied');
    type Series = { values: number[]; qmask: number[] };
    await expect
      .poll(
        async () => {
          const [found] = await send<Series[]>('GET', `/api/v1/streams/${stream!.id}/features?names=hrv_pnn50_300s`);
          return Math.max(0, ...(found?.values ?? []).filter((_, i) => found!.qmask[i]! < 2));
        },
        { timeout: 60_000, interval: 1000 },
      )
      .toBeGreaterThan(0.007);
    const other = { name: 'Fast', feature: 'hr_ecg', comparison: 'above', threshold: 200, sustain_sec: 0, enabled: false };
    await send('POST', `/api/v1/projects/${project!.id}/rules`, other);
    const { page, errors } = await open('/dashboard/?lang=de#/rules', { storageState: signedIn, locale: 'de-DE' });
    await page.getByRole('button', { name: 'Neue Regel' }).click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.locator('#rule-form [name=feature]').selectOption('hrv_pnn50_300s');
    expect(await page.locator('#rule-form option[value=hrv_pnn50_300s]').textContent()).toContain('HRV pNN50, 5\u00a0min (%)');
    // What is typed has its unit at both fields, whatever is chosen.
    const units = () => page.locator('#rule-form label:has([name=threshold], [name=end_threshold]) .muted').allTextContents();
    for (const [feature, unit] of [
      ['hr_ecg', '/min'],
      ['hr_ppg', '/min'],
      ['af_index', 'von 0 bis 1'],
      ['hrv_lf_hf_300s', 'ohne Einheit'],
      ['ventricular_run_10s', 'Schläge'],
      ['temp_mean', '°C'],
      ['hrv_pnn50_300s', '%'],
    ] as const) {
      // A number that was typed in another unit does not stay; one of the same unit does.
      const isSame = (await units())[0] === unit;
      for (const bound of ['threshold', 'end_threshold']) await page.locator(`#rule-form [name=${bound}]`).fill('120');
      await page.locator('#rule-form [name=feature]').selectOption(feature);
      await expect.poll(units, { message: feature }).toEqual([unit, unit]);
      for (const bound of ['threshold', 'end_threshold'])
        expect(await page.locator(`#rule-form [name=${bound}]`).inputValue(), feature).toBe(isSame ? '120' : '');
    }
    expect(await page.getByRole('spinbutton', { name: 'Schwelle %', exact: true }).count()).toBe(1);
    await page.locator('#rule-form [name=threshold]').fill('0.7');
    await page.locator('#rule-form [name=end_threshold]').fill('0.55');
    await page.locator('#rule-form [name=sustain_sec]').fill('0');
    await page.locator('#rule-form [name=quality_max]').selectOption('1');
    await page.locator('#rule-form [name=subject_id]').fill('varied');
    await page.locator('#rule-form [value=try]').click();
    const furthest = page.locator('#rule-trial td[data-name="Äußerster Wert"]').first();
    await furthest.waitFor();
    const rule = {
      name,
      feature: 'hrv_pnn50_300s',
      subject_id: 'varied',
      comparison: 'above',
      threshold: 0.007,
      sustain_sec: 0,
      quality_max: 1,
    };
    const range = { since: new Date(startMs - 60_000).toISOString(), until: new Date().toISOString() };
    const { episodes } = await send<TriedRule>('POST', `/api/v1/projects/${project!.id}/rules/try`, { rule, ...range });
    expect((await furthest.textContent())!.trim()).toBe(`${formatValue('de', 100 * episodes[0]!.extreme, { unit: '%' })}\u00a0%`);
    await page.locator('#rule-form [value=save]').click();
    const row = page.getByRole('row').filter({ hasText: name });
    await row.getByText(/0,7\s%/).waitFor();
    await row.getByText(/0,55\s%/).waitFor();
    const rules = await send<{ name: string }[]>('GET', `/api/v1/projects/${project!.id}/rules`);
    expect(rules.find((one) => one.name === name)).toMatchObject({ threshold: 0.007, end_threshold: 0.0055 });
    await row.getByRole('button', { name: 'Bearbeiten' }).click();
    await expect.poll(() => page.locator('#rule-form [name=threshold]').inputValue()).toBe('0.7');
    expect(await page.locator('#rule-form [name=end_threshold]').inputValue()).toBe('0.55');
    await page.getByRole('button', { name: 'Abbrechen' }).click();
    // By what is read: the name of the value and the severity in German.
    for (const [sought, count] of [
      ['pnn50', 1],
      ['Herzfrequenz', rules.length - 1],
      ['mittel', rules.length],
      ['medium', 0],
    ] as const) {
      await page.getByRole('searchbox').fill(sought);
      await expect.poll(() => page.locator('tbody tr').count(), { message: sought }).toBe(count);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('names what has opened an episode by its value and unit, in the language of the page', async () => {
    const { open, send, signedIn } = dashboard;
    const [project] = await send<{ id: string }[]>('GET', '/api/v1/projects');
    const rule = { name: 'Beyond twenty', feature: 'hr_ecg', comparison: 'above', threshold: 20, sustain_sec: 0 };
    await send('POST', `/api/v1/projects/${project!.id}/rules`, rule);
    let episode: { id: string; title: string } | undefined;
    await expect
      .poll(
        async () => {
          episode = (await send<{ id: string; title: string }[]>('GET', '/api/v1/fleet/episodes?limit=200')).find(
            ({ title }) => title === rule.name,
          );
          return episode !== undefined;
        },
        { timeout: 60_000, interval: 1000 },
      )
      .toBe(true);
    const { page, errors } = await open(`/dashboard/?lang=de#/episodes/${episode!.id}`, { storageState: signedIn });
    const facts = page.locator('dl.facts');
    await facts.getByText('Äußerster Wert').waitFor();
    const text = (await facts.textContent())!.replaceAll(/\s+/g, ' ');
    expect(text).toContain('Wert Herzfrequenz');
    expect(text).toMatch(/Äußerster Wert \d+ \S*min/);
    expect(text).not.toMatch(/hr_ecg|Extreme|Feature|Duration/);
    expect(text).toContain('Ausgelöst von Regel Beyond twenty');
    await picture(page, 'episode-de');
    await facts.getByRole('link', { name: rule.name }).click();
    const row = page.getByRole('row').filter({ hasText: rule.name });
    await row.getByRole('button', { name: 'Ausschalten' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/offenen? Episoden? dieser Regel ende/).waitFor();
    await picture(page, 'rule-switched-off-de');
    await dialog.getByRole('button', { name: 'Abbrechen' }).click();
    await row.getByRole('button', { name: 'Ausschalten' }).click();
    await dialog.getByRole('button', { name: 'Ausschalten' }).click();
    await row.getByRole('button', { name: 'Einschalten' }).waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it.each([390, 2560])('fits %s pixels, in the dark too', async (width) => {
    const { open, signedIn } = dashboard;
    const look = { viewport: { width, height: 900 }, colorScheme: 'dark' as const, storageState: signedIn };
    const { page, errors } = await open('/dashboard/#/rules', look);
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.locator('#rule-form').waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    expect(await violations(page, 'main')).toEqual([]);
    await picture(page, `rules-${width}`);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

/** For people who want to look: BIO_TEST_PICTURES names a folder. */
async function picture(page: Awaited<ReturnType<DashboardFixture['open']>>['page'], name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}
