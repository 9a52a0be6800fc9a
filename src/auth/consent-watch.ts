/** Applies a change of consent, or the end of a user, to what is open on this node: feeds and recordings of the person end; after a change
 *  of consent, clients reconnect and are checked anew. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { HttpServer } from '../http/server.ts';
import type { SubjectId } from '../signal.ts';
import { build, run } from '../storage/database/build.ts';
import type { Auth } from './auth.ts';

/** Pause before a question that the database did not answer is asked again, ms. */
const AGAIN_MS = 500;

export type ConsentWatchOptions = Readonly<{
  auth: Auth;
  pool: Pool;
  http: Pick<HttpServer, 'closeSockets'>;
  /** People with open feeds or recordings on this node. */
  openSubjects: () => readonly SubjectId[];
  /** Ends feeds and recordings of one person. */
  endSubject: (subjectId: SubjectId, code: 'not_found' | 'unavailable') => Promise<void>;
  /** Ends recordings of a project. */
  endProject: (projectId: string) => Promise<void>;
  onError: (error: unknown) => void;
}>;

/** @returns how to stop */
export function watchConsent(options: ConsentWatchOptions): () => void {
  const { auth, pool, http, openSubjects, endSubject, endProject, onError } = options;
  let isStopped = false;
  const tell = (error: unknown): void => {
    if (!isStopped) onError(error);
  };
  /** Asks until there is an answer: a recording that must end goes on meanwhile. */
  const answerTo = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (isStopped) throw error;
        tell(error);
        await sleep(AGAIN_MS, undefined, { ref: false });
      }
    }
  };
  const endRules = async (projectId: string): Promise<void> => {
    const project = build.selectFrom('project').select('organization_id').where('id', '=', projectId);
    const { rows } = await answerTo(() => run(pool, project.where(sql<boolean>`consent_required <> '{}'`)));
    const orgId = rows[0]?.organization_id;
    if (orgId === undefined) return;
    await endProject(projectId);
    // Which person a socket shows is not known here, so all sockets of the organization reconnect; people's own stay open.
    http.closeSockets((caller) => (caller.kind === 'key' || caller.kind === 'operator') && caller.orgId === orgId, 'shutting_down');
  };
  const endDisabled = async (subjectId: string): Promise<void> => {
    const person = build.selectFrom('xuser').select('id').where('id', '=', subjectId).where('disabled_at', 'is', null);
    const { rows } = await answerTo(() => run(pool, person));
    if (rows.length === 0) await endSubject(subjectId as SubjectId, 'not_found');
  };
  /** Catches up on changes missed while disconnected: checks everyone with something open. */
  const endMissed = async (): Promise<void> => {
    // SQL: kysely has no unnest.
    const { rows } = await answerTo(() =>
      pool.query<{ id: SubjectId; gone: boolean }>(
        `select asked.id, x.id is null as gone from unnest($1::uuid[]) as asked (id)
         left join xuser x on x.id = asked.id and x.disabled_at is null
         where x.id is null or missing_consents(x.id) <> '{}'`,
        [openSubjects()],
      ),
    );
    await Promise.all(rows.map(({ id, gone }) => endSubject(id, gone ? 'not_found' : 'unavailable')));
  };
  const unwatch = auth.onChange(({ table, id }) => {
    if (table === '') endMissed().catch(tell);
    else if (table === 'consent') endSubject(id as SubjectId, 'unavailable').catch(tell);
    else if (table === 'xuser') endDisabled(id).catch(tell);
    else if (table === 'project') endRules(id).catch(tell);
  });
  return () => {
    isStopped = true;
    unwatch();
  };
}
