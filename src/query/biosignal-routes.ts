/** The catalog of a project, with what is flowing now; and the versioned methods behind derived values. */
import { sql } from 'kysely';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { audit } from '../tenancy/audit.ts';
import { FLOWING_SEC } from '../tenancy/flowing.ts';
import { orgOf, ownProject, ownSubjectOf } from '../tenancy/record-ownership.ts';
import type { OwnedProject } from '../tenancy/record-ownership.ts';
import { sqlStateOf } from '../storage/database/sql-states.ts';
import { PipelineError } from '../errors.ts';
import { build, run, runForOne } from '../storage/database/build.ts';
import type { Db } from '../storage/database/database.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { transaction } from '../storage/database/transaction.ts';
import { exactly, nullable, OneLine, oneOf } from '../http/schemas.ts';
import { nameKey } from '../signal.ts';
import { invisibleCharacter, withoutInvisible, withoutJoiners } from '../text.ts';
import { isUcum, ucumFor } from '../units/ucum.ts';
import { wrong } from './wrong.ts';

export const signalTypes = ['waveform', 'interval', 'scalar', 'event', 'category', 'score'] as const;
export const biosignalRoles = ['measurement', 'calculation', 'setting', 'unspecified'] as const;
export const sourceTypes = ['device', 'derived', 'self_report', 'clinician', 'import'] as const;

export const BiosignalSchema = exactly({
  id: Type.Integer(),
  name: Type.String(),
  abbreviation: Type.String(),
  unit: Type.String({ description: 'UCUM' }),
  loinc_code: Type.String({ description: 'Empty where LOINC has no code that fits exactly.' }),
  signal_type: oneOf(signalTypes),
  role: oneOf(biosignalRoles),
  source_type: oneOf(sourceTypes),
  is_flowing: Type.Boolean({ description: 'True within 10 s of its first data, false 10 s after its last.' }),
});

/** Sources of each derived feature, by its name: kinds or codes of channels that one stream must have together, or one of several such
 *  sets. */
const featureSources: readonly (readonly [RegExp, readonly (readonly string[])[]])[] = [
  [/^resp_rate_ecg$/, [['ecg']]],
  [/^resp_rate_ppg$/, [['ppg']]],
  [/^resp_rate$/, [['resp'], ['ecg'], ['ppg']]],
  [/^spo2$/, [['ppg.red', 'ppg.ir']]],
  [/^(hr_ecg|hrv_|sqi_ecg|af_|longest_rr|pr_|qrs_|qt_|qtc_|ventricular_|supraventricular_)/, [['ecg']]],
  [/^(hr_ppg|prv_|sqi_ppg|perfusion_|worn_|pulse_)/, [['ppg']]],
  [/^(eda_|scr_)/, [['eda']]],
  [/^temp_/, [['temp']]],
  [/^(activity|steps)/, [['acc']]],
];

type CatalogRow = Readonly<{
  id: number;
  name: string;
  abbreviation: string;
  unit: string;
  loinc_code: string;
  signal_type: (typeof signalTypes)[number];
  role: (typeof biosignalRoles)[number];
  source_type: (typeof sourceTypes)[number];
  feature: string | null;
  channel_kind: string | null;
  reported: boolean;
}>;

export type BiosignalDeps = Readonly<{
  db: Pool;
  /** Internal numbers of the streams from which this process received packets within FLOWING_SEC; the database adds those of other
   *  nodes. */
  flowingStreams?: () => readonly number[];
  /** Descriptions of the methods of this release, and of older ones whose values may be stored. */
  methods?: readonly MethodDescription[];
}>;

const MethodParameterSchema = exactly({
  name: Type.String({ description: 'snake_case, unique within the method.' }),
  value: Type.Number(),
  unit: Type.String({ description: "UCUM; '1' for ratios and counts." }),
  meaning: Type.String(),
});

