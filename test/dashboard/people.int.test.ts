/** Tasks of operators for a person in the dashboard, by their roles, in a real Chromium on the whole service: consent, export, erasure,
 *  episodes and the list of users. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath } from '../helpers/chromium.ts';
import { email, password, requireConsents, signIn, startDashboard, violations } from '../helpers/dashboard.ts';
import type { DashboardFixture } from '../helpers/dashboard.ts';
import { until } from '../helpers/database.ts';

let dashboard: DashboardFixture;
let open: DashboardFixture['open'];
let signedIn: DashboardFixture['signedIn'];
let send: DashboardFixture['send'];
let project: { id: string; project_key: string };

beforeAll(async () => {
  if (chromiumPath === null) return;
  dashboard = await startDashboard();
  ({ open, signedIn, send } = dashboard);
  project = (await send<(typeof project)[]>('GET', '/api/v1/projects'))[0]!;
});

afterAll(() => dashboard?.close());

async function addUser(externalId: string, name = ''): Promise<string> {
  const body = { external_id: externalId, project_key: project.project_key, display_name: name };
  return (await send<{ xuser_id: string }>('POST', '/api/v1/xusers', body)).xuser_id;
}

/** The cookie of a new member. */
async function cookieOf(role: string): Promise<string> {
  const address = `${role}@example.org`;
  await send('POST', '/api/v1/members', { email: address, display_name: `The ${role}`, role, password });
  const answer = await fetch(`${dashboard.service.baseUrl}/auth/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: address, password }),
  });
  return answer.headers.getSetCookie()[0]!.split(';')[0]!;
}

/** Signed in as the owner of a cookie. */
async function openAs(cookie: string, path: string): Promise<Page> {
  const [name = '', value = ''] = cookie.split('=');
  const { hostname } = new URL(dashboard.service.baseUrl);
  const cookies = [{ name, value, domain: hostname, path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Strict' as const }];
  return (await open(path, { storageState: { cookies, origins: [] } })).page;
}

async function askAs(cookie: string, method: string, path: string, body?: object): Promise<number> {
  const { baseUrl } = dashboard.service;
  const headers = { cookie, origin: baseUrl, 'content-type': 'application/json', 'if-match': '*' };
  const answer = await fetch(baseUrl + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  await answer.arrayBuffer();
  return answer.status;
}

/** A person whose answer to PHQ-9 raised an episode. */
async function answerOf(externalId: string): Promise<{ person: string; episode: string; question: string }> {
  const { baseUrl } = dashboard.service;
  const { xuser_token: token, xuser_id: person } = await send<{ xuser_token: string; xuser_id: string }>('POST', '/api/v1/sdk/token', {
    external_id: externalId,
    project_key: project.project_key,
  });
  const { item } = await send<{ item: { linkId: string; text: string; answerOption: object[] }[] }>(
    'GET',
    `/api/v1/questionnaires/phq-9?project_id=${project.id}`,
  );
  const answer = await fetch(`${baseUrl}/api/v1/questionnaire-responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      resourceType: 'QuestionnaireResponse',
      questionnaire: 'phq-9',
      status: 'completed',
      item: item.map(({ linkId, answerOption }) => ({ linkId, answer: [answerOption[1]] })),
    }),
  });
  expect(answer.status, await answer.text()).toBe(201);
  const [episode] = await send<{ id: string }[]>('GET', `/api/v1/episodes?subject_id=${person}`);
  return { person, episode: episode!.id, question: item[0]!.text };
}

