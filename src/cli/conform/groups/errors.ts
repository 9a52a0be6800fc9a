/** Refusals: problem documents with documented codes, methods and their Allow, HEAD and OPTIONS, and forbidden content of requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import { need, Skipped } from '../checks.ts';
import type { Want } from '../checks.ts';
import { nobody } from '../client.ts';
import { pathOf, rows } from '../operations.ts';
import type { Run } from '../run.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;

export async function checkErrors(run: Run): Promise<void> {
  const { checks, client, description, stage, ada } = run;
  const { full } = stage;
  await checks.claim(
    'Every code has a section on the page of errors',
    'GET /api-docs/errors',
    'id="code" for each code of a problem',
    async () => {
      const { text } = await checks.within({ method: 'GET', path: '/api-docs/errors', as: nobody }, { status: 200 });
      const missing = description.codes.filter((code) => !text.includes(`id="${code}"`));
      need(
        description.codes.length >= 30 && missing.length === 0,
        `${description.codes.length} codes, without a section: ${missing.join(', ')}`,
      );
      return `${description.codes.length} codes`;
    },
  );
  const problem: Want = { status: 404, code: 'not_found', headers: { 'content-type': /^application\/problem\+json/, 'x-request-id': /./ } };
  await checks.ask('An unknown path', { method: 'GET', path: '/conform-none', as: nobody }, problem);
  await checks.ask('An unknown path of the API', { method: 'GET', path: '/api/v1/conform-none', as: full }, problem);
  await checks.ask(
    'Its query is not repeated',
    { method: 'GET', path: '/api/v1/conform-none?secret=1', as: full },
    {
      ...problem,
      test: ({ text }) => text.includes('secret') && 'the problem repeats the query',
    },
  );
  await checks.ask('A path with two slashes', { method: 'GET', path: '/api/v1//bootstrap', as: full }, { status: 404, code: 'not_found' });
  await checks.ask('A path in capitals', { method: 'GET', path: '/API/v1/bootstrap', as: full }, { status: 404, code: 'not_found' });
  const noPaths = { 'with NUL': '%00', 'with a malformed escape': '%zz' };
  for (const [what, segment] of Object.entries(noPaths)) {
    const path = `/api/v1/xusers/${segment}`;
    await checks.claim(`A path ${what}`, `GET ${path}`, '400 bad_request, 404 not_found, or 400 of the proxy', async () => {
      if (typeof full === 'string') throw new Skipped(full);
      const { status, code } = await client.send({ method: 'GET', path, as: full });
      const isOurs = (status === 400 && code === 'bad_request') || (status === 404 && code === 'not_found');
      need(isOurs || (status === 400 && run.proxy !== ''), `${status} ${code}`);
      return `${status} ${code}`;
    });
  }
  await checks.ask(
    'A path with an escaped slash',
    { method: 'GET', path: `/api/v1/xusers/..%2f${ada.id}`, as: full },
    { status: [400, 404] },
  );
  await checks.ask('An id that is none', { method: 'GET', path: '/api/v1/xusers/1', as: full }, { status: 404, code: 'not_found' });
  await checks.ask(
    'A request id is repeated',
    { method: 'GET', path: '/healthz', as: nobody, headers: { 'x-request-id': 'conform-1' } },
    {
      status: 200,
      headers: { 'x-request-id': /^conform-1$/ },
    },
  );

  await checkMethods(run);

  const resolve = (body: unknown, headers?: Readonly<Record<string, string>>) => ({
    method: 'POST',
    path: '/api/v1/xusers',
    as: full,
    body,
    ...(headers && { headers }),
  });
  const invalid = (pointer: string): Want => ({
    status: 422,
    code: 'validation_failed',
    says: `names ${pointer}`,
    test: ({ text }) => !text.includes(pointer) && `does not name ${pointer}`,
  });
  const named = { external_id: stage.name('never'), project_key: stage.project.key };
  await checks.ask('A body that is no JSON', resolve('{"a":'), { status: 400, code: 'bad_request' });
  await checks.ask('A body that is a list', resolve([]), { status: 422, code: 'validation_failed' });
  await checks.ask('A body that is null', resolve('null'), { status: [400, 422] });
  await checks.ask('A body of 5000 lists in one another', resolve(deep), {
    status: [400, 422],
    code: ['bad_request', 'validation_failed'],
  });
  await checks.ask(
    'A body of invalid UTF-8',
    {
      method: 'POST',
      path: '/api/v1/xusers',
      as: full,
      bytes: Buffer.from('7b2261223a22ff227d', 'hex'),
      headers: { 'content-type': 'application/json' },
    },
    { status: [400, 422] },
  );
  await checks.ask('A body in another type', resolve('a=b', { 'content-type': 'application/x-www-form-urlencoded' }), {
    status: 415,
    code: 'unsupported_media_type',
  });
  await checks.ask('A body that says it is packed', resolve(named, { 'content-encoding': 'gzip' }), {
    status: 415,
    code: 'unsupported_media_type',
  });
  await checks.ask('A body of 20 KiB', resolve({ ...named, display_name: 'x'.repeat(20_000) }), { status: 413, code: 'payload_too_large' });
  await checks.ask('A member that is not known', resolve({ ...named, colour: 'red' }), invalid('colour'));
  await checks.ask('A member of another kind', resolve({ ...named, display_name: 7 }), invalid('/display_name'));
  await checks.ask('A text that is too long', resolve({ ...named, external_id: 'x'.repeat(256) }), invalid('/external_id'));
  await checks.ask('A text with NUL', resolve({ ...named, external_id: 'a\u0000b' }), invalid('/external_id'));
  await checks.ask('A name with a line break', resolve({ ...named, display_name: 'a\nb' }), invalid('/display_name'));
  await checks.ask('A lone surrogate', resolve(`{"external_id":"a\\ud800","project_key":"${stage.project.key}"}`), invalid('/external_id'));
  await checks.ask('A time zone that is none', resolve({ ...named, time_zone: 'Moon/Tycho' }), invalid('/time_zone'));
  await checks.ask(
    'Nothing of it was done',
    { method: 'GET', path: `/api/v1/xusers?external_id=${stage.name('never')}`, as: full },
    {
      status: 200,
      says: 'an empty list',
      test: ({ json }) => (json as unknown[]).length > 0 && 'a refused request made a user',
    },
  );

  const users = (query: string) => ({ method: 'GET', path: `/api/v1/xusers?${query}`, as: full });
  await checks.ask('A parameter that is not known', users('colour=red'), invalid('colour'));
  await checks.ask('A parameter twice', users('limit=1&limit=2'), invalid('/query/limit'));
  await checks.ask('A limit of 0', users('limit=0'), invalid('/query/limit'));
  await checks.ask('A limit above the most', users('limit=1001'), invalid('/query/limit'));
  await checks.ask('A limit that is no number', users('limit=many'), invalid('/query/limit'));
  await checks.ask('A parameter with NUL', users('search=%00'), invalid('/query/search'));
  await checks.ask('A cursor that is none', users('cursor=conform'), { status: 400, code: 'cursor_invalid' });

  await checks.ask(
    'Answers are not guessed, framed or kept',
    { method: 'GET', path: '/api/v1/projects', as: full },
    {
      status: 200,
      headers: { 'x-content-type-options': /nosniff/, 'content-security-policy': /frame-ancestors 'none'/, 'cache-control': /no-store/ },
    },
  );
  if (client.base.protocol === 'https:') {
    await checks.ask(
      'HTTPS is remembered',
      { method: 'GET', path: '/api/v1/projects', as: full },
      { status: 200, headers: { 'strict-transport-security': /max-age=\d{6,}/ } },
    );
  } else checks.skip('HTTPS is remembered', 'the address is not https');
  await checks.ask(
    'Answers say what is left of the rate',
    { method: 'GET', path: '/api/v1/projects', as: full },
    {
      status: 200,
      headers: { ratelimit: /r=\d+;t=\d+/, 'ratelimit-policy': /./ },
    },
  );
  await checks.claim('The service says that it is well', 'GET /readyz', '200 with its parts, all ok, within 10 s', async () => {
    for (let i = 0; ; i++) {
      const answer = await client.send({ method: 'GET', path: '/readyz', as: nobody });
      if (answer.status === 200) return '200';
      need(i < 20, `${answer.status} ${answer.text.slice(0, 200)}`);
      await sleep(500, undefined, { signal: client.signal });
    }
  });
}

/** Checks methods that a path does not have, HEAD for GET, and OPTIONS. */
async function checkMethods({ checks, client, stage }: Run): Promise<void> {
  const paths = [...new Set(rows.filter(({ family }) => family !== 'socket').map(({ path }) => path))];
  for (const path of paths) {
    const there = rows.filter((row) => row.path === path).map(({ method }) => method);
    const absent = methods.find((method) => !there.includes(method)) ?? 'PUT';
    const real = pathOf({ ...rows[0]!, path, query: () => '' }, null);
    const all = [...there, ...(there.includes('GET') ? ['HEAD'] : [])];
    const lists = new RegExp(`^${all.map((method) => `(?=.*\\b${method}\\b)`).join('')}(?!.*\\b${absent}\\b)`);
    await checks.claim(
      `${path}: only ${there.join(', ')}`,
      `${absent} and OPTIONS ${path} as nobody`,
      '405 with Allow, 204 with Allow',
      async () => {
        const refused = await checks.within(
          { method: absent, path: real, as: nobody },
          { status: 405, code: 'method_not_allowed', headers: { allow: lists } },
        );
        const options = await checks.within({ method: 'OPTIONS', path: real, as: nobody }, { status: 204, headers: { allow: lists } });
        return `405 and 204, Allow: ${refused.headers.get('allow') ?? ''}; ${options.headers.get('allow') ?? ''}`;
      },
    );
  }
  for (const path of ['/api-docs/errors', '/healthz', '/api/v1/bootstrap', '/api/v1/methods', '/.well-known/jwks.json']) {
    await checks.claim(
      `HEAD ${path} is GET without its body`,
      `HEAD and GET ${path}`,
      'the same status, type and length, and no body',
      async () => {
        const as = stage.byScope.read;
        const headers = { 'accept-encoding': 'identity' };
        const head = await checks.within({ method: 'HEAD', path, as, headers }, { status: 200 });
        const get = await checks.within({ method: 'GET', path, as, headers }, { status: 200 });
        need(head.bytes.length === 0, `${head.bytes.length} bytes of body`);
        need(head.headers.get('content-type') === get.headers.get('content-type'), 'another type');
        const length = head.headers.get('content-length');
        need(
          length === null || path === '/healthz' || length === String(get.bytes.length),
          `Content-Length ${length}, the body has ${get.bytes.length} bytes`,
        );
        return `200, ${get.bytes.length} bytes`;
      },
    );
  }
  await checks.claim(
    'Long answers are packed when that is asked for',
    'GET /api-docs with gzip, br, and identity',
    'the same text three times',
    async () => {
      const texts = new Set<string>();
      for (const coding of ['gzip', 'br', 'identity']) {
        const answer = await client.send({ method: 'GET', path: '/api-docs', as: nobody, headers: { 'accept-encoding': coding } });
        need(/accept-encoding/i.test(answer.headers.get('vary') ?? ''), 'no Vary: accept-encoding');
        texts.add(answer.text);
      }
      need(texts.size === 1, `${texts.size} different texts`);
      return 'the same';
    },
  );
}
