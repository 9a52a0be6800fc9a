/** Webhooks: registered, shown without their secret, changed and removed. Nothing is delivered unless an address was given. */
import { need } from '../checks.ts';
import type { Run } from '../run.ts';

/** An unused address; the webhook is removed before anything is sent. */
const UNUSED = 'https://conform.example.com/hooks';

export async function checkWebhooks(run: Run): Promise<void> {
  const { checks, stage, webhookUrl } = run;
  const as = stage.operator; // a key with an expiry cannot register one
  const { project } = stage;
  const create = (url: string, events: readonly string[] = ['artifact.created']) => ({
    method: 'POST',
    path: '/api/v1/webhooks',
    as,
    body: { url, events, project_id: project.id, description: stage.name('hook') },
  });
  const invalid = { status: 422, code: 'validation_failed' };
  const inside = {
    'an address of the machine': 'https://[::1]/x',
    'the metadata of a cloud': 'http://169.254.169.254/latest',
    'no address': 'ftp://conform.example.com/',
    'another scheme': 'file:///etc/passwd',
  };
  await checks.ask('A key that ends registers none', { ...create(UNUSED), as: stage.full }, { status: 403, code: 'scope_missing' });
  const made = await checks.ask('A webhook is registered', create(UNUSED), {
    status: [201, 403],
    says: 'with a secret of 32 bytes; 403 when the given key ends',
    test: ({ status, json }) =>
      status === 201 && Buffer.from((json as { secret: string }).secret, 'base64').length !== 32 && 'another secret',
  });
  if (made === null || made.status !== 201) return checks.skip('Webhooks', 'none could be made: the given key expires, or lacks the scope');
  for (const [what, url] of Object.entries(inside)) await checks.ask(`No webhook to ${what}`, create(url), invalid);
  await checks.ask('No webhook for an event that is none', create(UNUSED, ['conform.happened']), invalid);
  const { id, secret } = made.json as { id: string; secret: string };
  stage.noteWebhook(id);
  stage.ids.webhook = id;
  const path = `/api/v1/webhooks/${id}`;
  const own = {
    status: 200,
    test: ({ text }: { text: string }) => (!text.includes(id) && 'it is not listed') || (text.includes(secret) && 'its secret is listed'),
  };
  await checks.ask('It is listed, without its secret', { method: 'GET', path: '/api/v1/webhooks', as: stage.byScope.admin }, own);
  await checks.ask(
    'It has no deliveries',
    { method: 'GET', path: `${path}/deliveries`, as: stage.byScope.admin },
    { status: 200, test: ({ json }) => (json as unknown[]).length > 0 && 'it has' },
  );
  await checks.ask(
    'Its secret is changed',
    { method: 'POST', path: `${path}/rotate-secret`, as, body: { overlap_sec: 0 } },
    {
      status: [200, 201],
      says: 'another secret',
      test: ({ json }) => (json as { secret: string }).secret === secret && 'the same',
    },
  );
  await checks.ask('It is switched on', { method: 'POST', path: `${path}/resume`, as, body: {} }, { status: [200, 202, 204, 409] });
  if (webhookUrl === '') checks.skip('A test is delivered', 'no --webhook-url was given');
  else await deliver(run, create(webhookUrl));
}

export async function removeWebhook({ checks, stage }: Run): Promise<void> {
  const { webhook } = stage.ids;
  if (webhook === '') return checks.skip('A webhook is removed', 'none could be made');
  const path = `/api/v1/webhooks/${webhook}`;
  await checks.ask('A webhook is removed', { method: 'DELETE', path, as: stage.operator }, { status: 204 });
  await checks.ask('It is gone', { method: 'GET', path: `${path}/deliveries`, as: stage.operator }, { status: 404, code: 'not_found' });
  await checks.ask('It is not removed twice', { method: 'DELETE', path, as: stage.operator }, { status: 404, code: 'not_found' });
}

async function deliver({ checks, stage, webhookUrl }: Run, create: Parameters<Run['checks']['ask']>[1]): Promise<void> {
  await checks.claim('A test is delivered', `a ping to ${new URL(webhookUrl).host}`, 'answered 2xx', async () => {
    const { json } = await checks.within(create, { status: 201 });
    const { id } = json as { id: string };
    stage.noteWebhook(id);
    const answer = await checks.within(
      { method: 'POST', path: `/api/v1/webhooks/${id}/test`, as: stage.operator, body: {} },
      { status: 200 },
    );
    const { status, error } = answer.json as { status: number | null; error: string | null };
    need(status !== null && status >= 200 && status < 300, `${status ?? ''} ${error ?? ''}`);
    return String(status);
  });
}
