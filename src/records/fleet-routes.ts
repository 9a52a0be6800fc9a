/** Episodes of all users at once: the newest, and how many need attention. */
import { sql } from 'kysely';
import { build, isoTime, run, runForOne } from '../storage/database/build.ts';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { groupIdOf } from '../tenancy/groups.ts';
import { archivedProjects, orgOf, projectIdOf } from '../tenancy/record-ownership.ts';
import type { Cursors } from '../http/cursor.ts';
import { page, pageStart } from '../http/page.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import {
  CursorQuery,
  exactly,
  GroupQuery,
  LimitQuery,
  nullable,
  oneOf,
  orDefault,
  ProjectQuery,
  Timestamp,
  Uuid,
} from '../http/schemas.ts';
import { IsReviewed } from './episode-detail.ts';
import { episodeSeverities, episodeStatuses, isReviewed } from './episodes.ts';

const EpisodeSchema = exactly({
  id: Uuid,
  xuser_id: Uuid,
  external_id: Type.String(),
  display_name: Type.String(),
  kind: Type.String(),
  title: Type.String(),
  status: oneOf(episodeStatuses),
  severity: oneOf(episodeSeverities),
  started_at: Timestamp,
  ended_at: nullable(Timestamp),
  acknowledged_at: nullable(Timestamp),
  acknowledged_by_name: nullable(Type.String()),
  is_reviewed: IsReviewed,
  artifact_count: Type.Integer(),
});

const CountsSchema = exactly({
  episodes_open: Type.Integer({ description: 'As many as GET /fleet/episodes?status=open would list.' }),
  episodes_open_high: Type.Integer({ description: 'Of these, with severity high.' }),
  people: Type.Integer({ description: 'Users, those who are disabled too.' }),
  devices: Type.Integer(),
  rules_on: Type.Integer({ description: 'Rules that are switched on.' }),
  groups: Type.Integer(),
});

type Counts = Static<typeof CountsSchema>;

/** Sort orders of the list: a page's cursor is rank, start and id of its last row. */
const orders = {
  newest: { rank: sql<number>`0::integer`, direction: 'desc' },
  oldest: { rank: sql<number>`0::integer`, direction: 'asc' },
  severity: { rank: sql<number>`array_position(array['none', 'low', 'medium', 'high'], e.severity)`, direction: 'desc' },
} as const;
const orderNames = ['newest', 'oldest', 'severity'] as const;

type Deps = Readonly<{ db: Pool; cursors: Cursors }>;

const listRecentEpisodes = ({ db, cursors }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/fleet/episodes',
    operationId: 'listRecentEpisodes',
    tag: 'Fleet',
    summary: 'List episodes of all users',
    description: 'Without those of people who have not agreed to sharing where their project asks for it.',
    access: { key: 'read', operator: 'viewer' },
    query: {
      project_id: ProjectQuery,
      group_id: GroupQuery,
      status: Type.Optional(oneOf(episodeStatuses)),
      acknowledged: Type.Optional(Type.Boolean()),
      sort: orDefault(oneOf(orderNames, { default: 'newest', description: 'By start; severity: the worst first, of these the newest.' })),
      limit: LimitQuery(100, 1000),
      cursor: CursorQuery,
    },
    responses: { 200: { description: 'Episodes.', schema: Type.Array(EpisodeSchema), headers: ['Link'] } },
    errors: ['cursor_invalid', 'not_found'],
    handler: async ({ caller, query }) => {
      const { project_id: wanted, status, acknowledged, sort, limit } = query;
      const project = await projectIdOf(db, caller, wanted);
      let episodes = build
        .selectFrom('episode as e')
        .innerJoin('xuser as x', 'x.id', 'e.xuser_id')
        .leftJoin('episode_acknowledgement as k', (join) => join.onRef('k.episode_id', '=', 'e.id').on('k.ended_at', 'is', null))
        .select(({ ref, fn, val, selectFrom }) => [
          'e.id',
          'x.id as xuser_id',
          'x.external_id',
          'x.display_name',
          'e.kind',
          'e.title',
          'e.status',
          'e.severity',
          isoTime(ref('e.started_at')).as('started_at'),
          isoTime(ref('e.ended_at')).as('ended_at'),
          isoTime(ref('k.created_at')).as('acknowledged_at'),
          fn<string | null>('nullif', [ref('k.name'), val('')]).as('acknowledged_by_name'),
          isReviewed.as('is_reviewed'),
          selectFrom('artifact as a')
            .select(sql<number>`count(*)::integer`.as('n'))
            .whereRef('a.episode_id', '=', 'e.id')
            .$asScalar()
            .$notNull()
            .as('artifact_count'),
          orders[sort].rank.as('rank'),
        ])
        .where('e.organization_id', '=', orgOf(caller))
        .where('e.project_id', 'not in', archivedProjects(caller))
        .where(sql<boolean>`not 'sharing' = any(missing_consents(x.id))`);
      if (project !== null) episodes = episodes.where('e.project_id', '=', project);
      const group = await groupIdOf(db, caller, query.group_id);
      if (group !== null)
        episodes = episodes.where('x.id', 'in', build.selectFrom('person_group_member').select('xuser_id').where('group_id', '=', group));
      if (status !== undefined) episodes = episodes.where('e.status', '=', status);
      if (acknowledged !== undefined) episodes = episodes.where('k.id', acknowledged ? 'is not' : 'is', null);
      const { rank, direction } = orders[sort];
      const scope = ['fleet-episodes', orgOf(caller), project, sort, JSON.stringify([group, status, acknowledged])].join(' ');
      const list = { cursors, path: '/api/v1/fleet/episodes', scope, query };
      const start = pageStart(list);
      if (start !== null) {
        const [afterRank, afterTime, afterId] = start;
        const beyond = direction === 'desc' ? sql`<` : sql`>`;
        episodes = episodes.where(
          sql<boolean>`(${rank}, e.started_at, e.id) ${beyond} (${afterRank}::integer, ${afterTime}::timestamptz, ${afterId}::uuid)`,
        );
      }
      const { rows } = await run(
        db,
        episodes
          .orderBy(rank, direction)
          .orderBy('e.started_at', direction)
          .orderBy('e.id', direction)
          .limit(limit + 1),
      );
      const { items, headers } = page(list, rows, (last) => [last.rank, last.started_at, last.id]);
      return { status: 200, json: items.map(({ rank: _rank, ...episode }) => episode), headers };
    },
  });

