/** POST /api/v1/episodes/{id}/acknowledgement: a person has seen it. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { answerOnce } from '../tenancy/answer-once.ts';
import { audit } from '../tenancy/audit.ts';
import { emitEvent } from '../tenancy/events.ts';
import { ownSubject } from '../tenancy/record-ownership.ts';
import { checkIfMatch } from '../http/precondition.ts';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, Uuid } from '../http/schemas.ts';
import { acknowledge } from './acknowledgements.ts';
import { lockEpisode } from './episodes.ts';
import { EpisodeDetailSchema, ownEpisode, ownEpisodeDetail, tagged, tagOf } from './episode-detail.ts';

const NOTE_MAX = 1000;

type Deps = Readonly<{ db: Pool }>;

const acknowledgeEpisode = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/episodes/{id}/acknowledgement',
    operationId: 'acknowledgeEpisode',
    tag: 'Episodes',
    summary: 'Acknowledge an episode',
    description:
      'Says that a person has seen it; it stays open or closed as it is. Another acknowledgement replaces this one, which stays in the ' +
      'history; opened again, the episode is to be acknowledged again.',
    access: { key: 'write', operator: 'editor' },
    params: { id: Uuid },
    body: exactly({ note: Type.Optional(Type.String({ maxLength: NOTE_MAX })) }),
    bodyBytesMax: 16 * 1024,
    idempotent: true,
    responses: { 200: { description: 'The episode as it is now.', schema: EpisodeDetailSchema, headers: ['ETag'] } },
    errors: ['consent_missing', 'not_found', 'precondition_failed', 'precondition_required'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const { note = '' } = body;
      const { id, subject_id: subjectId, kind } = await ownEpisode(db, caller, params.id);
      const subject = await ownSubject(db, caller, subjectId);
      return await answerOnce(db, request, { operationId: 'acknowledgeEpisode', subjectId: subject.id }, async (client) => {
        await lockEpisode(client, id);
        checkIfMatch(request, tagOf(await ownEpisode(client, caller, id)));
        await acknowledge(client, caller, id, note);
        await audit(client, request, { action: 'episode.acknowledged', targetKind: 'episode', targetId: id });
        const by = callerKey(caller);
        await emitEvent(client, subject, 'episode.acknowledged', { episode_id: id, subject_id: subject.id, kind, acknowledged_by: by });
        return tagged(await ownEpisodeDetail(client, caller, id));
      });
    },
  });

export const acknowledgementRoutes = (deps: Deps): readonly Route[] => [acknowledgeEpisode(deps)];
