/** Checks the rights of a person: consent, disabling and erasure. */
import { need } from '../checks.ts';
import { bearer } from '../client.ts';
import type { Credential } from '../client.ts';
import type { Run } from '../run.ts';
import { encoded, newBoot, packet } from '../signals.ts';
import { refusedSoon } from './ends.ts';
import { openSocket } from './websocket.ts';

export async function checkPeople(run: Run): Promise<void> {
  await checkConsent(run);
  await checkDisabled(run);
  await checkErasure(run);
}

/** Checks consent in the second project, whose rules the run may change. */
async function checkConsent({ checks, stage, cleo }: Run): Promise<void> {
  const { otherProject, otherFull: as } = stage;
  if (otherProject === null || cleo === null || typeof as === 'string')
    return checks.skip('Consent', 'there is no second project whose rules may be changed');
  const path = `/api/v1/projects/${otherProject.id}/settings`;
  const rules = (consent: readonly string[]) => ({
    method: 'PUT',
    path,
    as,
    body: { retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: consent },
  });
  const consents = `/api/v1/xusers/${cleo.id}/consents`;
  const say = (purpose: string, granted: boolean) => ({ method: 'POST', path: consents, as: cleo.as, body: { purpose, granted } });
  const streams = `/api/v1/streams?subject_id=${cleo.id}`;
  const missing = { status: 403, code: 'consent_missing' };
  await checks.ask('A project asks for both consents', rules(['recording', 'sharing']), { status: 200 });
  await checks.ask('Without consent to sharing, a key does not read', { method: 'GET', path: streams, as }, missing);
  await checks.ask('The person does', { method: 'GET', path: streams, as: cleo.as }, { status: 200 });
  const device = stage.name('consent');
  const boot = newBoot();
  const send = (seq: number, by: Credential | string = as) => ({
    method: 'POST',
    path: '/ingest/raw-packet',
    as: by,
    bytes: encoded(packet(device, boot, seq, cleo.externalId)),
  });
  await checks.ask('Without consent to recording, no packet is taken', send(0), { status: [403, 422], code: 'consent_missing' });
  await checks.ask('Nor a mood', { method: 'POST', path: '/api/v1/moods', as: cleo.as, body: { score: 3 } }, missing);
  await checks.ask('Consent to recording', say('recording', true), { status: 201 });
  await checks.ask('Then packets are taken', send(1), { status: 202 });
  await checks.ask('And a key still does not read', { method: 'GET', path: streams, as }, missing);
  await checks.ask('Consent to sharing', say('sharing', true), { status: 201 });
  await checks.ask('Then a key reads', { method: 'GET', path: streams, as }, { status: 200 });
  await checks.ask('A consent is withdrawn', say('sharing', false), { status: 201 });
  await checks.ask('And holds no more', { method: 'GET', path: streams, as }, missing);
  await checks.ask(
    'Every record of consent is kept',
    { method: 'GET', path: consents, as: cleo.as },
    {
      status: 200,
      says: 'granted and withdrawn',
      test: ({ text }) => !(text.includes('"granted":true') && text.includes('"granted":false')) && 'one is gone',
    },
  );
  await checks.ask('Nobody consents for a purpose that is none', say('advertising', true), { status: 422, code: 'validation_failed' });
  await checks.ask('The project asks for none', rules([]), { status: 200 });
}

async function checkDisabled(run: Run): Promise<void> {
  const { checks, stage } = run;
  const as = stage.full;
  const person = await stage.person('leaver');
  const change = (disabled: boolean) => ({ method: 'PATCH', path: `/api/v1/xusers/${person.id}`, as, body: { disabled } });
  await checks.ask('A user is disabled', change(true), {
    status: 200,
    test: ({ json }) => !(json as { disabled: boolean }).disabled && 'is not',
  });
  await checks.claim('Their token is refused within a second', 'GET /api/v1/bootstrap', '401', async () => {
    return await refusedSoon(run, person.as);
  });
  const mint = { method: 'POST', path: '/api/v1/sdk/token', as, body: { external_id: person.externalId, project_key: stage.project.key } };
  await checks.ask('They get no token', mint, { status: 409, code: 'conflict' });
  await checks.ask('A user is enabled again', change(false), { status: 200 });
  await checks.ask('They get a token again', mint, { status: 200 });
}

