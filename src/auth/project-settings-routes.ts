/** Settings of a project: how long its rows are kept, and which consent it asks of its people. */
import { Type } from 'typebox';
import type { Access, Route } from '../http/route.ts';
import { exactly, nullable, oneOf } from '../http/schemas.ts';
import { readProjectRetention, retentionDaysMax, writeProjectRetention } from '../storage/retention.ts';
import type { Db } from './api-keys.ts';
import { audit } from './audit.ts';
import { consentPurposes } from './consents.ts';
import type { ConsentPurpose } from './consents.ts';
import { ownProject } from './ownership.ts';

const Days = nullable(
  Type.Integer({
    minimum: 1,
    maximum: retentionDaysMax,
    description: 'Days since it was measured; null: as long as the service keeps it.',
  }),
);
const SettingsSchema = exactly({
  retention: exactly({ samples_days: Days, features_days: Days, beats_days: Days }, { description: 'Features go with their rollups.' }),
  consent_required: Type.Array(oneOf(consentPurposes), {
    uniqueItems: true,
    maxItems: consentPurposes.length,
    description: 'Without it packets and entries (recording) or reads by others (sharing) are refused: consent_missing.',
  }),
});
const admin: Access = { key: 'admin', operator: 'admin' };

type Settings = Readonly<{
  retention: Readonly<{ samples_days: number | null; features_days: number | null; beats_days: number | null }>;
  consent_required: readonly ConsentPurpose[];
}>;

export function projectSettingsRoutes(deps: Readonly<{ db: Db }>): readonly Route[] {
  const { db } = deps;
  const read = async (projectId: string): Promise<Settings> => {
    const kept = await readProjectRetention(db as Parameters<typeof readProjectRetention>[0], projectId);
    const { rows } = await db.query<{ consent_required: ConsentPurpose[] }>('select consent_required from project where id = $1', [
      projectId,
    ]);
    return {
      retention: { samples_days: kept.samplesDays, features_days: kept.featuresDays, beats_days: kept.beatsDays },
      consent_required: rows[0]?.consent_required ?? [],
    };
  };
  return [
    {
      method: 'GET',
      path: '/api/v1/projects/{projectId}/settings',
      operationId: 'getProjectSettings',
      tag: 'Projects',
      summary: 'Read the retention and consent rules of a project',
      access: admin,
      params: { projectId: Type.String({ maxLength: 64 }) },
      responses: { 200: { description: 'Settings.', schema: SettingsSchema } },
      handler: async ({ caller, params }) => {
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        return { status: 200, json: await read(project.id) };
      },
    },
    {
      method: 'PUT',
      path: '/api/v1/projects/{projectId}/settings',
      operationId: 'setProjectSettings',
      tag: 'Projects',
      summary: 'Replace the retention and consent rules of a project',
      description:
        'Rows older than a shorter retention are deleted in the background, from within ten minutes. Consent rules hold at once.',
      access: admin,
      params: { projectId: Type.String({ maxLength: 64 }) },
      body: SettingsSchema,
      responses: { 200: { description: 'Settings as they are now.', schema: SettingsSchema } },
      handler: async (request) => {
        const { caller, params, body } = request;
        const project = await ownProject(db, caller, params['projectId'] ?? '');
        const before = await read(project.id);
        const wanted = body as Settings;
        const { samples_days: samplesDays, features_days: featuresDays, beats_days: beatsDays } = wanted.retention;
        await writeProjectRetention(db as Parameters<typeof writeProjectRetention>[0], project.id, {
          samplesDays,
          featuresDays,
          beatsDays,
        });
        await db.query('update project set consent_required = $2 where id = $1', [project.id, [...wanted.consent_required]]);
        const after = await read(project.id);
        await audit(db, request, { action: 'project.configured', targetKind: 'project', targetId: project.id, detail: { before, after } });
        return { status: 200, json: after };
      },
    },
  ];
}
