/** Pages of other origins: what a browser would be allowed to do and to read. No answer of the whole run may allow credentials;
 *  description.ts checks that on every answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { need } from '../checks.ts';
import { nobody } from '../client.ts';
import type { Credential } from '../client.ts';
import type { Run } from '../run.ts';

const PAGE = 'https://conform.invalid';
const allowed = 'access-control-allow-origin';

export async function checkCors(run: Run): Promise<void> {
  const { checks, stage, ada } = run;
  const { project } = stage;
  const preflight = (path: string, method: string, origin = PAGE) => ({
    method: 'OPTIONS',
    path,
    as: nobody,
    headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization, content-type' },
  });
  const forPages = [
    '/api/v1/bootstrap',
    '/api/v1/moods',
    '/api/v1/observations',
    '/api/v1/charts/query',
    `/api/v1/projects/${project.id}/biosignals`,
  ];
  for (const path of forPages) {
    const method = path.endsWith('query') ? 'POST' : 'GET';
    await checks.ask(`Preflight: pages may ask ${path.replace(project.id, '{projectId}')}`, preflight(path, method), {
      status: 204,
      headers: {
        [allowed]: /^\*$/,
        'access-control-allow-methods': new RegExp(method),
        'access-control-allow-headers': /authorization/i,
        'access-control-allow-credentials': null,
      },
    });
  }
  const notForPages = [
    '/api/v1/api-keys',
    '/api/v1/members',
    '/api/v1/webhooks',
    '/api/v1/sdk/token',
    `/api/v1/projects/${project.id}/settings`,
  ];
  for (const path of notForPages) {
    const method = /token/.test(path) ? 'POST' : 'GET';
    await checks.ask(`Preflight: pages may not ask ${path.replace(project.id, '{projectId}')}`, preflight(path, method), {
      status: 204,
      headers: { [allowed]: null, 'access-control-allow-credentials': null },
    });
  }
  await checks.ask('Preflight of nothing', preflight('/api/v1/conform-none', 'GET'), { status: 404, code: 'not_found' });
  await checks.ask('A preflight needs no credential and gives none away', preflight('/api/v1/xusers', 'GET', 'null'), {
    status: 204,
    headers: { [allowed]: /^\*$/, 'access-control-allow-credentials': null },
  });

  const get = (as: Credential | string, origin: string, headers: Readonly<Record<string, string>> = {}) => ({
    method: 'GET',
    path: '/api/v1/bootstrap',
    as,
    headers: { origin, ...headers },
  });
  const star = { [allowed]: /^\*$/, 'access-control-allow-credentials': null };
  await checks.ask('Token mode: any origin', get(ada.as, PAGE), {
    status: 200,
    headers: { ...star, 'access-control-expose-headers': /etag/i },
  });
  await checks.ask('Token mode: a sandboxed frame', get(ada.as, 'null'), { status: 200, headers: star });
  await checks.ask('A page can read why nobody is refused', get(nobody, PAGE), { status: 401, code: 'credential_missing', headers: star });
  const missing = { ...get(ada.as, PAGE), path: '/api/v1/episodes/00000000-0000-4000-8000-00000000dead' };
  await checks.ask('A page can read what is not there', missing, { status: 404, code: 'not_found', headers: star });

  const direct = { 'project-key': project.key, 'xuser-id': ada.externalId };
  const readable = { [allowed]: new RegExp(`^${PAGE}$`), vary: /origin/i, 'access-control-allow-credentials': null };
  const { read } = stage.byScope;
  await checks.ask('A key from a page', get(read, PAGE), { status: 403, code: 'origin_forbidden', headers: readable });
  await checks.ask('Direct mode from a page that is not registered', get(read, PAGE, direct), {
    status: 403,
    code: 'origin_forbidden',
    headers: readable,
  });
  await checks.ask('A key from a sandboxed frame', get(read, 'null'), {
    status: 403,
    code: 'origin_forbidden',
    headers: { [allowed]: null },
  });
  await checks.ask(
    'A key without Origin',
    { method: 'GET', path: '/api/v1/bootstrap', as: read },
    { status: 200, headers: { [allowed]: null } },
  );
  await checks.ask('Direct mode by a program', { method: 'GET', path: '/api/v1/moods', as: read, headers: direct }, { status: 200 });

  if (stage.ownProject) await checkRegistered(run, direct);
  else checks.skip('Origins that are registered', 'the project is not of this run: its origins are left alone');

  const signIn = { email: 'conform@conform.invalid', password: 'conform' };
  await checks.ask(
    'A page of another origin signs nobody in',
    { method: 'POST', path: '/auth/session', as: nobody, body: signIn, headers: { origin: PAGE } },
    {
      status: [401, 403],
      code: ['credential_invalid', 'origin_forbidden'],
      headers: { 'set-cookie': null, 'access-control-allow-credentials': null },
    },
  );
}

async function checkRegistered({ checks, client, stage, ada }: Run, direct: Readonly<Record<string, string>>): Promise<void> {
  const { admin, read } = stage.byScope;
  const origins = `/api/v1/projects/${stage.project.id}/origins`;
  const registered = 'https://app.conform.invalid:8443';
  const set = { method: 'PUT', path: origins, as: admin, body: { origins: [registered] } };
  if ((await checks.ask('An origin is registered', set, { status: 200, headers: { etag: /./ } })) === null) return;
  const from = (origin: string, headers = direct) => ({
    method: 'GET',
    path: '/api/v1/bootstrap',
    as: read,
    headers: { origin, ...headers },
  });
  await checks.ask('Direct mode from a registered origin', from(registered), {
    status: 200,
    headers: { [allowed]: /^https:\/\/app\.conform\.invalid:8443$/, vary: /origin/i, 'access-control-allow-credentials': null },
  });
  const similar = {
    'another port': 'https://app.conform.invalid',
    'another scheme': 'http://app.conform.invalid:8443',
    'a longer name': 'https://app.conform.invalid.evil.invalid:8443',
    'a name that ends alike': 'https://evilapp.conform.invalid:8443',
    'a name below': 'https://x.app.conform.invalid:8443',
    'a slash more': `${registered}/`,
    'a user before it': 'https://app.conform.invalid:8443@evil.invalid',
  };
  for (const [what, origin] of Object.entries(similar))
    await checks.ask(`Not registered: ${what}`, from(origin), { status: 403, code: 'origin_forbidden' });
  for (const [what, origin] of Object.entries({
    'a path': `${registered}/a`,
    'a star': '*',
    'no scheme': 'app.conform.invalid',
    null: 'null',
  }))
    await checks.ask(`No origin to register: ${what}`, { ...set, body: { origins: [origin] } }, { status: 422, code: 'validation_failed' });
  if (stage.otherProject !== null) {
    const other = { 'project-key': stage.otherProject.key, 'xuser-id': ada.externalId };
    await checks.claim(
      "Another project's page is not registered here",
      `GET /api/v1/bootstrap from ${registered}`,
      '403 or 404',
      async () => {
        const answer = await checks.within({ ...from(registered, other), as: stage.otherFull }, { status: [403, 404] });
        need(answer.code === 'origin_forbidden' || answer.code === 'not_found', answer.code);
        return `${answer.status} ${answer.code}`;
      },
    );
  }
  await checks.ask('No origin is registered any more', { ...set, body: { origins: [] } }, { status: 200 });
  await checks.claim(
    'Then direct mode is refused again',
    `GET /api/v1/bootstrap from ${registered}, a second later`,
    '403 origin_forbidden',
    async () => {
      await sleep(1100, undefined, { signal: client.signal });
      const { code } = await checks.within(from(registered), { status: 403, code: 'origin_forbidden' });
      return `403 ${code}`;
    },
  );
}
