/** Repeated and conflicting changes: Idempotency-Key, ETag and If-Match, If-None-Match. */
import { randomUUID } from 'node:crypto';
import { need } from '../checks.ts';
import type { Run } from '../run.ts';

const replayed = { 'idempotency-replayed': /^true$/ };

export async function checkWrites(run: Run): Promise<void> {
  await checkIdempotency(run);
  await checkPreconditions(run);
}

async function checkIdempotency({ checks, stage, ada, ben }: Run): Promise<void> {
  const as = stage.full;
  const key = randomUUID();
  const body = { subject_id: ada.id, kind: 'conform', started_at: '2025-03-04T08:00:00Z', title: `conform ${key}` };
  const episode = (headers: Readonly<Record<string, string>>, change: object = {}) => ({
    method: 'POST',
    path: '/api/v1/episodes',
    as,
    body: { ...body, ...change },
    headers,
  });
  const first = await checks.ask('A POST with an Idempotency-Key', episode({ 'idempotency-key': key }), {
    status: 201,
    headers: { 'idempotency-replayed': null },
  });
  await checks.ask('The same again is answered the same', episode({ 'idempotency-key': key }), {
    status: 201,
    headers: replayed,
    says: 'the same episode',
    test: ({ text }) => text !== first?.text && 'another answer',
  });
  await checks.ask('Its key with another body', episode({ 'idempotency-key': key }, { title: 'other' }), {
    status: 422,
    code: 'idempotency_mismatch',
  });
  await checks.claim('Sent twice at the same moment', 'two POST /api/v1/episodes with one key', '201 and the same, or 409', async () => {
    const twin = randomUUID();
    const answers = await Promise.all(
      [0, 1].map(() => checks.within(episode({ 'idempotency-key': twin }, { title: `twin ${twin}` }), { status: [201, 409] })),
    );
    const made = answers.filter(({ status }) => status === 201).map(({ json }) => (json as { id: string }).id);
    need(made.length > 0 && new Set(made).size === 1, `${new Set(made).size} different episodes`);
    return answers.map(({ status }) => status).join(', ');
  });
  await checks.ask(
    'Each was done once',
    { method: 'GET', path: `/api/v1/episodes?subject_id=${ada.id}&kind=conform`, as },
    {
      status: 200,
      says: 'two episodes',
      test: ({ json }) => (json as unknown[]).length !== 2 && `${(json as unknown[]).length} episodes`,
    },
  );
  await checks.ask('A key with a blank', episode({ 'idempotency-key': 'a b' }), { status: 400, code: 'bad_request' });
  await checks.ask('A key of 201 letters', episode({ 'idempotency-key': 'x'.repeat(201) }), { status: 400, code: 'bad_request' });
  const mood = (who: typeof ada) => ({
    method: 'POST',
    path: '/api/v1/moods',
    as: who.as,
    body: { score: 3 },
    headers: { 'idempotency-key': key },
  });
  await checks.ask('The key of one caller is not that of another', mood(ada), { status: 201, headers: { 'idempotency-replayed': null } });
  await checks.ask('Nor of another person', mood(ben), { status: 201, headers: { 'idempotency-replayed': null } });
  const refused = randomUUID();
  await checks.ask('What was refused is not kept', episode({ 'idempotency-key': refused }, { kind: 'NOT A KIND' }), {
    status: 422,
    code: 'validation_failed',
  });
  const measured = { subject_id: ada.id, measurements: [{ biosignal_id: 67, value: 71, time: '2025-03-04T09:00:00Z' }] };
  const measure = { method: 'POST', path: '/api/v1/measurements', as, body: measured };
  await checks.ask('A measurement', measure, {
    status: 201,
    test: ({ json }) => (json as { created: number }).created !== 1 && 'created is not 1',
  });
  await checks.ask('The same measurement, without a key', measure, {
    status: 201,
    says: 'created 0, duplicates 1',
    test: ({ json }) => (json as { duplicates: number }).duplicates !== 1 && 'stored twice',
  });
  const half = {
    ...measured,
    measurements: [
      { biosignal_id: 67, value: 72, time: '2025-03-04T10:00:00Z' },
      { biosignal_id: 61, value: 250, time: '2025-03-04T10:00:00Z' },
    ],
  };
  await checks.ask('Measurements of which one cannot be', { ...measure, body: half }, { status: 422, code: 'validation_failed' });
  await checks.ask(
    'Nothing of them was stored',
    { method: 'GET', path: `/api/v1/observations?biosignal_id=67&subject_id=${ada.id}&since=2025-03-04T10:00:00Z`, as },
    {
      status: 200,
      says: 'an empty list',
      test: ({ json }) => (json as unknown[]).length > 0 && 'half of it was stored',
    },
  );
  const fahrenheit = { ...measured, measurements: [{ biosignal_id: 62, value: 98.6, unit: '[degF]', time: '2025-03-04T09:00:00Z' }] };
  await checks.ask(
    'Another unit is converted',
    { ...measure, body: fahrenheit },
    {
      status: 201,
      says: '37 Cel',
      test: ({ json }) =>
        Math.abs(((json as { converted: { value: number }[] }).converted[0]?.value ?? 0) - 37) > 1e-9 &&
        JSON.stringify((json as { converted: unknown }).converted),
    },
  );
  await checks.ask(
    'A unit that does not fit',
    { ...measure, body: { ...measured, measurements: [{ ...measured.measurements[0], unit: 'mm[Hg]' }] } },
    { status: 422, code: 'validation_failed' },
  );
}