/** A method as src/dsp describes it. */
export type MethodDescription = Readonly<{
  code: string;
  kind: 'feature' | 'beat';
  /** Feature name; for beats, the name of the detector. */
  feature: string;
  version: number;
  /** Does this release compute it? */
  current: boolean;
  title: string;
  source: string;
  unit: string;
  step: number;
  windowSec: number;
  cadenceSec: number;
  coverageMin: number;
  scope: 'stream' | 'channel';
  paper: string;
  notes: string;
  parameters: readonly Static<typeof MethodParameterSchema>[];
  limits: readonly string[];
}>;

const MethodSchema = exactly({
  code: Type.String({ description: '<kind>:<method_name>_v<version>' }),
  kind: oneOf(['feature', 'beat']),
  name: Type.String(),
  abbreviation: Type.String({ description: 'That of its biosignal in the catalog; empty for beats, and where the catalog has none.' }),
  version: Type.Integer(),
  current: Type.Boolean({ description: 'True when this release computes it; values of other methods are history.' }),
  is_stored: Type.Boolean({
    description: 'This service holds values of it, or has held some; of no other method can a chart have values.',
  }),
  title: Type.String({ description: 'As the catalog calls its biosignal; where the catalog has none, what it computes.' }),
  source: Type.String({ description: 'Kind of channel that it is made from; empty when this release does not know the method.' }),
  unit: Type.String({ description: 'UCUM' }),
  step: nullable(
    Type.Number({
      description:
        'Values are whole numbers of this, in the unit; of a beat its interval, in ms. Null: values of this method are not rounded.',
    }),
  ),
  cadence_hz: nullable(Type.Number({ description: 'Null: one value per event.' })),
  window_sec: nullable(Type.Number({ description: 'Length of the window that ends at a value, s.' })),
  coverage_min: nullable(Type.Number({ description: 'Least share of the window that must be covered for a value to exist.' })),
  scope: nullable(oneOf(['stream', 'channel'])),
  paper: Type.String(),
  parameters: Type.Array(MethodParameterSchema, {
    description: 'The constants that this release computes it with; empty for methods that it does not compute.',
  }),
  limits: Type.Array(Type.String(), {
    description: 'Where the method ends: needed input, what makes values suspect, known failures. Likewise.',
  }),
  notes: Type.String({ description: 'Deviations from the paper, delay, what changed since the version before.' }),
});

/** Methods of this release and of stored values, by code. */
function everyMethod(
  known: readonly MethodDescription[],
  stored: readonly StoredMethod[],
  catalog: readonly Readonly<{ feature: string | null; name: string; abbreviation: string }>[],
): Static<typeof MethodSchema>[] {
  const biosignals = new Map(catalog.map((item) => [item.feature, item]));
  const codes = new Set(known.map(({ code }) => code));
  const held = new Set(stored.map(({ code }) => code));
  const described = known.map((m) => ({
    code: m.code,
    kind: m.kind,
    name: m.feature,
    abbreviation: biosignals.get(m.feature)?.abbreviation ?? '',
    version: m.version,
    current: m.current,
    is_stored: held.has(m.code),
    title: biosignals.get(m.feature)?.name ?? m.title,
    source: m.source,
    unit: m.unit,
    step: m.step > 0 ? m.step : null,
    cadence_hz: m.cadenceSec > 0 ? 1 / m.cadenceSec : null,
    window_sec: m.windowSec,
    coverage_min: m.coverageMin,
    scope: m.scope,
    paper: m.paper,
    parameters: [...m.parameters],
    limits: [...m.limits],
    notes: m.notes,
  }));
  const foreign = stored
    .filter(({ code }) => !codes.has(code))
    .map(({ code, kind, name, unit, step, cadence_hz }) => ({
      code,
      kind,
      name,
      abbreviation: biosignals.get(name)?.abbreviation ?? '',
      version: Number(/_v(\d+)$/.exec(code)?.[1] ?? 0),
      current: false,
      is_stored: true,
      title: biosignals.get(name)?.name ?? '',
      source: '',
      unit,
      step: step > 0 ? step : null,
      cadence_hz,
      window_sec: null,
      coverage_min: null,
      scope: null,
      paper: '',
      parameters: [],
      limits: [],
      notes: '',
    }));
  return [...described, ...foreign].toSorted((a, b) => (a.code < b.code ? -1 : 1));
}