async function checkErasure(run: Run): Promise<void> {
  const { checks, stage } = run;
  const as = stage.full;
  const dora = await stage.person('dora');
  const device = stage.name('dora');
  await checks.ask(
    'A person records',
    { method: 'POST', path: '/ingest/raw-packet', as: stage.byScope.ingest, bytes: encoded(packet(device, newBoot(), 0, dora.externalId)) },
    { status: 202 },
  );
  await checks.ask(
    'And has a mood',
    { method: 'POST', path: '/api/v1/moods', as: dora.as, body: { score: 2, note: 'conform' } },
    { status: 201 },
  );
  const listed = await checks.ask('Their recording', { method: 'GET', path: `/api/v1/streams?subject_id=${dora.id}`, as }, { status: 200 });
  const stream = (listed?.json as { id: string }[] | undefined)?.[0]?.id ?? '';
  const socket = await openSocket(run, `/ws?subject=${dora.id}`, dora.token).catch(() => null);
  const erase = (externalId: string) => ({
    method: 'POST',
    path: `/api/v1/xusers/${dora.id}/erase`,
    as,
    body: { confirm_external_id: externalId },
  });
  await checks.ask('Nobody is erased by a wrong name', erase('conform-nobody'), { status: 422, code: 'validation_failed' });
  await checks.ask(
    'Nor by a key without admin',
    { ...erase(dora.externalId), as: stage.byScope.write },
    { status: 403, code: 'scope_missing' },
  );
  await checks.ask('The receipt of an erasure', erase(dora.externalId), {
    status: 200,
    says: 'every store with nothing remaining',
    test: ({ json }) => {
      const { stores, xuser_id: id } = json as { xuser_id: string; stores: { store: string; deleted: number; remaining: number }[] };
      const left = stores.filter(({ remaining }) => remaining !== 0).map(({ store }) => store);
      return (
        (id !== dora.id && 'another person') ||
        (left.length > 0 && `remaining: ${left.join(', ')}`) ||
        (!stores.some(({ deleted }) => deleted > 0) && 'nothing was deleted')
      );
    },
  });
  const gone = { status: 404, code: 'not_found' };
  await checks.ask('The person is gone', { method: 'GET', path: `/api/v1/xusers/${dora.id}`, as }, gone);
  await checks.ask('Their recording is gone', { method: 'GET', path: `/api/v1/streams/${stream}`, as }, gone);
  await checks.ask(
    'Their samples are gone',
    { method: 'GET', path: `/api/v1/streams/${stream}/samples?since=2020-01-01T00:00:00Z&until=2199-01-01T00:00:00Z`, as },
    gone,
  );
  await checks.ask('Their export is gone', { method: 'GET', path: `/api/v1/xusers/${dora.id}/export`, as }, gone);
  await checks.ask(
    'They are in no list',
    { method: 'GET', path: `/api/v1/xusers?external_id=${dora.externalId}`, as },
    { status: 200, test: ({ json }) => (json as unknown[]).length > 0 && 'they are' },
  );
  if (stage.ownProject)
    await checks.ask(
      'Their device is in no list',
      { method: 'GET', path: '/api/v1/devices?limit=1000', as },
      { status: 200, test: ({ text }) => text.includes(device) && 'it is' },
    );
  await checks.ask('They cannot be erased twice', erase(dora.externalId), gone);
  await checks.claim('Their token is refused within a second', 'GET /api/v1/bootstrap', '401', async () => {
    return await refusedSoon(run, dora.as);
  });
  await checks.claim('Their open feed ends', '/ws, opened before', 'closed with 4502 or 4507', async () => {
    need(socket !== null, 'it could not be opened');
    const code = await socket.closed(3000);
    need(code === 4502 || code === 4507, `closed with ${code}`);
    return String(code);
  });
  const again = await stage.person('dora');
  await checks.claim(
    'The same name is another person then',
    'POST /api/v1/sdk/token',
    'another xuser_id, without a recording',
    async () => {
      need(again.id !== dora.id, 'the same id');
      const { json } = await checks.within(
        { method: 'GET', path: '/api/v1/streams', as: bearer('the new token', again.token) },
        { status: 200 },
      );
      need((json as unknown[]).length === 0, 'a recording is there');
      return 'another, and empty';
    },
  );
}
