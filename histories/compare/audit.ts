/** The audit log knows of every act, and of who was looked at; its chain is whole. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Oracle } from '../oracle.ts';

const READS_WAIT_MS = 20_000;

type Entry = Readonly<{ action: string; subject_id: string | null; target_id: string; detail: Record<string, unknown> }>;

export async function compareAudit(oracle: Oracle): Promise<void> {
  const entries = async (query: string): Promise<readonly Entry[]> =>
    (await oracle.must<Entry[]>(200, 'GET', `/api/v1/audit-log?limit=1000&${query}`)) ?? [];
  const atLeast = (what: string, got: number, wanted: number): void =>
    oracle.expect('audit', got >= wanted, () => `${what}: ${got} entries instead of ${wanted}`);
  const acts = await entries('kind=acts');
  const count = (pattern: RegExp, targetId?: string): number =>
    acts.filter(({ action, target_id }) => pattern.test(action) && (targetId === undefined || target_id === targetId)).length;
  for (const { xuserId, externalId, consentCount } of [...(await oracle.people()), ...oracle.gone]) {
    atLeast(`consents of ${externalId}`, count(/^consent\./, xuserId), consentCount);
    if (oracle.gone.some((person) => person.xuserId === xuserId)) atLeast(`erasure of ${externalId}`, count(/^xuser\.erased$/, xuserId), 1);
  }
  for (const { changedEpisodes } of [...(await oracle.people()), ...oracle.gone])
    for (const id of changedEpisodes) atLeast(`changes of episode ${id}`, count(/^episode\.updated$/, id), 1);
  atLeast('keys', count(/^api_key\./), oracle.keyChanges);
  atLeast('members', count(/^member\.created$/), oracle.memberCount);
  atLeast('sign-ins', count(/^session\.created$/), oracle.signInCount);
  atLeast('sign-outs', count(/^session\.ended$/), oracle.signOutCount);
  atLeast('webhooks', count(/^webhook\.created$/), oracle.receiver === null ? 0 : 1);
  atLeast('settings', count(/^project\.configured$/), oracle.settingChanges);
  for (const person of await oracle.people()) {
    if (oracle.isMissing(person, 'sharing')) continue;
    await oracle.must(200, 'GET', `/api/v1/streams?subject_id=${person.xuserId}`);
    // What another node has answered is written within ten seconds.
    let readCount = 0;
    for (const deadline = performance.now() + READS_WAIT_MS; readCount === 0 && performance.now() < deadline; await sleep(200)) {
      const reads = await entries(`kind=reads&subject_id=${person.xuserId}`);
      readCount = reads.filter(({ detail }) => detail['operation'] === 'listStreams').length;
    }
    atLeast(`reads of ${person.externalId}`, readCount, 1);
  }
  const chain = await oracle.must<{ broken_at: number | null }>(200, 'GET', '/api/v1/audit-log/chain');
  oracle.expect('audit', chain === null || chain.broken_at === null, () => `the chain is broken at ${chain?.broken_at}`);
}