type StoredMethod = Readonly<{
  code: string;
  kind: 'feature' | 'beat';
  name: string;
  unit: string;
  step: number;
  cadence_hz: number | null;
}>;

/** Streams of a project, or of one of its users, that are flowing now, with kinds and codes of their channels. */
async function flowingIn(
  { db, flowingStreams }: BiosignalDeps,
  { orgId, id: projectId }: OwnedProject,
  subjectId: string | null,
): Promise<{ id: number; channels: string[] }[]> {
  // SQL here and in listBiosignals: arrays of flowing channels, and the newest measurements by time.
  const { rows } = await db.query<{ id: number; channels: string[] }>(
    `select s.id, coalesce(array_agg(c.kind) || array_agg(c.code), '{}') as channels
       from stream s left join stream_channel c on c.stream_id = s.id
       where s.organization_id = $1 and s.project_id = $2 and ($3::uuid is null or s.xuser_id = $3)
         and (s.last_packet_at > now() - make_interval(secs => $4::integer) or s.id = any($5::integer[]))
       group by s.id`,
    [orgId, projectId, subjectId, FLOWING_SEC, [...(flowingStreams?.() ?? [])]],
  );
  return rows;
}

const listBiosignals = (deps: BiosignalDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects/{projectId}/biosignals',
    operationId: 'listBiosignals',
    tag: 'Biosignals',
    summary: 'List every biosignal configured for a project',
    description: 'projectId is the uuid or the project key. With a user token, is_flowing is about its own user.',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { projectId: Type.String({ maxLength: 64 }) },
    etag: true,
    responses: { 200: { description: 'Biosignals.', schema: Type.Array(BiosignalSchema) } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const project = await ownProject(deps.db, caller, params.projectId);
      const streams = await flowingIn(deps, project, ownSubjectOf(caller));
      const flowingChannels = streams.map((stream) => new Set(stream.channels));
      const { rows } = await deps.db.query<CatalogRow>(
        `select b.id, b.name, b.abbreviation, b.unit, b.loinc_code, b.signal_type, coalesce(pb.role, b.role) as role, b.source_type,
           b.feature, b.channel_kind,
           b.code is not null and exists (
             select from measurement m
             where m.time > now() - make_interval(secs => $2::integer) and m.time < now() + interval '1 hour' and m.biosignal_id = b.id and m.project_id = $1
               and m.stream_id = any($3::integer[])
           ) as reported
         from biosignal b left join project_biosignal pb on pb.biosignal_id = b.id and pb.project_id = $1
         where (b.project_id is null or b.project_id = $1) and not coalesce(pb.hidden, false)
         order by b.id`,
        [project.id, FLOWING_SEC, streams.map((stream) => stream.id)],
      );
      const answer = rows.map(({ feature, channel_kind: kind, reported, ...biosignal }) => ({
        ...biosignal,
        is_flowing:
          reported ||
          flowingChannels.some((channels) => (kind !== null && channels.has(kind)) || (feature !== null && comesFrom(feature, channels))),
      }));
      return { status: 200, json: answer };
    },
  });

