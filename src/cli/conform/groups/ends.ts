/** Checks how rights end: a token that lives for seconds, and withdrawn credentials. */
import { setTimeout as sleep } from 'node:timers/promises';
import { need } from '../checks.ts';
import { bearer } from '../client.ts';
import type { Credential } from '../client.ts';
import type { Run } from '../run.ts';
import { openSocket } from './websocket.ts';
import type { Opened } from './websocket.ts';

/** Life of the key that mints the brief token, which is checked after the rest of the run. */
const BRIEF_MS = 10_000;
const SOON_MS = 1500;
const LOOK_EVERY_MS = 100;

/** A token that expires within the run, and a socket opened with it. */
export type Brief = { token: string; endMs: number; socket: Opened | null };

/** Mints a token with a key that expires soon, the only legitimate way to get an expired token. Done first, so that nothing waits for
 *  it. */
export async function openBrief(run: Run): Promise<void> {
  // Not for the first person, whose consent checks end their feeds.
  const { checks, stage, ben, brief } = run;
  const as = await stage.key('a key of ten seconds', ['write'], stage.project, BRIEF_MS);
  const minted = await checks.ask(
    'A token ends with the key that asked for it',
    { method: 'POST', path: '/api/v1/sdk/token', as, body: { external_id: ben.externalId, project_key: stage.project.key } },
    {
      status: 200,
      says: `expires_in at most ${BRIEF_MS / 1000}`,
      test: ({ json }) => (json as { expires_in: number }).expires_in > BRIEF_MS / 1000 && 'it outlives the key',
    },
  );
  if (minted === null) return;
  brief.token = (minted.json as { xuser_token: string }).xuser_token;
  const claims = JSON.parse(Buffer.from(brief.token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number };
  brief.endMs = claims.exp * 1000;
  brief.socket = await openSocket(run, `/ws?subject=${ben.id}`, brief.token).catch(() => null);
}

export async function checkBrief({ checks, client, brief }: Run): Promise<void> {
  if (brief.token === '') return checks.skip('A token that has expired', 'none could be minted');
  await checks.claim('A token that has expired is refused', 'GET /api/v1/bootstrap when it has', '401 token_expired', async () => {
    await sleep(Math.max(0, brief.endMs - Date.now() + 600), undefined, { signal: client.signal });
    const answer = await client.send({ method: 'GET', path: '/api/v1/bootstrap', as: bearer('an expired token', brief.token) });
    need(answer.status === 401 && answer.code === 'token_expired', `${answer.status} ${answer.code}`);
    return '401 token_expired';
  });
  await checks.claim('A socket ends with its token', '/ws with the same token', 'closed with 4001', async () => {
    need(brief.socket !== null, 'it could not be opened');
    const code = await brief.socket.closed(5000);
    need(code === 4001, code === 0 ? 'it is still open' : `closed with ${code}`);
    return String(code);
  });
}

/** Checks a credential just withdrawn: every node refuses it within a second.  @returns the code of the refusal */
export async function refusedSoon({ client }: Run, as: Credential): Promise<string> {
  const endMs = performance.now() + SOON_MS;
  for (;;) {
    const { status, code } = await client.send({ method: 'GET', path: '/api/v1/bootstrap', as });
    if (status === 401) return `401 ${code}`;
    need(performance.now() < endMs, `${status} after ${SOON_MS} ms`);
    await sleep(LOOK_EVERY_MS, undefined, { signal: client.signal });
  }
}
