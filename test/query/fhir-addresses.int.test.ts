// Addresses of a FHIR Bundle: absolute, as R4 asks of fullUrl, by the address that the client used or the one that is set.
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { patientFetch } from '../helpers/patient-fetch.ts';
import { runService, type RunningService } from '../helpers/running-service.ts';

type Bundle = Readonly<{
  link: readonly Readonly<{ relation: string; url: string }>[];
  entry: readonly Readonly<{ fullUrl: string; resource: Readonly<{ id: string; subject: { reference: string } }> }>[];
}>;
type Answer = Readonly<{ status: number; text: string; headers: Readonly<Record<string, string | string[] | undefined>> }>;

let open: RunningService;
let named: RunningService;

const SUBJECT = 'ada';
const path = `/api/v1/observations?biosignal_id=67&subject_id=${SUBJECT}&limit=1`;

beforeAll(async () => {
  open = await runService({ BIO_TRUST_PROXY: '127.0.0.1', BIO_SECRET: randomBytes(32).toString('base64') });
  named = await runService({ BIO_PUBLIC_URL: 'https://bio.test/' });
  for (const running of [open, named]) {
    await running.token(SUBJECT);
    const measurements = [70, 71].map((value, i) => ({ biosignal_id: 67, value, time: `2026-03-01T08:0${i}:00Z` }));
    expect((await running.send('POST', '/api/v1/measurements', { body: { subject_id: SUBJECT, measurements } })).status).toBe(201);
  }
});
afterAll(async () => {
  await open?.close();
  await named?.close();
});

/** With a Host of one's own, which fetch does not allow. */
const ask = (running: RunningService, headers: Readonly<Record<string, string>>, at = path): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const authorization = `Bearer ${running.org.apiKey.key}`;
    const all = { authorization, accept: 'application/fhir+json', ...headers };
    request(running.service.baseUrl + at, { headers: all, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode!, text, headers: response.headers }));
    })
      .on('error', reject)
      .end();
  });

const addressesOf = ({ link, entry }: Bundle): string[] => [...link.map(({ url }) => url), ...entry.map(({ fullUrl }) => fullUrl)];

describe('a Bundle', () => {
  // promise: fhir-addresses
  it.each([
    ['http://10.0.0.7:8080', { host: '10.0.0.7:8080' }],
    ['https://bio.example', { host: 'Bio.Example', 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.9' }],
    ['http://[::1]:8080', { host: '[::1]:8080' }],
  ])('has addresses of %s, by which it was asked for', async (base, headers) => {
    const { status, text } = await ask(open, headers);
    expect(status, text).toBe(200);
    const bundle = JSON.parse(text) as Bundle;
    expect(bundle.link.map(({ relation }) => relation)).toEqual(['self', 'next']);
    for (const address of addressesOf(bundle)) expect(new URL(address).origin).toBe(base);
    const [{ fullUrl, resource }] = bundle.entry as [Bundle['entry'][number]];
    expect(fullUrl).toBe(`${base}/fhir/Observation/${resource.id}`);
    // As R4 resolves it: relative to the fullUrl.
    expect(resource.subject.reference).toMatch(/^Patient\//);
  });

  // promise: fhir-addresses
  it('has those of BIO_PUBLIC_URL where it is set, whatever the client says', async () => {
    const { status, text } = await ask(named, { host: 'localhost:1' });
    expect(status, text).toBe(200);
    for (const address of addressesOf(JSON.parse(text) as Bundle)) expect(address).toMatch(/^https:\/\/bio\.test\/(api|fhir)\//);
  });

  it('leads to the next page', async () => {
    const first = JSON.parse((await ask(open, {})).text) as Bundle;
    const headers = { authorization: `Bearer ${open.org.apiKey.key}`, accept: 'application/fhir+json' };
    const next = (await (await patientFetch(first.link[1]!.url, { headers })).json()) as Bundle;
    expect(next.entry[0]!.fullUrl).not.toBe(first.entry[0]!.fullUrl);
    const self = (await (await patientFetch(next.link[0]!.url, { headers })).json()) as Bundle;
    expect(self).toEqual(next);
  });

  it.each(['..', '.', 'bio..example', '-', 'bio.example/evil', 'user@bio.example', 'bio.example:99999', 'a b', '"><script>'])(
    'is refused where the Host is %s, and says nothing of it that could break',
    async (host) => {
      const { status, text } = await ask(open, { host });
      expect(status).toBe(400);
      expect(text).not.toMatch(/[<@"]script|user@|\/evil/);
    },
  );

  it('is kept by nobody, so that one client reads no address that another has said', async () => {
    const first = await ask(open, { host: 'evil.example' });
    expect(first.headers['cache-control']).toBe('no-store');
    expect((await ask(open, { host: 'bio.example' })).text).not.toContain('evil');
    const { rows } = await open.database.pool.query(`select to_jsonb(a)::text as entry from audit_log a`);
    expect(JSON.stringify(rows)).not.toContain('evil.example');
    // In JSON there is no address; the paging link is relative.
    const json = await ask(open, { host: 'evil.example', accept: 'application/json' });
    expect(`${json.text}${JSON.stringify(json.headers)}`).not.toContain('evil.example');
  });
});
