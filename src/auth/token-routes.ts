/** POST /api/v1/sdk/token and the key set that verifies its tokens. */
import { Type } from 'typebox';
import { PipelineError } from '../errors.ts';
import { defineRoute } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { exactly, Uuid } from '../http/schemas.ts';
import type { Auth } from './auth.ts';
import type { Db } from '../storage/database/database.ts';
import { ownProject } from '../tenancy/record-ownership.ts';
import { ExternalId, ProjectKey } from '../tenancy/xuser-schemas.ts';
import { noteSubject } from '../tenancy/request-scope.ts';
import { TOKEN_SEC } from './user-tokens.ts';
import { resolveXuser } from '../tenancy/xusers.ts';

const TokenRequest = exactly({ external_id: ExternalId, project_key: ProjectKey });
export const TokenResponse = exactly({
  xuser_token: Type.String({ description: 'The user token: a JWT signed with RS256.' }),
  xuser_id: Uuid,
  expires_in: Type.Integer({
    minimum: 1,
    maximum: TOKEN_SEC,
    description: 'Lifetime in seconds: an hour, or less when the key ends before.',
  }),
});

type Deps = Readonly<{ db: Db; auth: Auth }>;

const createUserToken = ({ db, auth }: Deps) =>
  defineRoute({
    method: 'POST',
    path: '/api/v1/sdk/token',
    operationId: 'createUserToken',
    tag: 'Tokens',
    summary: 'Mint a token for one user',
    description:
      'Called by the backend of an application for its signed-in user. Creates the user record when there is none yet. With the header ' +
      '`sdk-key` the token is bound to that key of the project: it ends when the key is revoked or expires.',
    access: { key: 'write' },
    body: TokenRequest,
    bodyBytesMax: 16 * 1024,
    responses: { 200: { description: 'The token.', schema: TokenResponse } },
    errors: ['not_found', 'conflict'],
    handler: async ({ caller, body, header }) => {
      const { external_id: externalId, project_key: projectKey } = body;
      const project = await ownProject(db, caller, projectKey);
      auth.notePublicKey(projectKey);
      const sdkKeyId = await auth.sdkKeyOf(project.id, header('sdk-key'));
      const { xuser } = await resolveXuser(db, project.orgId, project.id, externalId);
      if (xuser.disabled) throw new PipelineError('conflict', 'The user is disabled.');
      noteSubject(caller, xuser.xuser_id, project.id);
      const subject = { subjectId: xuser.xuser_id, orgId: project.orgId, projectId: project.id, sdkKeyId };
      const { token, lifetimeSec } = await auth.mint(subject, caller);
      return { status: 200, json: { xuser_token: token, xuser_id: xuser.xuser_id, expires_in: lifetimeSec } };
    },
  });

const getJwks = ({ auth }: Deps) =>
  defineRoute({
    method: 'GET',
    path: '/.well-known/jwks.json',
    operationId: 'getJwks',
    tag: 'Tokens',
    summary: 'Keys that verify user tokens',
    access: { public: true },
    responses: {
      200: {
        description: 'A JSON Web Key Set (RFC 7517).',
        schema: exactly({
          keys: Type.Array(
            exactly({
              kty: Type.Literal('RSA'),
              kid: Type.String(),
              alg: Type.Literal('RS256'),
              use: Type.Literal('sig'),
              n: Type.String(),
              e: Type.String(),
            }),
          ),
        }),
      },
    },
    handler: async () => ({ status: 200, json: await auth.signingKeys.jwks(), headers: { 'cache-control': 'public, max-age=300' } }),
  });

export const tokenRoutes = (deps: Deps): readonly Route[] => [createUserToken(deps), getJwks(deps)];
