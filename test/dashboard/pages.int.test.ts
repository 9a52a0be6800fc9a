/** The pages of the dashboard and the live page in a real Chromium, on the whole service with its simulated device. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';

const sections = [
  'Overview',
  'Devices',
  'Signal quality',
  'Episodes',
  'Rules',
  'Groups',
  'API keys',
  'Projects',
  'Questionnaires',
  'Biosignals',
  'Device profiles',
  'Webhooks',
  'Members',
  'Audit log',
  'Users',
];

let dashboard: DashboardFixture;
let open: DashboardFixture['open'];
let signedIn: DashboardFixture['signedIn'];

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  ({ open, signedIn } = dashboard);
});

afterAll(() => dashboard?.close());

describe.skipIf(chromiumPath === null)('the live page', () => {
  it('shows a trace, a heart rate and HRV of the simulated device', async () => {
    const { page, errors } = await open(`/dashboard/live#demo=${dashboard.service.demoSecret}`);
    await page.locator('.link.live').waitFor();
    const rate = page.locator('[data-feature=hr_ecg] output');
    await expect.poll(async () => Number(await rate.textContent()), { timeout: 20_000 }).toBeGreaterThan(40);
    expect(Number(await rate.textContent())).toBeLessThan(120);
    // As on the wall, in charts and in every other language.
    expect(await page.locator('[data-feature=hr_ecg] .unit').textContent()).toBe('/min');
    // RMSSD of 60 s is unusable before it has seen most of its window; test/widgets/session.int.test.ts shows its tile.
    expect(await page.locator('[data-feature=hrv_rmssd_60s] output').textContent()).toMatch(/^(--|\d+)$/);
    await expect.poll(() => page.locator('bio-trend-chart').getAttribute('data-state'), { timeout: 20_000 }).toBe('ready');
    expect(await page.locator('bio-live-trace').count()).toBeGreaterThanOrEqual(2);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says what to do when the address belongs to another run, or to none, and does not seem to connect', async () => {
    for (const address of ['/dashboard/live.html#demo=wrong', '/dashboard/live']) {
      const { page, errors } = await open(address);
      await page
        .getByRole('alert')
        .getByText(/open the address that the service printed/i)
        .waitFor();
      await expect.poll(() => page.getByText('Connecting').count(), { message: address }).toBe(0);
      expect(await violations(page)).toEqual([]);
      await page.getByRole('alert').getByRole('link', { name: 'Sign in' }).click();
      await page.getByLabel('Password').waitFor();
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });
});

describe.skipIf(chromiumPath === null)('the pages of the dashboard', () => {
  // promise: content-policy
  it('are served under a policy with Trusted Types, and no other page can reach their window', async () => {
    const { headers } = await fetch(`${dashboard.service.baseUrl}/dashboard/`);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(policy).not.toContain('unsafe');
    expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });

  // A worker each: most of the time is axe, and the pages have nothing to do with one another.
  it.concurrent.each([
    ['at a desk', { viewport: { width: 1200, height: 900 } }],
    ['on a small screen', { viewport: { width: 800, height: 900 } }],
    ['on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true }],
  ])('opens every section without an axe violation, sideways scrolling or cut tables %s', async (_, device) => {
    const { page, errors } = await open('/dashboard/', { ...device, storageState: signedIn });
    for (const section of sections) {
      if (device.viewport.width < 760) await page.locator('button.menu').click();
      await page
        .getByRole('navigation')
        .getByRole('link', { name: new RegExp(`^${section}( \\d+( open| switched on)?)?$`) })
        .click();
      await page.getByRole('heading', { level: 1, name: section, exact: true }).waitFor();
      await page.locator('.card:not(.skeletons)').first().waitFor();
      expect(await violations(page, 'main'), section).toEqual([]);
      expect(await page.getByRole('alert').count(), section).toBe(0);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), section).toBeLessThanOrEqual(0);
      const cut = await page.evaluate(
        () => [...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1).length,
      );
      expect(cut, section).toBe(0);
      // On a phone the first cell is the title of a card, and may take two lines.
      const titles = await page.evaluate(() =>
        [...document.querySelectorAll('.cards td:first-child')].map((cell) => getComputedStyle(cell).textAlign),
      );
      expect(titles, section).not.toContain('end');
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('shows a user live, with the beats of the service marked', async () => {
    const { page, errors } = await open('/dashboard/#/users', { storageState: signedIn });
    await page.getByRole('link', { name: 'demo-patient' }).click();
    await page.locator('.link.live').waitFor();
    await expect.poll(() => page.locator('[data-feature=hr_ecg] output').textContent(), { timeout: 90_000 }).toMatch(/^\d+$/);
    const beats = page.locator('bio-beat-review canvas');
    await expect.poll(() => beats.getAttribute('aria-label'), { timeout: 90_000 }).toMatch(/^[1-9]\d* beats.*; \d+ s behind$/);
    expect(await violations(page)).toEqual([]);
    // The chart below follows a window that becomes narrower.
    await expect.poll(() => page.locator('bio-trend-chart canvas').count(), { timeout: 40_000 }).toBeGreaterThan(0);
    await page.setViewportSize({ width: 800, height: 900 });
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBe(800);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // job: demo-device
  it('shows how devices are: the simulated one sends, loses nothing and reports its battery', async () => {
    const { page } = await open('/dashboard/#/devices', { storageState: signedIn });
    const row = page.getByRole('row').filter({ hasText: 'demo-patch' });
    await row.getByText('sending').waitFor();
    await expect.poll(() => row.textContent(), { timeout: 15_000 }).toMatch(/0 %.*100 %/s);
    await page.context().close();
  });

  // promise: hostile-text, episode-review
  it('shows an episode with its strip, and closes it', async () => {
    const users = await dashboard.send<{ xuser_id: string }[]>('GET', '/api/v1/xusers?external_id=demo-patient');
    const episode = {
      subject_id: users[0]!.xuser_id,
      kind: 'tachycardia',
      title: 'Fast <b>rate</b>',
      severity: 'high',
      started_at: new Date().toISOString(),
    };
    const { id } = await dashboard.send<{ id: string }>('POST', '/api/v1/episodes', episode);
    const picture =
      '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"><script>parent.hit=1</script><path d="M0 0h9"/></svg>';
    await dashboard.send('POST', `/api/v1/episodes/${id}/artifacts`, {
      kind: 'strip',
      title: 'ECG II',
      media_type: 'image/svg+xml',
      data_base64: Buffer.from(picture).toString('base64'),
    });
    const { page, errors } = await open('/dashboard/#/episodes', { storageState: signedIn });
    await page.getByRole('link', { name: 'Fast <b>rate</b>' }).click();
    await expect
      .poll(() => page.getByRole('img', { name: 'ECG II' }).evaluate((image: HTMLImageElement) => image.naturalWidth), { timeout: 10_000 })
      .toBe(300);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Mark as reviewed' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Mark as reviewed' }).click();
    await page.getByRole('button', { name: 'Reopen' }).waitFor();
    expect(await page.evaluate(() => 'hit' in globalThis)).toBe(false);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: ended-not-reviewed
  it('calls an episode that ended by itself reviewed only when a person has reviewed it', async () => {
    const [user] = await dashboard.send<{ xuser_id: string }[]>('GET', '/api/v1/xusers?external_id=demo-patient');
    const subject = { subject_id: user!.xuser_id, kind: 'run', severity: 'high' };
    const at = (sec: number): string => new Date(Date.now() - 1000 * sec).toISOString();
    const ended = { started_at: at(50), ended_at: at(40) };
    await dashboard.send('POST', '/api/v1/episodes', { ...subject, ...ended, title: 'By a rule', summary: { ended_by: 'rule' } });
    await dashboard.send('POST', '/api/v1/episodes', { ...subject, ...ended, title: 'With its end' });
    const { page, errors } = await open('/dashboard/#/episodes?show=closed', { storageState: signedIn });
    const stateOf = (title: string) => page.getByRole('row').filter({ hasText: title }).locator('.state').textContent();
    await expect.poll(() => stateOf('By a rule')).toBe('ended');
    expect(await stateOf('With its end')).toBe('ended');
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/users/${user!.xuser_id}/report`);
    const inReport = page.locator('.episode').filter({ hasText: 'By a rule' });
    await expect.poll(() => inReport.textContent(), { timeout: 90_000 }).toMatch(/severity: high;\s+not reviewed/);
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/episodes?show=closed`);
    for (const title of ['By a rule', 'With its end']) {
      await page.getByRole('link', { name: title }).click();
      await page.getByRole('button', { name: 'Mark as reviewed' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Mark as reviewed' }).click();
      await page
        .getByText(/Reviewed\s+by/)
        .first()
        .waitFor();
      await expect.poll(() => page.getByRole('button', { name: 'Mark as reviewed' }).count()).toBe(0); // the dialog's, too
      await page.getByRole('link', { name: 'All episodes' }).click();
      await page.getByRole('button', { name: 'Ended' }).click();
      await expect.poll(() => stateOf(title)).toBe('reviewed');
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: audit-answers
  it('shows who read the data of a person and when, to the second, and exports it as CSV', async () => {
    const [user] = await dashboard.send<{ xuser_id: string }[]>('GET', '/api/v1/xusers?external_id=demo-patient');
    await dashboard.send('GET', `/api/v1/streams?subject_id=${user!.xuser_id}`);
    const { page, errors } = await open(`/dashboard/#/users/${user!.xuser_id}`, { storageState: signedIn });
    await page.getByRole('link', { name: "Who has seen this person's data" }).click();
    const rows = page.getByRole('row').filter({ hasText: 'listStreams' });
    await rows.first().waitFor();
    expect(await page.getByLabel('Person').inputValue()).toBe(user!.xuser_id);
    expect(await rows.first().getByRole('cell').first().textContent()).toMatch(/\d+:\d\d:\d\d/);
    expect(await page.getByRole('row').filter({ hasText: 'session.created' }).count()).toBe(0);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download CSV' }).click()]);
    expect(download.suggestedFilename()).toBe('audit-log.csv');
    const csv = await readFile(await download.path(), 'utf8');
    expect(csv).toMatch(/^id,time,/);
    expect(
      csv
        .trimEnd()
        .split('\r\n')
        .slice(1)
        .every((line) => line.includes(user!.xuser_id)),
    ).toBe(true);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('button', { name: 'Changes' }).click();
    await page.getByRole('row').filter({ hasText: 'session.created' }).first().waitFor();
    await page.getByLabel('Action').fill('audit_log.exported');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(() => page.getByRole('row').filter({ hasText: 'session.created' }).count()).toBe(0);
    await page.getByRole('row').filter({ hasText: 'audit_log.exported' }).first().waitFor();
    expect(await violations(page, 'main')).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: reported-shown
  it('shows what a person reported and measured: answers in words with their scores, tasks, adherence, goals, mood and weight', async () => {
    const { baseUrl } = dashboard.service;
    const [project] = await dashboard.send<{ id: string; project_key: string }[]>('GET', '/api/v1/projects');
    const { xuser_token: token, xuser_id: id } = await dashboard.send<{ xuser_token: string; xuser_id: string }>(
      'POST',
      '/api/v1/sdk/token',
      {
        external_id: 'reporter',
        project_key: project!.project_key,
      },
    );
    const own = async (path: string, body: object): Promise<void> => {
      const answer = await fetch(baseUrl + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(answer.status, await answer.text()).toBeLessThan(300);
    };
    const choice = (
      await dashboard.send<{ item: { linkId: string; text: string; answerOption: object[] }[] }>(
        'GET',
        `/api/v1/questionnaires/phq-9?project_id=${project!.id}`,
      )
    ).item;
    await own('/api/v1/questionnaire-responses', {
      resourceType: 'QuestionnaireResponse',
      questionnaire: 'phq-9',
      status: 'completed',
      item: choice.map(({ linkId, answerOption }) => ({ linkId, answer: [answerOption[1]] })),
    });
    await own('/api/v1/moods', { score: 4, note: 'Slept <b>well</b>', time: new Date().toISOString() });
    await dashboard.send('POST', '/api/v1/tasks', { subject_id: id, title: 'Walk', due: new Date(Date.now() - 3.6e6).toISOString() });
    await dashboard.send('POST', '/api/v1/goals', { subject_id: id, biosignal_id: 60, target: 8000 });
    await dashboard.send('POST', '/api/v1/task-schedules', { subject_id: id, title: 'Blood pressure', every: 'day', times: ['08:00'] });
    const time = new Date(Date.now() - 3.6e6).toISOString();
    const measurements = [
      { biosignal_id: 67, value: 71.5, time },
      { biosignal_id: 61, value: 45, time },
      { biosignal_id: 62, value: 36.6, time, quality: 2 },
    ];
    await dashboard.send('POST', '/api/v1/measurements', { subject_id: id, measurements });
    const { page, errors } = await open(`/dashboard/#/users/${id}`, { storageState: signedIn });
    const answer = page.locator('.answer');
    await answer.getByText('PHQ-9 9').waitFor();
    expect(await answer.locator('summary').textContent()).toMatch(/mild.*needs attention/s);
    await answer.locator('summary').click();
    expect(await answer.getByRole('term').last().textContent()).toBe(choice.at(-1)!.text);
    expect(await answer.getByRole('definition').last().textContent()).toBe('Several days');
    const reported = page.locator('.reported');
    expect(await page.getByRole('row', { name: /Body weight/ }).textContent()).toMatch(/71\.5 kg.*good.*imported/s);
    expect(await page.getByRole('row', { name: /Oxygen saturation/ }).textContent()).toMatch(/45 %.*suspect/s);
    expect(await page.getByRole('row', { name: /Body temperature/ }).textContent()).toMatch(/–.*unusable/s);
    expect(await page.getByText('36.6').count()).toBe(0);
    expect(await reported.textContent()).toMatch(/Adherence, last 30 days\s*Blood pressure\s*Nothing was due yet/s);
    expect(await reported.textContent()).toMatch(/overdue\s*Walk.*of 8,000.*Good.*Slept <b>well<\/b>/s);
    expect(await violations(page, 'main')).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});