async function checkPreconditions({ checks, stage, ben }: Run): Promise<void> {
  const as = stage.full;
  const user = `/api/v1/xusers/${ben.id}`;
  const read = await checks.ask('A user has an ETag', { method: 'GET', path: user, as }, { status: 200, headers: { etag: /^"/ } });
  const etag = read?.headers.get('etag') ?? '';
  const change = (name: string, match: string) => ({
    method: 'PATCH',
    path: user,
    as,
    body: { display_name: name },
    headers: { 'if-match': match },
  });
  await checks.ask('A change of what was read', change('conform one', etag), {
    status: 200,
    headers: { etag: /^"/ },
    says: 'another ETag',
    test: ({ headers }) => headers.get('etag') === etag && 'the same ETag',
  });
  const stale = { status: 412, code: 'precondition_failed' };
  await checks.ask('A change of what has been changed since', change('conform two', etag), stale);
  await checks.ask(
    'It was not done',
    { method: 'GET', path: user, as },
    { status: 200, test: ({ json }) => (json as { display_name: string }).display_name !== 'conform one' && 'it was' },
  );
  await checks.ask('A change of anything', change('conform three', '*'), { status: 200 });
  await checks.ask('A change of one of several', change('conform four', `"x", ${etag}, "y"`), stale);
  const now = (await checks.ask('What is there now', { method: 'GET', path: user, as }, { status: 200 }))?.headers.get('etag') ?? '';
  await checks.ask('A tag that a proxy made weak', change('conform five', `W/${now.replace(/^W\//, '')}`), { status: 200 });
  await checks.claim('Two changes of the same at once', 'two PATCH with one ETag', 'one 200, one 412', async () => {
    const tag = (await checks.within({ method: 'GET', path: user, as }, { status: 200 })).headers.get('etag') ?? '';
    const both = await Promise.all(['six', 'seven'].map((name) => checks.within(change(`conform ${name}`, tag), { status: [200, 412] })));
    const statuses = both.map(({ status }) => status).toSorted((a, b) => a - b);
    need(statuses.join() === '200,412', statuses.join());
    return '200, 412';
  });
  const episode = `/api/v1/episodes/${stage.ids.episode}`;
  const seen =
    (
      await checks.ask('An episode has an ETag', { method: 'GET', path: episode, as }, { status: 200, headers: { etag: /./ } })
    )?.headers.get('etag') ?? '';
  const close = { method: 'PATCH', path: episode, as, body: { title: 'Run' }, headers: { 'if-match': seen } };
  await checks.ask('It is changed once', close, { status: 200 });
  await checks.ask('And not twice from the same', close, stale);
  if (stage.ownProject) {
    for (const what of ['origins', 'settings']) {
      const path = `/api/v1/projects/${stage.project.id}/${what}`;
      const before = await checks.ask(
        `The ${what} of a project have an ETag`,
        { method: 'GET', path, as },
        { status: 200, headers: { etag: /./ } },
      );
      const put = (match: string) => ({ method: 'PUT', path, as, body: before?.json, headers: { 'if-match': match } });
      await checks.ask(`Put back as they were: ${what}`, put(before?.headers.get('etag') ?? ''), { status: 200 });
      await checks.ask(`Put over another state: ${what}`, put('"conform"'), stale);
    }
  } else checks.skip('The settings of a project have an ETag', 'the project is not of this run');
  for (const path of [`/api/v1/projects/${stage.project.id}/biosignals`, '/api/v1/bootstrap', '/api/v1/device-profiles', '/api-docs']) {
    const name = path.replace(stage.project.id, '{projectId}');
    await checks.claim(`If-None-Match: ${name}`, `GET ${name} twice`, '200 with ETag, then 304 without a body', async () => {
      const first = await checks.within({ method: 'GET', path, as }, { status: 200, headers: { etag: /./ } });
      const again = await checks.within(
        { method: 'GET', path, as, headers: { 'if-none-match': first.headers.get('etag') ?? '' } },
        { status: 304 },
      );
      need(again.bytes.length === 0, `${again.bytes.length} bytes`);
      await checks.within({ method: 'GET', path, as, headers: { 'if-none-match': '"conform"' } }, { status: 200 });
      return '200, 304, and 200 for another tag';
    });
  }
}
