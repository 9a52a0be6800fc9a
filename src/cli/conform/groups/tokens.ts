/** User tokens with one fault each, and the life of a good one. Only the service can sign with its key, so a changed claim comes with a
 *  foreign or a broken signature: these checks show that neither is accepted, whatever the header says. */
import { createHmac, createPublicKey, createSign, generateKeyPairSync, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { need } from '../checks.ts';
import { bearer, nobody, refusedBearer } from '../client.ts';
import type { Run } from '../run.ts';
import { refusedSoon } from './ends.ts';
import { isUuid } from './shapes.ts';

type Jwk = Readonly<{ kid: string; kty: string; n: string; e: string; alg: string; use: string }>;
type Claims = Readonly<Record<string, unknown>>;

const part = (value: unknown): string => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const opened = (text: string): Claims => JSON.parse(Buffer.from(text, 'base64url').toString()) as Claims;

export async function checkTokens(run: Run): Promise<void> {
  const { checks, stage, ada, ben } = run;
  const { full } = stage;
  const mint = {
    method: 'POST',
    path: '/api/v1/sdk/token',
    as: full,
    body: { external_id: ada.externalId, project_key: stage.project.key },
  };
  const minted = await checks.ask('A token is minted', mint, {
    status: 200,
    says: 'xuser_token, xuser_id, expires_in 3600',
    test: ({ json }) => {
      const token = json as { xuser_token: string; xuser_id: string; expires_in: number };
      if (Object.keys(token).toSorted().join() !== 'expires_in,xuser_id,xuser_token') return `members ${Object.keys(token).join()}`;
      if (token.expires_in !== 3600) return `expires_in ${token.expires_in}`;
      return token.xuser_id !== ada.id && 'another user than before';
    },
  });
  const token = (minted?.json as { xuser_token: string } | undefined)?.xuser_token ?? ada.token;
  const [head = '', body = '', signature = ''] = token.split('.');
  const header = opened(head);
  const claims = opened(body);

  let keys: readonly Jwk[] = [];
  await checks.ask(
    'The keys that verify tokens are public',
    { method: 'GET', path: '/.well-known/jwks.json', as: nobody },
    {
      status: 200,
      says: 'RSA keys for RS256, and nothing private',
      test: ({ json }) => {
        keys = (json as { keys: Jwk[] }).keys;
        if (keys.length === 0) return 'no key';
        const wrong = keys.find(
          (key) =>
            key.kty !== 'RSA' || key.alg !== 'RS256' || Object.keys(key).some((name) => 'dpq'.includes(name) || /^d[pq]$|^qi$/.test(name)),
        );
        return wrong !== undefined && `key ${wrong.kid} has members ${Object.keys(wrong).join()}`;
      },
    },
  );
  const known = keys.find(({ kid }) => kid === header['kid']);
  await checks.claim(
    'Its header is alg RS256, kid, typ',
    'the minted token',
    'alg RS256, typ JWT, the kid of a published key',
    async () => {
      need(header['alg'] === 'RS256' && header['typ'] === 'JWT', JSON.stringify(header));
      need(known !== undefined, `no published key has its kid`);
      return JSON.stringify({ ...header, kid: '…' });
    },
  );
  await checks.claim('Its signature fits the published key', 'the minted token', 'verified', async () => {
    need(known !== undefined, 'no published key has its kid');
    const key = createPublicKey({ key: { ...known } as never, format: 'jwk' });
    need(verify('RSA-SHA256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url')), 'the signature does not fit');
    return 'it fits';
  });
  await checks.claim(
    'Its claims are of user, project and organization',
    'the minted token',
    'sub, proj, org, exp - iat = 3600, aud, iss, jti',
    async () => {
      need(claims['sub'] === ada.id && claims['proj'] === stage.project.id && isUuid(claims['org']), 'sub, proj or org');
      need(Number(claims['exp']) - Number(claims['iat']) === 3600, `it lasts ${Number(claims['exp']) - Number(claims['iat'])} s`);
      need(
        ['aud', 'iss', 'jti'].every((name) => typeof claims[name] === 'string' && claims[name] !== ''),
        'aud, iss or jti is absent',
      );
      return 'all there';
    },
  );

  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signed = (changes: Claims, headers: Claims = {}, key: KeyObject = privateKey): string => {
    const text = `${part({ ...header, ...headers })}.${part({ ...claims, ...changes })}`;
    return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
  };
  const now = Math.floor(Date.now() / 1000);
  const hmac = (secret: string): string => {
    const text = `${part({ ...header, alg: 'HS256' })}.${body}`;
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const pem =
    known === undefined
      ? ''
      : createPublicKey({ key: { ...known } as never, format: 'jwk' })
          .export({ type: 'spki', format: 'pem' })
          .toString();
  const none = (alg: string): string => `${part({ ...header, alg })}.${body}.`;
  const flipped = Buffer.from(signature, 'base64url');
  flipped[10] = (flipped[10] ?? 0) ^ 1;
  const own = publicKey.export({ format: 'jwk' });
  const forged: Readonly<Record<string, string>> = {
    'alg none, no signature': none('none'),
    'alg None': none('None'),
    'alg nOnE': none('nOnE'),
    'alg none with the old signature': `${none('none')}${signature}`,
    'no alg': `${part({ kid: header['kid'], typ: 'JWT' })}.${body}.${signature}`,
    'HS256 signed with the public key': hmac(pem),
    'HS256 signed with the modulus': hmac(known?.n ?? ''),
    'HS256 signed with nothing': hmac(' '),
    'alg RS512 in the header': `${part({ ...header, alg: 'RS512' })}.${body}.${signature}`,
    'a foreign key, everything else right': signed({}),
    'a foreign key in the header (jwk)': signed({}, { jwk: own }),
    'a foreign key by address (jku)': signed({}, { jku: 'https://conform.invalid/keys' }),
    'a kid that nobody has': signed({}, { kid: 'conform' }),
    'a kid that is a path': signed({}, { kid: '../../etc/passwd' }),
    'a kid that is SQL': signed({}, { kid: "' or '1'='1" }),
    'no kid': `${part({ alg: 'RS256', typ: 'JWT' })}.${body}.${signature}`,
    'another typ': `${part({ ...header, typ: 'at+jwt' })}.${body}.${signature}`,
    'a header member more': `${part({ ...header, crit: ['x'] })}.${body}.${signature}`,
    'another person, old signature': `${head}.${part({ ...claims, sub: ben.id })}.${signature}`,
    'another project, old signature': `${head}.${part({ ...claims, proj: run.stage.otherProject?.id ?? ben.id })}.${signature}`,
    'another organization, old signature': `${head}.${part({ ...claims, org: ben.id })}.${signature}`,
    'a longer life, old signature': `${head}.${part({ ...claims, exp: now + 86_400 })}.${signature}`,
    'another audience, foreign key': signed({ aud: 'another' }),
    'another issuer, foreign key': signed({ iss: 'https://conform.invalid' }),
    'not yet valid, foreign key': signed({ nbf: now + 600 }),
    'issued in the future, foreign key': signed({ iat: now + 600, exp: now + 4200 }),
    'a signature cut short': token.slice(0, -8),
    'a signature with one bit changed': `${head}.${body}.${flipped.toString('base64url')}`,
    'no signature': `${head}.${body}.`,
    'two parts': `${head}.${body}`,
    'four parts': `${token}.${part('{}')}`,
    'an empty part': `.${body}.${signature}`,
    'claims that are no JSON': `${head}.${part('not json')}.${signature}`,
    padding: `${token}==`,
    'a letter more': `${token}A`,
  };
  for (const [what, text] of Object.entries(forged)) {
    const as = refusedBearer(`a token: ${what}`, text);
    await checks.ask(
      `Refused: ${what}`,
      { method: 'GET', path: '/api/v1/bootstrap', as },
      { status: 401, code: ['credential_invalid', 'token_expired'] },
    );
  }
  await checks.ask(
    'A key with another last letter',
    { method: 'GET', path: '/api/v1/bootstrap', as: refusedBearer('a key with a typo', `org_live_${'x'.repeat(40)}`) },
    { status: 401, code: 'credential_invalid' },
  );
  await checks.ask(
    'Another scheme than Bearer',
    { method: 'GET', path: '/api/v1/bootstrap', as: { name: 'Basic', headers: { authorization: 'Basic eDp5' }, refused: true } },
    { status: 401, code: 'credential_invalid' },
  );
  await checks.ask(
    'A token in the address',
    { method: 'GET', path: '/api/v1/bootstrap?access_token=x', as: nobody },
    { status: 401, code: 'credential_missing' },
  );
  await checks.ask(
    'The good token still works',
    { method: 'GET', path: '/api/v1/bootstrap', as: bearer('the minted token', token) },
    { status: 200 },
  );
  await checks.ask(
    'A token for an unknown project',
    { ...mint, body: { external_id: ada.externalId, project_key: 'proj_conform' } },
    { status: 404, code: 'not_found' },
  );
  await checks.ask(
    'A token for nobody',
    { ...mint, body: { external_id: '', project_key: stage.project.key } },
    { status: 422, code: 'validation_failed' },
  );

  await checkKeys(run);
}

/** Checks keys: shown once, never more rights than their maker, useless once revoked. */
async function checkKeys(run: Run): Promise<void> {
  const { checks, stage } = run;
  const { admin } = stage.byScope;
  await checks.ask(
    'Lists of keys hold no secret',
    { method: 'GET', path: '/api/v1/api-keys', as: admin },
    {
      status: 200,
      test: ({ json }) => (json as object[]).some((key) => 'key' in key) && 'a listed key has its secret',
    },
  );
  const wide = { name: stage.name('key'), scopes: ['read'], project_id: stage.project.id };
  await checks.ask(
    'A key cannot grant a scope that it lacks',
    { method: 'POST', path: '/api/v1/api-keys', as: admin, body: wide },
    { status: 403, code: 'scope_missing' },
  );
  const longer = { ...wide, scopes: ['admin'], expires_at: '2199-01-01T00:00:00Z' };
  await checks.ask(
    'A key that ends gives no more time',
    { method: 'POST', path: '/api/v1/api-keys', as: admin, body: longer },
    { status: [403, 422], says: 'refused' },
  );
  if (stage.otherProject !== null) {
    const elsewhere = { ...wide, scopes: ['admin'], project_id: stage.otherProject.id };
    await checks.ask(
      'A key of one project makes none of another',
      { method: 'POST', path: '/api/v1/api-keys', as: admin, body: elsewhere },
      { status: 404, code: 'not_found' },
    );
  }
  const doomed = await stage.key('a key to be revoked', ['read'], stage.project);
  if (typeof doomed === 'string') return checks.skip('A revoked key is refused within a second', doomed);
  const id = stage.lastKeyId;
  await checks.ask('A new key works', { method: 'GET', path: '/api/v1/bootstrap', as: doomed }, { status: 200 });
  await checks.ask(
    'It is revoked',
    { method: 'DELETE', path: `/api/v1/api-keys/${id}`, as: stage.operator },
    {
      status: 200,
      test: ({ json }) => (json as { revoked_at: unknown }).revoked_at === null && 'revoked_at is null',
    },
  );
  await checks.claim('A revoked key is refused within a second', 'GET /api/v1/bootstrap', '401', () => refusedSoon(run, doomed));
}
