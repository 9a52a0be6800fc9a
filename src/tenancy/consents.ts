/** Consent: what a person agreed to, one row per change, and what is refused without it where the project requires it.
 *
 *  `recording`: new data of the person is accepted: packets, measurements, entries. `sharing`: others (keys, operators) may read it. The
 *  person always sees their own data, and may always be erased. The newest row of a purpose counts.
 *
 *  Only the holder of the user token counts as the person. A key in direct mode may enter data for a person, but its reads are the
 *  organization's: neither its headers nor an Origin, which any program can send, prove who is in front of the page. */
import { sql } from 'kysely';
import { PipelineError } from '../errors.ts';
import type { Caller } from '../caller.ts';
import { build, isoTime, run } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';

export const consentPurposes = ['recording', 'sharing'] as const;
export type ConsentPurpose = (typeof consentPurposes)[number];

/** A record as the API shows it. */
export type Consent = Readonly<{
  purpose: ConsentPurpose;
  granted: boolean;
  document: string;
  recorded_by: string;
  created_at: string;
}>;

/** @param missing purposes that the project requires and the person has not granted  @throws PipelineError consent_missing */
export function checkConsent(caller: Caller, purpose: ConsentPurpose, missing: readonly ConsentPurpose[]): void {
  if (!missing.includes(purpose)) return;
  if (purpose === 'sharing' && caller.kind === 'user') return;
  throw new PipelineError('consent_missing', `The project asks for the person's consent to ${purpose}, and it is not given.`);
}

/** Every record of a person, newest first. */
export async function listConsents(db: Db, subjectId: string): Promise<readonly Consent[]> {
  const { rows } = await run(
    db,
    build
      .selectFrom('consent')
      .select(['purpose', 'granted', 'document', 'recorded_by'])
      .select(({ ref }) => isoTime(ref('created_at')).as('created_at'))
      .where('xuser_id', '=', subjectId)
      .orderBy('id', 'desc')
      .limit(1000),
  );
  return rows;
}

/** Purposes that the project requires and the person has not granted. */
export async function missingConsents(db: Db, subjectId: string): Promise<readonly ConsentPurpose[]> {
  const missing = sql<ConsentPurpose[]>`missing_consents(${subjectId})`;
  const { rows } = await run(db, build.selectNoFrom(missing.as('missing')));
  return rows[0]?.missing ?? [];
}

/** May each of these people be recorded? Asked when devices open streams, so in bulk when a fleet connects. */
export async function mayBeRecorded(db: Db, subjectIds: readonly string[]): Promise<readonly boolean[]> {
  // SQL: kysely has no unnest with ordinality.
  const { rows } = await db.query<{ missing: ConsentPurpose[] }>(
    'select missing_consents(id) as missing from unnest($1::uuid[]) with ordinality as asked (id, i) order by i',
    [subjectIds],
  );
  return rows.map(({ missing }) => !missing.includes('recording'));
}

export type ConsentInput = Readonly<{
  orgId: string;
  subjectId: string;
  purpose: ConsentPurpose;
  granted: boolean;
  document: string;
  by: string;
}>;

/** Adds a record. Every node is notified and checks the person's open feeds and recordings again.  @returns its number */
export async function recordConsent(db: Db, input: ConsentInput): Promise<number> {
  const { orgId, subjectId, purpose, granted, document, by } = input;
  const record = { organization_id: orgId, xuser_id: subjectId, purpose, granted, document, recorded_by: by };
  const { rows } = await run(db, build.insertInto('consent').values(record).returning('id'));
  const row = rows[0];
  if (row === undefined) throw new Error('consent insert returned no row');
  return Number(row.id);
}