const createBiosignal = ({ db }: BiosignalDeps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/projects/{projectId}/biosignals',
    operationId: 'createBiosignal',
    tag: 'Biosignals',
    summary: 'Add a biosignal of the project',
    description:
      'Packets and measurements whose code it names are stored under it. Name and abbreviation are what widgets and pages find it by, so ' +
      'they may be neither those of another biosignal of the catalog or the project, in capitals or not, nor the name of a feature, and hold ' +
      'no invisible characters, other than joiners between letters of a name that need them (Persian, Hindi).',
    access: { key: 'admin', operator: 'admin' },
    params: { projectId: Type.String({ maxLength: 64 }) },
    body: exactly({
      name: OneLine(200, { minLength: 1 }),
      abbreviation: OneLine(32, { minLength: 1, description: 'Without a comma, which separates those of a list.' }),
      unit: OneLine(32, { description: 'UCUM, case-sensitive: `kg`, `mm[Hg]`, `/min`, `{score}`, or `1`.' }),
      loinc_code: Type.Optional(Type.String({ pattern: '^([0-9]{1,7}-[0-9])?$' })),
      signal_type: oneOf(signalTypes),
      role: Type.Optional(oneOf(biosignalRoles)),
      source_type: oneOf(sourceTypes, { description: 'Not derived: only the service computes those.' }),
      code: Type.String({ pattern: '^[a-z][a-z0-9_.-]{0,31}$', description: 'Code of its measurements.' }),
    }),
    responses: { 201: { description: 'The biosignal.', schema: BiosignalSchema } },
    errors: ['conflict'],
    handler: async (request) => {
      const project = await ownProject(db, request.caller, request.params.projectId);
      const input = request.body;
      refuseUnfit(input);
      const json = await transaction(db, async (client) => {
        await refuseTaken(client, project.id, input);
        const insert = build
          .insertInto('biosignal')
          .values({
            project_id: project.id,
            name: input.name,
            abbreviation: input.abbreviation,
            unit: input.unit,
            loinc_code: input.loinc_code ?? '',
            signal_type: input.signal_type,
            role: input.role ?? 'measurement',
            source_type: input.source_type,
            code: input.code,
          })
          .returning(['id', 'name', 'abbreviation', 'unit', 'loinc_code', 'signal_type', 'role', 'source_type'])
          .returning(sql<boolean>`false`.as('is_flowing'));
        const taken = (member: 'code' | 'abbreviation', cause?: unknown): PipelineError =>
          new PipelineError('conflict', `The ${member} ${input[member]} is taken in this project.`, { cause });
        const made = await runForOne(client, insert).catch((cause: unknown) => {
          if (sqlStateOf(cause) !== '23505') throw cause;
          throw taken((cause as { constraint?: string }).constraint === 'biosignal_code_key' ? 'code' : 'abbreviation', cause);
        });
        // Another request has taken it in the meantime, and the database has moved this one aside.
        if (made.abbreviation !== input.abbreviation) throw taken('abbreviation');
        await audit(client, request, { action: 'biosignal.created', targetKind: 'biosignal', targetId: String(made.id) });
        return made;
      });
      return { status: 201, json };
    },
  });

/** Equal where two names look alike but for capitals: by compatibility (NFKC), so that full-width letters are letters and every blank is
 *  one; without what nobody sees, which older names and joined letters may have; and as widgets compare what an attribute names, without
 *  blanks around it. Only this route compares so: the index and the triggers of sql/000101-own-abbreviations.sql have name_key, NFD and
 *  lower case of abbreviations. So a device may make one that differs in width or blanks alone. */
const keyOf = (word: string): string => nameKey(withoutInvisible(word).normalize('NFKC').replaceAll(/\s+/g, ' ').trim());