describe.skipIf(chromiumPath === null)('a person', () => {
  // promise: consent-recorded
  it('is renamed and given a time zone; a change that another member made meanwhile is not lost', async () => {
    const id = await addUser('edited', 'Before');
    const { page, errors } = await open(`/dashboard/#/users/${id}`, { storageState: signedIn });
    const edit = page.getByRole('button', { name: 'Edit' });
    const save = page.getByRole('dialog').getByRole('button', { name: 'Save' });
    await edit.click();
    await page.getByLabel('Name').fill('After');
    await page.getByLabel('Time zone').fill('Europe/Berlin');
    expect(await violations(page)).toEqual([]);
    await save.click();
    await page.getByRole('heading', { level: 1, name: 'After' }).waitFor();
    expect(await page.title()).toBe('After · biosignal');
    await edit.click();
    await page.getByLabel('Time zone').fill('Nowhere/Land');
    await save.click();
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('No time zone has this name');
    await send('PATCH', `/api/v1/xusers/${id}`, { display_name: 'Theirs' });
    await page.getByLabel('Time zone').fill('Asia/Tokyo');
    await save.click();
    await expect.poll(() => page.getByRole('alert').textContent()).toContain('Another person has changed this');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { level: 1, name: 'Theirs' }).waitFor();
    const user = await send('GET', `/api/v1/xusers/${id}`);
    expect(user).toMatchObject({ display_name: 'Theirs', time_zone: 'Europe/Berlin' });

    // Also where the page below the dialog was loaded anew.
    await edit.click();
    await send('PATCH', `/api/v1/xusers/${id}`, { display_name: 'Theirs again' });
    await requireConsents(dashboard, ['sharing']);
    try {
      await page.getByText('This person has not consented to sharing').waitFor();
      await page.getByLabel('Time zone').fill('Asia/Tokyo');
      await save.click();
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('Another person has changed this');
      expect(await send('GET', `/api/v1/xusers/${id}`)).toMatchObject({ display_name: 'Theirs again', time_zone: 'Europe/Berlin' });
    } finally {
      await requireConsents(dashboard, []);
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: consent-recorded
  it('gives and withdraws consent through an operator; without sharing nothing but the consent is shown', async () => {
    const settings = `/api/v1/projects/${project.id}/settings`;
    const retention = { samples_days: null, features_days: null, beats_days: null };
    const id = await addUser('consenting');
    await send('PUT', settings, { retention, consent_required: ['sharing'] });
    try {
      const { page, errors } = await open(`/dashboard/#/users/${id}`, { storageState: signedIn });
      await page.getByText('This person has not consented to sharing').waitFor();
      await page.getByRole('button', { name: 'Record consent to sharing' }).click();
      await page.getByLabel('Document').fill('Form 7, version 2');
      expect(await violations(page)).toEqual([]);
      await page.getByRole('dialog').getByRole('button', { name: 'Record consent' }).click();
      await page.getByRole('heading', { name: 'Recordings' }).waitFor();
      await page.getByText('History (1)').click();
      const row = page.getByRole('row').filter({ hasText: 'Sharing given' });
      expect(await row.textContent()).toMatch(/Ada.*Form 7, version 2/s);
      await page.getByRole('button', { name: 'Withdraw consent to sharing' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
      await page.getByText('This person has not consented to sharing').waitFor();
      const audited = await send<{ action: string; actor_kind: string }[]>('GET', `/api/v1/audit-log?subject_id=${id}&kind=acts`);
      expect(audited.map(({ action, actor_kind: kind }) => `${kind} ${action}`)).toEqual(
        expect.arrayContaining(['operator consent.granted', 'operator consent.withdrawn']),
      );
      expect(errors).toEqual([]);
      await page.context().close();
    } finally {
      await send('PUT', settings, { retention, consent_required: [] });
    }
  });

  // promise: person-export
  it('is exported as a file', async () => {
    const id = await addUser('exported', 'Eve');
    const { page } = await open(`/dashboard/#/users/${id}`, { storageState: signedIn });
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download export' }).click()]);
    expect(download.suggestedFilename()).toBe(`xuser-${id}.ndjson`);
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({ table: 'xuser', row: { id, display_name: 'Eve' } });
    expect(lines.at(-1)).toBe('{"table":"end"}');
    await page.context().close();
  });

  it('is erased after the external id was typed, and the receipt is shown', async () => {
    const id = await addUser('to-be-erased');
    const { page, errors } = await open(`/dashboard/#/users/${id}`, { storageState: signedIn });
    await page.getByRole('button', { name: 'Erase this person' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('all recordings').waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByLabel('to confirm').fill('another person');
    await dialog.getByRole('button', { name: 'Erase' }).click();
    await expect.poll(() => dialog.getByRole('alert').textContent()).toContain('This is not the id of this person. Nothing was erased.');
    await dialog.getByLabel('to confirm').fill('to-be-erased');
    await dialog.getByRole('button', { name: 'Erase' }).click();
    await page.getByRole('heading', { name: 'to-be-erased has been erased' }).waitFor();
    expect(await page.getByRole('row').filter({ hasText: 'xuser' }).first().textContent()).toMatch(/1\D*0/);
    expect(await violations(page)).toEqual([]);
    await expect(send('GET', `/api/v1/xusers/${id}`)).rejects.toThrow('404');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: export-roles
  it('is read-only for a viewer, and cannot be exported or erased by a clinician', async () => {
    const id = await addUser('guarded');
    const [viewer, clinician] = [await cookieOf('viewer'), await cookieOf('clinician')];
    const acts = ['Edit', 'Record consent', 'Download export', 'Erase this person', 'Acknowledge', 'Mark as reviewed', 'Add user'];
    const shown = async (page: Page): Promise<string[]> => {
      await page.locator('.card:not(.skeletons)').first().waitFor();
      const words = await page.locator('main :is(button, a)').allTextContents();
      return acts.filter((act) => words.some((word) => word.trim().startsWith(act)));
    };
    const { person, episode } = await answerOf('guarded-answer');
    const ofViewer = await openAs(viewer, `/dashboard/#/users/${id}`);
    await ofViewer.getByRole('heading', { name: 'Consent' }).waitFor();
    expect(await shown(ofViewer)).toEqual([]);
    for (const address of [`#/episodes/${episode}`, '#/users']) {
      await ofViewer.evaluate((to) => void (location.hash = to), address);
      expect(await shown(ofViewer), address).toEqual([]);
    }
    const ofClinician = await openAs(clinician, `/dashboard/#/users/${id}`);
    await ofClinician.getByRole('heading', { name: 'Consent' }).waitFor();
    expect(await shown(ofClinician)).toEqual(['Edit', 'Record consent']);

    const consent = { purpose: 'sharing', granted: true };
    expect(await askAs(viewer, 'PATCH', `/api/v1/xusers/${id}`, { display_name: 'x' })).toBe(403);
    expect(await askAs(viewer, 'POST', `/api/v1/xusers/${id}/consents`, consent)).toBe(403);
    expect(await askAs(viewer, 'PATCH', `/api/v1/episodes/${episode}`, { status: 'closed' })).toBe(403);
    for (const cookie of [viewer, clinician]) {
      expect(await askAs(cookie, 'GET', `/api/v1/xusers/${person}/export`)).toBe(403);
      expect(await askAs(cookie, 'POST', `/api/v1/xusers/${person}/erase`, { confirm_external_id: 'guarded-answer' })).toBe(403);
    }
    expect(await askAs(clinician, 'POST', `/api/v1/xusers/${id}/consents`, consent)).toBe(201);
    for (const page of [ofViewer, ofClinician]) await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('a page under odd conditions', () => {
  // promise: session-ends
  it('a session that ends while a form is open covers the page, and what was typed is saved after signing in again', async () => {
    const id = await addUser('half-typed', 'Before');
    const { page, errors } = await open(`/dashboard/#/users/${id}`);
    await signIn(page);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name').fill('Typed for minutes');
    // The same session, ended elsewhere.
    const [cookie] = await page.context().cookies();
    const { baseUrl } = dashboard.service;
    const headers = { cookie: `${cookie!.name}=${cookie!.value}`, origin: baseUrl };
    expect((await fetch(`${baseUrl}/auth/session`, { method: 'DELETE', headers })).status).toBe(204);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const again = page.getByRole('dialog', { name: 'Your session has ended' });
    await again.waitFor();
    expect(await again.getByLabel('E-mail').inputValue()).toBe(email);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await again.getByLabel('Password').fill('wrong password');
    await page.keyboard.press('Enter');
    await again.getByRole('alert').waitFor();
    await again.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await expect.poll(() => again.count()).toBe(0);
    expect(await page.getByLabel('Name').inputValue()).toBe('Typed for minutes');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Typed for minutes' }).waitFor();

    // A page that is opened after the end of a session comes by itself, too.
    // By its address: the dialog may have come already, of what the person's page still asked for, and covers the links.
    await page.context().clearCookies();
    await page.evaluate(() => void (location.hash = '#/groups'));
    await again.waitFor();
    // In words for people, not for programs.
    await page.locator('.problem').getByText('Your session has ended').waitFor({ state: 'attached' });
    expect(await page.getByText('Send Authorization').count()).toBe(0);
    await again.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await page.getByText('No groups yet').or(page.locator('main table')).first().waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('a person who was erased in another tab is not changed, and the page says why', async () => {
    const id = await addUser('gone-meanwhile');
    const { page, errors } = await open(`/dashboard/#/users/${id}`, { storageState: signedIn });
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Name').fill('Too late');
    await send('POST', `/api/v1/xusers/${id}/erase`, { confirm_external_id: 'gone-meanwhile' });
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.locator('.problem[role=alert]').waitFor();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    expect(await page.locator('main').textContent()).not.toContain('gone-meanwhile');
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await page.getByRole('alert').waitFor();
    expect(await page.locator('main').textContent()).not.toContain('gone-meanwhile');
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('long names and names from right to left leave every column where it is, on paper too', async () => {
    await addUser('long-one', 'N'.repeat(200));
    await addUser('rtl-one', 'مريم الخوارزمي');
    const { page, errors } = await open('/dashboard/#/users?sort=name', { storageState: signedIn });
    const rtl = page.getByRole('row').filter({ hasText: 'rtl-one' });
    await rtl.waitFor();
    const isCut = (): Promise<boolean> =>
      page.evaluate(() => [...document.querySelectorAll('.scroll')].some((box) => box.scrollWidth > box.clientWidth + 1));
    expect(await isCut()).toBe(false);
    expect(await rtl.locator('td[data-name=Name] bdi').evaluate((element) => getComputedStyle(element).direction)).toBe('rtl');
    // A4 within its margins: rows of a table, not cards.
    await page.emulateMedia({ media: 'print' });
    await page.setViewportSize({ width: 688, height: 1000 });
    expect(await rtl.evaluate((element) => getComputedStyle(element).display)).toBe('table-row');
    expect(await page.getByRole('columnheader', { name: 'Created' }).isVisible()).toBe(true);
    expect(await isCut()).toBe(false);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('a name that is long and has no space', () => {
  // promise again: every-screen
  it('stays in its place on every page of the person, on a phone and on a desk', async () => {
    const id = await addUser('p-without-a-space', 'N'.repeat(120));
    for (const width of [320, 1280]) {
      const { page, errors } = await open('/dashboard/', { storageState: signedIn, viewport: { width, height: 800 } });
      for (const path of [`users/${id}`, `users/${id}/recordings`, `users/${id}/report`]) {
        await page.evaluate((hash) => (location.hash = hash), `#/${path}`);
        await expect.poll(() => page.locator('#main').innerText()).toContain('NNN');
        await page.waitForLoadState('networkidle');
        const beyond = await page.evaluate(() => {
          const texts = document.createTreeWalker(document.querySelector('#main')!, NodeFilter.SHOW_TEXT);
          const found = [`the page is ${document.documentElement.scrollWidth - innerWidth} px too wide`].filter(
            (text) => !/is -|is 0/.test(text),
          );
          while (texts.nextNode() !== null) {
            const text = texts.currentNode as Text;
            const box = text.parentElement?.closest('.card, .page-head, .report')?.getBoundingClientRect();
            const range = new Range();
            range.selectNodeContents(text);
            if (box !== undefined && text.data.includes('NNN') && range.getBoundingClientRect().right > box.right + 1)
              found.push(text.parentElement!.localName);
          }
          return found;
        });
        expect(beyond, `${path} at ${width}`).toEqual([]);
      }
      expect(errors).toEqual([]);
      await page.context().close();
    }
  });
});

describe.skipIf(chromiumPath === null)('a group', () => {
  it('is on the wall whole, sending or not', async () => {
    const { id: group } = await send<{ id: string }>('POST', `/api/v1/projects/${project.id}/groups`, { name: 'Many' });
    for (let i = 0; i < 7; i++) {
      const person = await addUser(`many-${i}`);
      const address = `${dashboard.service.baseUrl}/api/v1/projects/${project.id}/groups/${group}/members/${person}`;
      const put = await fetch(address, { method: 'PUT', headers: { authorization: `Bearer ${dashboard.service.firstKey}` } });
      expect(put.status).toBeLessThan(300);
    }
    const { page, errors } = await open('/dashboard/', { storageState: signedIn });
    await page.goto(`${dashboard.service.baseUrl}/dashboard/#/wall?group=${group}`);
    await expect.poll(() => page.locator('.wall-tile').count()).toBe(7);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('a safety episode', () => {
  // promise: episodes-counted, episode-review
  it('leads to the answer; is reviewed with a note and a name after asking; and is counted while it is open', async () => {
    const { episode, question } = await answerOf('answering');
    const { page, errors } = await open(`/dashboard/#/episodes/${episode}`, { storageState: signedIn });
    await page.getByText('Ongoing').waitFor();
    expect(await page.locator('main').textContent()).not.toContain('response id');
    const counted = page.getByRole('navigation').getByRole('link', { name: 'Episodes' });
    await expect.poll(() => counted.textContent()).toMatch(/Episodes [1-9]\d* open/);
    const before = Number(/\d+/.exec((await counted.textContent()) ?? '')?.[0]);

    await page.getByRole('link', { name: 'Show the answer' }).click();
    await page.locator('.answer[open]').getByText(question).waitFor();
    await page.goBack();

    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await dialog.getByLabel('Note').fill('I am on my <b>way</b>');
    await dialog.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('I am on my <b>way</b>').waitFor();
    expect(await page.locator('main').textContent()).toMatch(/Acknowledged\s+by Ada/);
    expect(await page.getByRole('button', { name: 'Acknowledge' }).count()).toBe(0);
    await page.getByText('Ongoing').waitFor();

    await page.getByRole('button', { name: 'Mark as reviewed' }).click();
    await dialog.getByLabel('Note').fill('Called; <b>safe</b> today');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await expect.poll(() => dialog.count()).toBe(0);
    await page.getByRole('button', { name: 'Mark as reviewed' }).click();
    await dialog.getByLabel('Note').fill('Called; <b>safe</b> today');
    await dialog.getByRole('button', { name: 'Mark as reviewed' }).click();
    await page.getByRole('button', { name: 'Reopen' }).waitFor();
    expect(await page.locator('main').textContent()).toMatch(/Reviewed\s+by Ada.*Called; <b>safe<\/b> today/s);
    await expect.poll(async () => Number(/\d+/.exec((await counted.textContent()) ?? '')?.[0] ?? 0)).toBe(before - 1);
    expect(errors).toEqual([]);
    await page.context().close();
  });
});

describe.skipIf(chromiumPath === null)('the list of users', () => {
  // promise: dashboard-addresses
  it('is searched by a part of id or name, sorted and filtered, in the address, and a user is added', async () => {
    await addUser('zz-needle-2', 'Bert Haystack');
    await addUser('zz-needle-1', 'Carla Haystack');
    await addUser('aa-other', 'Needleworth');
    const { id: otherProject } = await send<{ id: string }>('POST', '/api/v1/projects', { name: 'Other project' });
    const { page, errors } = await open('/dashboard/#/users', { storageState: signedIn });
    const ids = (): Promise<string[]> => page.locator('tbody tr td:first-child').allTextContents();
    await page.getByLabel('Search').fill('NEEDLE');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(ids).toEqual(['aa-other', 'zz-needle-1', 'zz-needle-2']);
    await page.getByLabel('Sort by').selectOption('Name');
    await expect.poll(ids).toEqual(['zz-needle-2', 'zz-needle-1', 'aa-other']);
    await page.getByLabel('Sort by').selectOption('External id');
    await page.getByLabel('Search').fill('haystack');
    await page.getByRole('button', { name: 'Find' }).click();
    await expect.poll(ids).toEqual(['zz-needle-1', 'zz-needle-2']);
    await page.reload();
    await expect.poll(ids).toEqual(['zz-needle-1', 'zz-needle-2']);
    expect(await page.getByLabel('Search').inputValue()).toBe('haystack');
    await page.getByLabel('Project').selectOption(otherProject);
    await page.getByText('No users found').waitFor();
    expect(await violations(page)).toEqual([]);

    await page.getByRole('button', { name: 'Add user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('External id').fill('added-here');
    await dialog.getByLabel('Name').fill('Nina New');
    await dialog.getByRole('button', { name: 'Add user' }).click();
    await page.getByRole('heading', { level: 1, name: 'Nina New' }).waitFor();
    const added = await send<{ project_id: string }[]>('GET', '/api/v1/xusers?external_id=added-here');
    expect(added).toMatchObject([{ project_id: otherProject }]);
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: pages
  it('has pages in every order', async () => {
    const seen = async (query: string): Promise<string[]> => {
      const found: string[] = [];
      let path: string | undefined = `/api/v1/xusers?limit=2&${query}`;
      while (path !== undefined) {
        const answer: Response = await fetch(dashboard.service.baseUrl + path, {
          headers: { authorization: `Bearer ${dashboard.service.firstKey}` },
        });
        found.push(...((await answer.json()) as { external_id: string }[]).map((user) => user.external_id));
        path = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      return found;
    };
    for (const id of ['page-B', 'page-a', 'page-%', 'page-_', 'page-C']) await addUser(id, id === 'page-a' ? '' : `Name of ${id}`);
    expect(await seen('search=PAGE-&sort=external_id')).toEqual(['page-%', 'page-_', 'page-a', 'page-B', 'page-C']);
    expect(await seen('search=page-&sort=name')).toEqual(['page-%', 'page-_', 'page-B', 'page-C', 'page-a']);
    expect(await seen('search=page-')).toEqual(['page-C', 'page-_', 'page-%', 'page-a', 'page-B']);
    expect(await seen(`search=${encodeURIComponent('-%')}`)).toEqual(['page-%']);
  });
});

describe.skipIf(chromiumPath === null)('an address', () => {
  it('without a page says so', async () => {
    const { page, errors } = await open('/dashboard/#/nowhere', { storageState: signedIn });
    for (const address of ['#/nowhere', '#/devices/17', '#/settings/nothing', '#/users/%']) {
      await page.evaluate((to) => void (location.hash = to), address);
      await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
      expect(await page.title()).toBe('Page not found · biosignal');
      await page.getByRole('main').getByRole('link', { name: 'Go to the overview' }).click();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    }
    expect(errors).toEqual([]);
    await page.context().close();
  });

  // promise: dashboard-overview
  it('without a fragment shows the overview: what sends, how fast, what is open, how the service is', async () => {
    const { page, errors } = await open('/dashboard/', { storageState: signedIn });
    const figure = (name: string) => page.locator('.figure').filter({ hasText: name });
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await expect.poll(() => figure('Sending now').getByRole('definition').textContent(), { timeout: 30_000 }).toBe('1');
    const rate = async (): Promise<number> => Number((await figure('Packets per second').getByRole('definition').textContent())?.trim());
    await until(async () => (await rate()) > 0, 60_000);
    expect(await page.getByRole('row').filter({ hasText: 'demo-patch' }).textContent()).toContain('ecg.ii');
    expect(await page.getByText('database').count()).toBeGreaterThan(0);
    // Bytes as a size, in the numbers of the language.
    await page
      .getByText(/^\d+(\.\d [KM]i| )?B waiting/)
      .first()
      .waitFor();
    expect(await page.getByText('bytes waiting').count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    expect(errors).toEqual([]);
    await page.context().close();
    const german = await open('/dashboard/', { storageState: signedIn, locale: 'de-DE' });
    await german.page.route('**/readyz', async (route) => {
      const parts = [
        { name: 'sample_block', ok: true, detail: '1310720 bytes waiting' },
        { name: 'disk', ok: true, detail: 'database 1.5 GiB, 12.0 GiB of 320.5 GiB free' },
        { name: 'set_aside', ok: true, detail: '12345 rows or packets since the start' },
      ];
      await route.fulfill({ json: { status: 'ready', parts } });
    });
    await german.page.reload();
    await german.page.getByText('1,3 MiB warten').waitFor();
    await german.page.getByText('Datenbank 1,5 GiB, 12,0 GiB von 320,5 GiB frei').waitFor();
    await german.page.getByText('12.345 Zeilen').waitFor();
    await german.page.context().close();
  });
});