const getFleetCounts = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/fleet/counts',
    operationId: 'getFleetCounts',
    tag: 'Fleet',
    summary: 'Count what needs attention',
    description: 'Cheap enough to be asked once a minute. Nothing in it is about one person, so it is not in the audit log.',
    access: { key: 'read', operator: 'viewer' },
    query: { project_id: ProjectQuery },
    responses: { 200: { description: 'Counts.', schema: CountsSchema } },
    errors: ['not_found'],
    handler: async ({ caller, query }) => {
      const { project_id: wanted } = query;
      const project = await projectIdOf(db, caller, wanted);
      const episodes = await runForOne(
        db,
        build
          .selectFrom('episode as e')
          .innerJoin('project as p', 'p.id', 'e.project_id')
          .select([
            sql<number>`count(*)::integer`.as('episodes_open'),
            sql<number>`count(*) filter (where e.severity = 'high')::integer`.as('episodes_open_high'),
          ])
          .where('e.organization_id', '=', orgOf(caller))
          .$if(project !== null, (open) => open.where('e.project_id', '=', project))
          .where('e.status', '=', 'open')
          .where('p.archived_at', 'is', null)
          // Asked for each person only where their project requires it: 1,200 open episodes take 3 ms instead of 70.
          .where(sql<boolean>`(p.consent_required = '{}' or not 'sharing' = any(missing_consents(e.xuser_id)))`),
      );
      return { status: 200, json: { ...episodes, ...(await countRecords(db, orgOf(caller), project)) } };
    },
  });

/** How many records there are of each kind. @param project null: of the organization */
async function countRecords(
  db: Pool,
  organization: string,
  project: string | null,
): Promise<Pick<Counts, 'people' | 'devices' | 'rules_on' | 'groups'>> {
  // SQL: four counts of four tables in one look.
  const { rows } = await db.query<Pick<Counts, 'people' | 'devices' | 'rules_on' | 'groups'>>(
    `with archived as (select id from project where organization_id = $1 and archived_at is not null)
     select
       (select count(*)::integer from xuser where organization_id = $1 and ($2::uuid is null or project_id = $2)
         and project_id not in (select id from archived)) as people,
       (select count(*)::integer from device d where d.organization_id = $1
         and (d.project_id is null or d.project_id not in (select id from archived)) and ($2::uuid is null or d.project_id = $2
         or exists (select from stream s where s.device_id = d.id and s.project_id = $2))) as devices,
       (select count(*)::integer from episode_rule where organization_id = $1 and ($2::uuid is null or project_id = $2) and is_enabled
         and project_id not in (select id from archived)) as rules_on,
       (select count(*)::integer from person_group where organization_id = $1 and ($2::uuid is null or project_id = $2)
         and project_id not in (select id from archived)) as groups`,
    [organization, project],
  );
  return rows[0]!;
}

export const fleetRoutes = (deps: Deps): readonly Route[] => [listRecentEpisodes(deps), getFleetCounts(deps)];
