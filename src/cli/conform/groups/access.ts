/** Every kind of credential on every endpoint: one that the endpoint does not accept is refused with the documented code, before anything
 *  else is checked. Requests name records that do not exist and have no content, so none has an effect. */
import { need, Skipped } from '../checks.ts';
import type { Credential } from '../client.ts';
import { bearer, nobody } from '../client.ts';
import { families, pathOf, rows } from '../operations.ts';
import type { Caller, OperatorRole, Row } from '../operations.ts';
import type { Run } from '../run.ts';
import { scopeNames } from '../stage.ts';

export async function checkDescription({ checks, description }: Run): Promise<void> {
  await checks.claim('The description is OpenAPI 3.1', 'GET /api-docs', 'openapi 3.1.x', async () => {
    need(/^3\.1\.\d+$/.test(description.json.openapi ?? ''), `openapi is ${String(description.json.openapi)}`);
    return description.json.openapi ?? '';
  });
  await checks.claim('It has every endpoint of this release', 'GET /api-docs', `${rows.length} operations`, async () => {
    const missing = rows.filter(({ method, path }) => !description.operations.some((one) => one.method === method && one.path === path));
    need(missing.length === 0, `missing: ${missing.map(({ method, path }) => `${method} ${path}`).join(', ')}`);
    return `${description.operations.length} operations`;
  });
  await checks.claim(
    'It has no endpoint that this test does not know',
    'GET /api-docs',
    'the release of the service is that of the command',
    async () => {
      const unknown = description.operations.filter(({ method, path }) => !rows.some((one) => one.method === method && one.path === path));
      if (unknown.length > 0) throw new Skipped(`not tested: ${unknown.map(({ method, path }) => `${method} ${path}`).join(', ')}`);
      return 'none';
    },
  );
  await checks.claim('No id of an operation is used twice', 'GET /api-docs', 'distinct', async () => {
    const ids = description.operations.map(({ operationId }) => operationId);
    need(new Set(ids).size === ids.length, 'an operationId is used twice');
    return `${ids.length} ids`;
  });
}

export async function checkAccess(run: Run): Promise<void> {
  const { checks } = run;
  const role = await roleOf(run);
  for (const row of rows) {
    if (row.family === 'public' || row.family === 'socket') continue;
    const { method, path } = row;
    const expectation = expectedOf(row);
    await checks.claim(`${method} ${path}: who may call`, 'a record that does not exist, by each credential', expectation, () =>
      callers(run, row, role),
    );
  }
  for (const row of rows.filter(({ direct }) => direct !== undefined)) {
    const { method, path, direct = 'read' } = row;
    const expected = `allowed for the scope ${direct}, else 403 scope_missing`;
    await checks.claim(`${method} ${path}: direct mode`, 'keys with project-key and xuser-id', expected, () => directMode(run, row));
  }
}

function expectedOf({ family }: Row): string {
  const { user, ...rest } = families[family as keyof typeof families];
  const allowed = scopeNames.filter((scope) => rest[scope] === 'yes');
  const keys = allowed.length > 0 ? `key ${allowed.join(', ')}, other keys 403` : 'no key (401)';
  return `nobody 401, public keys 401, ${keys}, user token ${user === 'yes' ? 'yes' : user}`;
}

/** Outcome of each caller, in words. */
async function callers(run: Run, row: Row, role: OperatorRole | null): Promise<string> {
  const got: string[] = [];
  const family = families[row.family as keyof typeof families];
  const refusals: readonly (readonly [Credential, string])[] = [
    [nobody, 'credential_missing'],
    [bearer('a project key', run.stage.project.key), 'credential_kind'],
  ];
  for (const [as, code] of refusals) {
    const answer = await run.client.send(quietAsk(row, as));
    need(answer.status === 401 && answer.code === code, `${as.name}: ${answer.status} ${answer.code}, not 401 ${code}`);
    need(answer.headers.get('www-authenticate')?.startsWith('Bearer') === true, `${as.name}: no WWW-Authenticate: Bearer`);
    got.push(`${as.name} 401`);
  }
  const given: [Caller, Credential | string][] = [
    ...scopeNames.map((scope) => [scope, run.stage.byScope[scope]] as [Caller, Credential | string]),
    ['user', run.ada.as],
  ];
  if (role !== null && !/sign|revoke|erase/i.test(row.id)) given.push([role, run.session]);
  for (const [caller, as] of given) {
    if (typeof as === 'string' || (family[caller] === 'yes' && isOfOthers(run, row, caller))) continue;
    const answer = await run.client.send(quietAsk(row, as));
    const outcome = family[caller];
    const seen = `${answer.status} ${answer.code}`;
    if (outcome === 'yes') need(answer.status !== 401 && answer.status !== 403 && answer.status < 500, `${as.name}: ${seen}, not allowed`);
    else {
      // A cookie is ignored where no operator may call.
      const code = outcome === 403 ? 'scope_missing' : as === run.session ? 'credential_missing' : 'credential_kind';
      need(answer.status === outcome && answer.code === code, `${as.name}: ${seen}, not ${outcome} ${code}`);
    }
    const breaches = run.description.breaches(row.method, pathOf(row, null), answer);
    need(breaches.length === 0, `${as.name}: ${seen}, not as described: ${breaches.join('; ')}`);
    got.push(`${as.name} ${answer.status}`);
  }
  return got.join(', ');
}

