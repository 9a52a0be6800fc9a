/** POST /api/v1/xusers/{xuserId}/erase: erases everything of one user, with a receipt. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { ownSubject } from '../tenancy/record-ownership.ts';
import { PipelineError } from '../errors.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, Timestamp, Uuid } from '../http/schemas.ts';
import { eraseUser } from './erase.ts';
import type { SubjectId } from '../signal.ts';

export type EraseDeps = Readonly<{
  db: Pool;
  /** Ends feeds and recordings of a user, and stores data still in memory. */
  endSubject?: ((subjectId: SubjectId) => Promise<void>) | undefined;
}>;

const eraseUserRoute = ({ db, endSubject }: EraseDeps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/xusers/{xuserId}/erase',
    operationId: 'eraseUser',
    tag: 'Users',
    summary: 'Erase a user and everything that was recorded of them',
    description:
      'It cannot be undone, so the body repeats the external id. The receipt lists every store with what was deleted and what remains, ' +
      'devices that recorded nobody else included; ' +
      'the log of raw packets, which holds many devices per row, drops what it has until packet_log_until. Open feeds and recordings end within a second. The audit log keeps the receipt and, of earlier ' +
      'entries, the ids.',
    access: { key: 'admin', operator: 'admin' },
    params: { xuserId: Uuid },
    body: exactly({ confirm_external_id: Type.String({ minLength: 1, maxLength: 255 }) }),
    responses: {
      200: {
        description: 'The receipt.',
        schema: exactly({
          xuser_id: Uuid,
          erased_at: Timestamp,
          stores: Type.Array(exactly({ store: Type.String(), deleted: Type.Integer(), remaining: Type.Integer() })),
          devices_shared: Type.Integer({ description: 'Devices of the user that stay, because they recorded other users too.' }),
          packet_log_until: Timestamp,
        }),
      },
    },
    errors: ['not_found'],
    handler: async (request) => {
      const subject = await ownSubject(db, request.caller, request.params.xuserId, 'none');
      const { confirm_external_id: confirmed } = request.body;
      if (confirmed !== subject.externalId) {
        throw new PipelineError('validation_failed', '/confirm_external_id: is not the external id of this user', {
          errors: [{ pointer: '/confirm_external_id', code: 'mismatch', detail: 'is not the external id of this user' }],
        });
      }
      const receipt = await eraseUser(db, subject.orgId, subject.id, {
        actor: request,
        ...(endSubject === undefined ? {} : { endSubject }),
      });
      return { status: 200, json: receipt };
    },
  });

export const eraseRoutes = (deps: EraseDeps): readonly Route[] => [eraseUserRoute(deps)];
