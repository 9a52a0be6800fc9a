/** The queries of auth.ts that run once a second for every credential; each is built once. */
import { sql } from 'kysely';
import { build, builtOnce, epochMs, now } from '../storage/database/build.ts';
import type { Values } from '../storage/database/build.ts';

/** Condition on a row of api_key or sdk_key: it still works. */
export const works = sql<boolean>`revoked_at is null and (expires_at is null or expires_at > now())`;

/** Of the organization `o`: its rows are being moved to another database, nothing may be written or read here. */
const moving = sql<boolean>`o.moving_at is not null`;

export const keyByPublicId = builtOnce(({ publicId }: Values<{ publicId: string }>) =>
  build
    .selectFrom('api_key as k')
    .innerJoin('organization as o', 'o.id', 'k.organization_id')
    .leftJoin('project as p', 'p.id', 'k.project_id')
    .select(moving.as('moving'))
    .select(['k.id', 'k.organization_id', 'k.project_id', 'k.scopes', 'k.secret_hash'])
    .select(sql<boolean>`${works} and p.archived_at is null`.as('active'))
    .select(({ ref }) => epochMs(ref('k.expires_at')).as('expires_ms'))
    .where('k.public_id', '=', publicId),
);

export const sdkKeysById = builtOnce(({ ids }: Values<{ ids: readonly string[] }>) =>
  build
    .selectFrom('sdk_key')
    .select(({ ref }) => ['id', works.as('active'), epochMs(ref('expires_at')).as('expires_ms')])
    .where('id', '=', sql<string>`any(${ids}::uuid[])`),
);

export const sdkKeyByName = builtOnce(({ sdkKey }: Values<{ sdkKey: string }>) =>
  build
    .selectFrom('sdk_key')
    .select(({ ref }) => ['id', 'project_id', sql<boolean>`not (${works})`.as('ended'), epochMs(ref('expires_at')).as('expires_ms')])
    .where('sdk_key', '=', sdkKey),
);

/** The user, when user, project and organization belong together and all are still active. */
export const standingUser = builtOnce(({ subjectId, projectId, orgId }: Values<{ subjectId: string; projectId: string; orgId: string }>) =>
  build
    .selectFrom('xuser as x')
    .innerJoin('project as p', 'p.id', 'x.project_id')
    .innerJoin('organization as o', 'o.id', 'x.organization_id')
    .select(['x.id', moving.as('moving')])
    .where('x.id', '=', subjectId)
    .where('x.project_id', '=', projectId)
    .where('x.organization_id', '=', orgId)
    .where('x.disabled_at', 'is', null)
    .where('p.archived_at', 'is', null),
);

/** Notes that a session was used, and returns whose it is; no row when it has ended or was idle for too long. */
export const sessionSeen = builtOnce(({ tokenHash, idleSec }: Values<{ tokenHash: Buffer; idleSec: number }>) =>
  build
    .updateTable('operator_session as s')
    .from(['operator_account as a', 'organization as o'])
    .set({ last_seen_at: now })
    .where('s.token_hash', '=', tokenHash)
    .whereRef('a.id', '=', 's.operator_id')
    .whereRef('o.id', '=', 'a.organization_id')
    .where('s.revoked_at', 'is', null)
    .where('s.expires_at', '>', now)
    .where('a.disabled_at', 'is', null)
    .where('s.last_seen_at', '>', sql<Date>`now() - make_interval(secs => ${idleSec})`)
    .returning(['a.id as operator_id', 'a.organization_id', 'a.role', moving.as('moving')])
    .returning(({ ref }) => epochMs(ref('s.expires_at')).as('expires_ms')),
);
