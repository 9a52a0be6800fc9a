/** Routes for a person's consents, and for what a project requires. */
import { Type } from 'typebox';
import type { Pool } from 'pg';
import { callerKey } from '../http/request.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, oneOf, Timestamp, Uuid } from '../http/schemas.ts';
import { answerOnce } from './answer-once.ts';
import type { Db } from '../storage/database/database.ts';
import { audit } from './audit.ts';
import { consentPurposes, listConsents, missingConsents, recordConsent } from './consents.ts';
import type { Consent, ConsentPurpose } from './consents.ts';
import { ownSubject } from './record-ownership.ts';

const Purpose = oneOf(consentPurposes, {
  description: 'recording: new data of the person is taken. sharing: keys and operators read it. The person always sees their own.',
});
const ConsentSchema = exactly({
  purpose: Purpose,
  granted: Type.Boolean({ description: 'false: withdrawn.' }),
  document: Type.String({ description: 'What was agreed to: version or address of the text that was shown.' }),
  recorded_by: Type.String({ description: 'Who told the service: user:<id>, key:<id>, operator:<id>.' }),
  created_at: Timestamp,
});
const ConsentsSchema = exactly({
  missing: Type.Array(Purpose, { description: 'Required by the project and not granted: refused with consent_missing.' }),
  records: Type.Array(ConsentSchema, { description: 'Newest first; the newest of a purpose counts.' }),
});

type Consents = Readonly<{ missing: readonly ConsentPurpose[]; records: readonly Consent[] }>;
type Deps = Readonly<{ db: Pool }>;

async function consentsOf(db: Db, subjectId: string): Promise<Consents> {
  return { missing: await missingConsents(db, subjectId), records: await listConsents(db, subjectId) };
}

const listConsentsRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/api/v1/xusers/{xuserId}/consents',
    operationId: 'listConsents',
    tag: 'Users',
    summary: 'Read what a person has consented to',
    access: { key: 'read', userToken: 'own', operator: 'viewer' },
    params: { xuserId: Uuid },
    responses: { 200: { description: 'Consents.', schema: ConsentsSchema } },
    errors: ['not_found'],
    handler: async ({ caller, params }) => {
      const subject = await ownSubject(db, caller, params.xuserId, 'none');
      return { status: 200, json: await consentsOf(db, subject.id) };
    },
  });

const recordConsentRoute = ({ db }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/xusers/{xuserId}/consents',
    operationId: 'recordConsent',
    tag: 'Users',
    summary: 'Record that a person has consented, or has withdrawn',
    description:
      'Records are added, never changed. A project that requires a purpose (PUT /projects/{projectId}/settings) refuses without it: ' +
      'recording refuses packets, measurements and entries; sharing refuses reads by keys and operators, live feeds included. Open ' +
      'feeds and recordings are asked again within a second.',
    access: { key: 'write', userToken: 'own', operator: 'editor' },
    params: { xuserId: Uuid },
    body: exactly({
      purpose: Purpose,
      granted: Type.Boolean(),
      document: Type.Optional(Type.String({ maxLength: 500 })),
    }),
    idempotent: true,
    responses: { 201: { description: 'Consents as they are now.', schema: ConsentsSchema } },
    errors: ['not_found'],
    handler: async (request) => {
      const { caller, params, body } = request;
      const { purpose, granted, document = '' } = body;
      const subject = await ownSubject(db, caller, params.xuserId, 'none');
      const by = callerKey(caller);
      return await answerOnce(db, request, { operationId: 'recordConsent', subjectId: subject.id }, async (client) => {
        const consentId = await recordConsent(client, { orgId: subject.orgId, subjectId: subject.id, purpose, granted, document, by });
        await audit(client, request, {
          action: granted ? 'consent.granted' : 'consent.withdrawn',
          targetKind: 'xuser',
          targetId: subject.id,
          detail: { purpose, consent: consentId }, // the text is erased with the person; this stays
        });
        return { status: 201, json: await consentsOf(client, subject.id) };
      });
    },
  });

export const consentRoutes = (deps: Deps): readonly Route[] => [listConsentsRoute(deps), recordConsentRoute(deps)];
