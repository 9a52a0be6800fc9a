/** Consent: what a person agreed to, one row per change of mind, and what is refused without it where the project requires it.
 *
 *  `recording`: new data of the person is taken: packets, measurements, what the person enters. `sharing`: others than the person (keys,
 *  operators) read it. The person always sees their own data, and may always be erased. The newest row of a purpose counts.
 *
 *  The person is who holds their user token, nobody else. A key in direct mode enters things for a person, but what it reads an organization
 *  reads: neither its headers nor an Origin, which any program can send, say who sits before the page. */
import { PipelineError } from '../errors.ts';
import type { Caller } from '../caller.ts';
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

const columns = `purpose, granted, document, recorded_by, to_json(created_at) #>> '{}' as created_at`;

/** Every record of a person, newest first. */
export async function listConsents(db: Db, subjectId: string): Promise<readonly Consent[]> {
  const { rows } = await db.query<Consent>(`select ${columns} from consent where xuser_id = $1 order by id desc limit 1000`, [subjectId]);
  return rows;
}

/** Purposes that the project requires and the person has not granted. */
export async function missingConsents(db: Db, subjectId: string): Promise<readonly ConsentPurpose[]> {
  const { rows } = await db.query<{ missing: ConsentPurpose[] }>('select missing_consents($1) as missing', [subjectId]);
  return rows[0]?.missing ?? [];
}

/** May each of these people be recorded? Asked by devices that open streams: many at once when a fleet connects. */
export async function mayBeRecorded(db: Db, subjectIds: readonly string[]): Promise<readonly boolean[]> {
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

/** Adds a record. Open feeds and recordings of the person are asked again: every node hears of it. @returns its number */
export async function recordConsent(db: Db, input: ConsentInput): Promise<number> {
  const { rows } = await db.query<{ id: bigint }>(
    `insert into consent (organization_id, xuser_id, purpose, granted, document, recorded_by) values ($1, $2, $3, $4, $5, $6)
     returning id`,
    [input.orgId, input.subjectId, input.purpose, input.granted, input.document, input.by],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('consent insert returned no row');
  return Number(row.id);
}