/** Would a good credential see data outside this run? */
function isOfOthers({ stage }: Run, { quiet, broad }: Row, caller: Caller): boolean {
  if (quiet === true) return true;
  return broad === true && caller !== 'user' && (caller === 'viewer' || caller === 'editor' || caller === 'head' || !stage.ownProject);
}

function quietAsk(row: Row, as: Credential) {
  const path = pathOf(row, null);
  if (row.id === 'postRawPacket') return { method: row.method, path, as, bytes: Buffer.from('00', 'hex') };
  return {
    method: row.method,
    path,
    as,
    ...(/GET|DELETE/.test(row.method) ? {} : { body: row.id === 'createProject' ? { name: '' } : {} }),
  };
}

async function directMode(run: Run, row: Row): Promise<string> {
  const got: string[] = [];
  for (const scope of scopeNames) {
    const as = run.stage.byScope[scope];
    if (typeof as === 'string') continue;
    const headers = { 'project-key': run.stage.project.key, 'xuser-id': run.ada.externalId };
    const answer = await run.client.send({ ...quietAsk(row, as), headers });
    if (scope === row.direct)
      need(answer.status !== 401 && answer.status !== 403 && answer.status < 500, `${scope}: ${answer.status} ${answer.code}`);
    else need(answer.status === 403 && answer.code === 'scope_missing', `${scope}: ${answer.status} ${answer.code}, not 403 scope_missing`);
    got.push(`${scope} ${answer.status}`);
  }
  return got.join(', ');
}

/** Finds the operator's role by what the session may do. */
async function roleOf({ client, session }: Run): Promise<OperatorRole | null> {
  if (typeof session === 'string') return null;
  const { json } = await client.send({ method: 'GET', path: '/auth/session', as: session });
  const { role } = (json ?? {}) as { role?: string };
  const roles = { owner: 'head', admin: 'head', clinician: 'editor', analyst: 'viewer', viewer: 'viewer' } as const;
  return roles[role as keyof typeof roles] ?? null;
}

/** Checks that the first person's records do not exist for any other caller. */
export async function checkStrangers(run: Run): Promise<void> {
  const { checks, stage, ben, cleo, otherKey } = run;
  const strangers: (readonly [string, Credential | string])[] = [
    ['another person', ben.as],
    ['another project', stage.otherFull],
    ['a person of another project', cleo?.as ?? 'there is no second project'],
    ['another organization', otherKey],
  ];
  for (const [who, as] of strangers) {
    if (typeof as === 'string') {
      checks.skip(`Records for ${who}`, as);
      continue;
    }
    for (const row of rows.filter(({ named }) => named === true)) {
      if (as === ben.as && isOfProject(row)) continue; // they share it
      const outcome = families[row.family as keyof typeof families];
      const isUser = as === ben.as || as === cleo?.as;
      if (as === otherKey && row.id === 'setDeviceProfile') continue; // each organization has its own devices, so this would create one
      if (isUser && outcome.user !== 'yes') continue; // refused for every person: checked above
      if (!isUser && !scopeNames.some((scope) => outcome[scope] === 'yes')) continue;
      const expected =
        row.id === 'listUsers'
          ? '404, or no users'
          : row.id === 'createUserToken' || row.id === 'resolveUser'
            ? '404, or a user of its own'
            : '404, as for what does not exist';
      const name = `${row.method} ${row.path}: not for ${who}`;
      await checks.claim(name, 'a record of the first person, by its id', expected, () => stranger(run, row, as));
    }
  }
}

const isOfProject = ({ path, id }: Row): boolean => path.includes('{projectId}') || id === 'listUsers';

async function stranger(run: Run, row: Row, as: Credential): Promise<string> {
  const { ids } = run.stage;
  if (row.path.includes('{webhookId}') && ids.webhook === '') throw new Skipped('no webhook could be made');
  const body = row.body?.(ids);
  const answer = await run.client.send({ method: row.method, path: pathOf(row, ids), as, ...(body === undefined ? {} : { body }) });
  if (as === run.otherKey && row.id === 'listUsers' && answer.status === 200 && answer.text === '[]') return '200, nobody';
  need(answer.status === 404 && answer.code === 'not_found', `${answer.status} ${answer.code}`);
  need(!answer.text.includes(run.ada.id) || pathOf(row, ids).includes(run.ada.id), 'the answer names the person');
  return '404 not_found';
}