/** What the pattern of a member cannot say. @throws PipelineError validation_failed */
function refuseUnfit({
  name,
  abbreviation,
  unit,
  source_type: source,
}: Readonly<Record<'name' | 'abbreviation' | 'unit' | 'source_type', string>>): void {
  for (const [member, text] of Object.entries({ name: withoutJoiners(name), abbreviation })) {
    const invisible = invisibleCharacter(text);
    if (invisible !== null) throw wrong(`/${member}`, `holds ${invisible}, which nobody sees: it would look like another`);
  }
  if (abbreviation.includes(',')) throw wrong('/abbreviation', 'holds a comma, which separates the abbreviations of a list, as in widgets');
  if (!isUcum(unit)) {
    const meant = ucumFor(unit);
    const advice =
      meant === null
        ? 'write kg, mm[Hg], Cel, /min or m/s2; a count in braces, {score}; 1 for no unit'
        : `${meant.isIfCounted ? 'if it is a count, ' : ''}write ${meant.unit}`;
    throw wrong('/unit', `${unit === '' ? 'is empty' : 'is no UCUM unit'}: ${advice}`);
  }
  if (source === 'derived') throw wrong('/source_type', 'must not be derived: only the service computes those');
}

/** A biosignal is found by its abbreviation, by id or LOINC code, by name or feature, in this order. A name or abbreviation that is a name,
 *  abbreviation or feature of another is refused, and so is one that looks like an id or a LOINC code, whether or not another has it. The
 *  LOINC code itself may be that of another: it says what is measured, and finds the one with the lowest id, the catalog's before its own.
 *  What devices report under a new code is not refused; there the database finds a free abbreviation (sql/000101-own-abbreviations.sql).
 *  @throws PipelineError conflict, validation_failed */
async function refuseTaken(db: Db, projectId: string, input: Readonly<Record<'abbreviation' | 'name', string>>): Promise<void> {
  // One request after the other: each sees what the one before it has made.
  await run(db, build.selectFrom('project').select('id').where('id', '=', projectId).forNoKeyUpdate());
  const known = build.selectFrom('biosignal').select(['abbreviation', 'name', 'feature', 'project_id']);
  const { rows } = await run(
    db,
    known.where(({ or, eb }) => or([eb('project_id', 'is', null), eb('project_id', '=', projectId)])).orderBy('id'),
  );
  for (const member of ['abbreviation', 'name'] as const) {
    const wanted = keyOf(input[member]);
    if (wanted === '') throw wrong(`/${member}`, 'is blank');
    if (/^\d+(-\d)?$/.test(wanted)) throw wrong(`/${member}`, 'looks like an id or a LOINC code, by which widgets find others');
    const holder = rows.find((row) => [row.abbreviation, row.name, row.feature].some((word) => word !== null && keyOf(word) === wanted));
    if (holder === undefined) continue;
    const whose = holder.project_id === null ? 'the catalog' : 'the project';
    throw new PipelineError(
      'conflict',
      `The ${member} ${input[member]} is taken: ${whose} has ${holder.abbreviation} (${holder.name}). Choose another; capitals, full-width letters and blanks ` +
        'make no difference.',
    );
  }
}

const listMethods = ({ db, methods }: BiosignalDeps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/methods',
    operationId: 'listMethods',
    tag: 'Biosignals',
    summary: 'List the versioned methods of derived values, with paper, parameters and limits',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    responses: {
      200: {
        description: 'Methods.',
        schema: Type.Array(MethodSchema),
      },
    },
    handler: async ({ caller }) => {
      orgOf(caller);
      const stored = build.selectFrom('method').select(['code', 'kind', 'name', 'unit', 'step', 'cadence_hz']);
      const { rows } = await run(db, stored.orderBy('code').limit(10_000));
      const named = build.selectFrom('biosignal').select(['feature', 'name', 'abbreviation']).where('feature', 'is not', null);
      const catalog = await run(db, named.where('project_id', 'is', null).limit(10_000));
      return { status: 200, json: everyMethod(methods ?? [], rows, catalog.rows) };
    },
  });

function comesFrom(feature: string, channels: ReadonlySet<string>): boolean {
  const sources = featureSources.find(([pattern]) => pattern.test(feature))?.[1] ?? [];
  return sources.some((all) => all.every((item) => channels.has(item)));
}

export const biosignalRoutes = (deps: BiosignalDeps): readonly Route[] => [listBiosignals(deps), createBiosignal(deps), listMethods(deps)];
