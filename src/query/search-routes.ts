/** Search: people, devices and recordings of the caller's organization by a part of their names. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, LimitQuery, nullable, Timestamp, Uuid } from '../http/schemas.ts';
import { orgOf, ownSubjectOf, projectOf } from '../tenancy/record-ownership.ts';
import { spellingsOf } from '../spellings.ts';
import { foldedSql, holdsSql, spelledSql } from '../storage/database/folded-sql.ts';

/** Of each kind. */
const FOUND_MAX = 20;
const FOUND = 8;

const SearchSchema = exactly({
  people: Type.Array(exactly({ xuser_id: Uuid, external_id: Type.String(), display_name: Type.String() })),
  devices: Type.Array(
    exactly({ id: Uuid, device_id: Type.String(), name: Type.String(), xuser_id: nullable(Uuid), external_id: nullable(Type.String()) }),
  ),
  recordings: Type.Array(exactly({ stream_id: Uuid, external_id: Type.String(), device_id: Type.String(), started_at: Timestamp })),
});
type Found = Static<typeof SearchSchema>;

/** Projects of which nothing is found. SQL: part of each statement. */
const archived = 'select id from project where organization_id = $1 and archived_at is not null';

type Deps = Readonly<{ db: Pool }>;

const search = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/search',
    operationId: 'search',
    tag: 'Fleet',
    summary: 'Find people, devices and recordings',
    description:
      'People by external id or name, devices by their number or name, in any case and with or without accents (ozturk: Öztürk; Mueller: ' +
      'Müller); recordings by the beginning of their id, and the newest of the people and devices found, by when they were recorded. An ' +
      'exact match comes first, then what begins with the words, as they were typed before other spellings. Nothing of archived projects is found.',
    access: { key: 'read', operator: 'viewer' },
    query: { q: Type.String({ minLength: 1, maxLength: 255 }), limit: LimitQuery(FOUND, FOUND_MAX) },
    responses: { 200: { description: 'What was found, of each kind.', schema: SearchSchema } },
    handler: async ({ caller, query }) => {
      const words = query.q.trim();
      const place = [orgOf(caller), projectOf(caller), ownSubjectOf(caller), spellingsOf(words), query.limit];
      // SQL: rank and limit in each; positions of words in two columns.
      const people = await db.query<Found['people'][number]>(
        `select x.id as xuser_id, x.external_id, x.display_name from xuser x
         where x.organization_id = $1 and ($2::uuid is null or x.project_id = $2) and ($3::uuid is null or x.id = $3)
           and x.project_id not in (${archived}) and ${holdsSql(SPELLINGS, ['x.external_id', 'x.display_name'])}
         order by ${rankOf('x.external_id', 'x.display_name')}, lower(x.external_id), x.id
         limit $5`,
        place,
      );
      const devices = await db.query<Found['devices'][number]>(
        `select d.id, d.external_id as device_id, d.name, x.id as xuser_id, x.external_id
         from device d
         left join lateral (
           select s.xuser_id from stream s where s.device_id = d.id and ($2::uuid is null or s.project_id = $2)
           order by s.started_at desc limit 1) s on true
         left join xuser x on x.id = coalesce(s.xuser_id, d.xuser_id)
         where d.organization_id = $1 and ($2::uuid is null or d.project_id = $2 or s.xuser_id is not null) and ($3::uuid is null or x.id = $3)
           and coalesce(x.project_id, d.project_id, d.organization_id) not in (${archived})
           and ${holdsSql(SPELLINGS, ['d.external_id', 'd.name'])}
         order by ${rankOf('d.external_id', 'd.name')}, lower(d.external_id), d.id
         limit $5`,
        place,
      );
      const [from, to] = uuidRange(words.toLowerCase());
      const recordings = await db.query<Found['recordings'][number]>(
        `select s.uuid as stream_id, x.external_id, d.external_id as device_id,
           to_json(coalesce(s.recorded_from, s.started_at)) #>> '{}' as started_at
         from stream s join xuser x on x.id = s.xuser_id join device d on d.id = s.device_id
         where s.organization_id = $1 and ($2::uuid is null or s.project_id = $2) and ($3::uuid is null or s.xuser_id = $3)
           and s.project_id not in (${archived})
           and (s.uuid between $5::uuid and $6::uuid or s.xuser_id = any ($7::uuid[]) or s.device_id = any ($8::uuid[]))
           and not 'sharing' = any (missing_consents(x.id))
         order by coalesce(s.recorded_from, s.started_at) desc, s.id desc limit $4`,
        [...place.slice(0, 3), query.limit, from, to, people.rows.map((one) => one.xuser_id), devices.rows.map((one) => one.id)],
      );
      return { status: 200, json: { people: people.rows, devices: devices.rows, recordings: recordings.rows } };
    },
  });

/** SQL: as `spellingsOf` returns them. */
const SPELLINGS = '$4::text[]';

/** What was typed, with its accents and without; what begins with it; other spellings of it; then by where it is. SQL: part of each
 *  statement. */
const rankOf = (...columns: readonly string[]): string =>
  `(select min(case
      when w.i = 1 and ${small('v.text')} = ${small('($4::text[])[1]')} then 0
      when w.i = 1 and ${foldedSql('v.text')} = w.text then 1
      when w.i = 1 and starts_with(${small('v.text')}, ${small('($4::text[])[1]')}) then 2
      when w.i = 1 and starts_with(${foldedSql('v.text')}, w.text) then 3
      when ${foldedSql('v.text')} = w.text then 4
      else 4 + position(w.text in ${foldedSql('v.text')}) end)
    from ${spelledSql(SPELLINGS)}, (values ${columns.map((one) => `(${one})`).join()}) v(text) where position(w.text in ${foldedSql('v.text')}) > 0)`;

/** In small letters, with its accents; not by Turkish rules. */
const small = (text: string): string => `lower(lower(normalize(${text}, nfc) collate "C") collate "default")`;

/** First and last uuid that begin with a text. @returns nulls when none does, or the text is too short to mean one */
function uuidRange(text: string): readonly [string, string] | readonly [null, null] {
  const digits = text.replaceAll('-', '');
  if (!/^[0-9a-f]{4,32}$/.test(digits)) return [null, null];
  return [digits.padEnd(32, '0'), digits.padEnd(32, 'f')];
}

export const searchRoutes = (deps: Deps): readonly Route[] => [search(deps)];
