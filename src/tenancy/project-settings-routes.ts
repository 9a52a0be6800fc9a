/** Settings of a project: how long its rows are kept, and which consents it requires. */
import { build, run } from '../storage/database/build.ts';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Pool } from 'pg';
import { checkIfMatch, etagOf } from '../http/precondition.ts';
import { defineRoute } from '../http/route.ts';
import type { Access, Route } from '../http/route.ts';
import { exactly, nullable, oneOf } from '../http/schemas.ts';
import { transaction } from '../storage/database/transaction.ts';
import { readProjectRetention, retentionDaysMax, writeProjectRetention } from '../storage/retention.ts';
import type { Db } from '../storage/database/database.ts';
import { audit } from './audit.ts';
import { consentPurposes } from './consents.ts';
import { lockProject, ownProject } from './record-ownership.ts';

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

type Settings = Static<typeof SettingsSchema>;

type Deps = Readonly<{ db: Pool }>;

async function settingsOf(db: Db, projectId: string): Promise<Settings> {
  const kept = await readProjectRetention(db, projectId);
  const { rows } = await run(db, build.selectFrom('project').select('consent_required').where('id', '=', projectId));
  return {
    retention: { samples_days: kept.samplesDays, features_days: kept.featuresDays, beats_days: kept.beatsDays },
    consent_required: rows[0]?.consent_required ?? [],
  };
}

const getProjectSettings = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/projects/{projectId}/settings',
    operationId: 'getProjectSettings',
    tag: 'Projects',
    summary: 'Read the retention and consent rules of a project',
    access: admin,
    params: { projectId: Type.String({ maxLength: 64 }) },
    responses: { 200: { description: 'Settings.', schema: SettingsSchema, headers: ['ETag'] } },
    handler: async ({ caller, params }) => {
      const project = await ownProject(db, caller, params.projectId);
      const settings = await settingsOf(db, project.id);
      return { status: 200, json: settings, headers: { etag: etagOf(settings) } };
    },
  });

const setProjectSettings = ({ db }: Deps) =>
  defineRoute({
    method: 'PUT',
    path: '/api/v1/projects/{projectId}/settings',
    operationId: 'setProjectSettings',
    tag: 'Projects',
    summary: 'Replace the retention and consent rules of a project',
    description: 'Rows older than a shorter retention are deleted in the background, from within ten minutes. Consent rules hold at once.',
    access: admin,
    params: { projectId: Type.String({ maxLength: 64 }) },
    body: SettingsSchema,
    responses: { 200: { description: 'Settings as they are now.', schema: SettingsSchema, headers: ['ETag'] } },
    errors: ['precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const project = await ownProject(db, caller, params.projectId);
      const { samples_days: samplesDays, features_days: featuresDays, beats_days: beatsDays } = body.retention;
      const settings = await transaction(db, async (client) => {
        await lockProject(client, project.id);
        const before = await settingsOf(client, project.id);
        checkIfMatch(request, etagOf(before));
        await writeProjectRetention(client, project.id, { samplesDays, featuresDays, beatsDays });
        const required = { consent_required: [...body.consent_required] };
        await run(client, build.updateTable('project').set(required).where('id', '=', project.id));
        const after = await settingsOf(client, project.id);
        await audit(client, request, {
          action: 'project.configured',
          targetKind: 'project',
          targetId: project.id,
          detail: { before, after },
        });
        return after;
      });
      return { status: 200, json: settings, headers: { etag: etagOf(settings) } };
    },
  });

export const projectSettingsRoutes = (deps: Deps): readonly Route[] => [getProjectSettings(deps), setProjectSettings(deps)];
