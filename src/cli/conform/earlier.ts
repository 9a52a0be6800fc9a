/** Removes what earlier runs left because they were killed, or the service was unavailable when they ended: found by name, and removed once
 *  that run must be over. A run under way on another machine is left alone. */
import type { Answer, Client, Credential } from './client.ts';

/** Life of a run's tokens, and so how much later than the run its keys end. */
export const TOKEN_LIFE_MS = 3_600_000;
const LIST_MAX = 1000;

type Key = Readonly<{ id: string; name: string; expires_at: string | null; revoked_at: string | null }>;
type Named = Readonly<{ id: string; name?: string; description?: string; revoked_at?: string | null }>;
type Person = Readonly<{ xuser_id: string; external_id: string }>;

export type Earlier = Readonly<{
  /** Report of what was removed and what was not; '' for nothing. */
  said: string;
  /** Another run may be at work in the same projects. */
  isUnderWay: boolean;
}>;
/** Initial settings of a project that only runs use. */
export const unchanged = {
  origins: { origins: [] },
  settings: { retention: { samples_days: null, features_days: null, beats_days: null }, consent_required: [] },
} as const;

/** The run that a name belongs to; '' for names that no run made. */
function runOf(name: string): string {
  return /^conform-([0-9a-f]{8})-/.exec(name)?.[1] ?? '';
}

/** @param projects to search  @param own projects whose settings the run may change */
export async function clearEarlier(client: Client, as: Credential, projects: readonly string[], own: boolean): Promise<Earlier> {
  const list = async <T>(path: string): Promise<T[]> => {
    const { status, json } = await client.send({ method: 'GET', path, as });
    return status === 200 ? (json as T[]) : [];
  };
  const taken = new Map<string, number>();
  const take = async (what: string, method: string, path: string, body?: unknown): Promise<void> => {
    const answer: Answer = await client.send({ method, path, as, ...(body === undefined ? {} : { body }) });
    if (answer.status < 300) taken.set(what, (taken.get(what) ?? 0) + 1);
  };
  const keys = (await list<Key>('/api/v1/api-keys')).filter(({ name, revoked_at: revokedAt }) => runOf(name) !== '' && revokedAt === null);
  const underWay = runsUnderWay(keys);
  const isOver = (name: string): boolean => runOf(name) !== '' && !underWay.has(runOf(name));

  for (const { id, description = '' } of await list<Named>('/api/v1/webhooks'))
    if (isOver(description)) await take('webhooks', 'DELETE', `/api/v1/webhooks/${id}`);
  for (const project of projects) {
    for (const { id, name = '', revoked_at: revokedAt } of await list<Named>(`/api/v1/projects/${project}/sdk-keys`))
      if (isOver(name) && revokedAt === null) await take('SDK keys', 'DELETE', `/api/v1/projects/${project}/sdk-keys/${id}`);
    for (const { xuser_id: id, external_id: name } of await list<Person>(
      `/api/v1/xusers?project_id=${project}&search=conform-&limit=${LIST_MAX}`,
    ))
      if (isOver(name)) await take('people', 'POST', `/api/v1/xusers/${id}/erase`, { confirm_external_id: name });
    if (own && underWay.size === 0 && keys.length > 0) await resetSettings(client, as, project);
  }
  // Last: as long as the keys exist, anything else of their run is known to be left over.
  for (const { id, name } of keys) if (isOver(name)) await take('keys', 'DELETE', `/api/v1/api-keys/${id}`);

  const sentences: string[] = [];
  if (taken.size > 0) sentences.push(`taken away: ${[...taken].map(([what, count]) => `${count} ${what}`).join(', ')}`);
  for (const endMs of underWay.values())
    sentences.push(`one is under way or was killed: what it left goes with the first run after ${new Date(endMs).toISOString()}`);
  return { said: sentences.join('; '), isUnderWay: underWay.size > 0 };
}

/** Runs that may still be under way, by the time at which they must be over. */
function runsUnderWay(keys: readonly Key[]): ReadonlyMap<string, number> {
  const ends = new Map<string, number>();
  for (const { name, expires_at: expiresAt } of keys) {
    const endMs = expiresAt === null ? 0 : Date.parse(expiresAt) - TOKEN_LIFE_MS;
    if (endMs > Date.now()) ends.set(runOf(name), Math.max(endMs, ends.get(runOf(name)) ?? 0));
  }
  return ends;
}

async function resetSettings(client: Client, as: Credential, project: string): Promise<void> {
  const path = `/api/v1/projects/${project}`;
  await client.send({ method: 'PUT', path: `${path}/origins`, as, body: unchanged.origins });
  await client.send({ method: 'PUT', path: `${path}/settings`, as, body: unchanged.settings });
}
