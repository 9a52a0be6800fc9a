/** Mints and verifies user tokens. RS256 only; one user; valid for one hour, or until the key that asked for it expires. */
import { randomUUID } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { JWTHeaderParameters } from 'jose';
import { PipelineError } from '../errors.ts';
import type { SigningKeys } from './signing-keys.ts';
import { unixNowMs } from '../unix-clock.ts';

export const TOKEN_SEC = 3600;
const AUDIENCE = 'biosignal';
/** Allowed clock difference between two nodes. */
const CLOCK_SEC = 5;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export type TokenClaims = Readonly<{
  subjectId: string;
  orgId: string;
  projectId: string;
  /** SDK key that the token was minted for; the token ends with it. */
  sdkKeyId: string | null;
  jti: string;
  /** Key that signed it. */
  kid: string;
  issuedAtSec: number;
  expiresAtSec: number;
}>;
export type TokenSubject = Readonly<{ subjectId: string; orgId: string; projectId: string; sdkKeyId?: string | null }>;

export type UserToken = Readonly<{ token: string; lifetimeSec: number }>;

/** @param endsMs expiry of the key that asks for it: the token ends no later  @throws PipelineError credential_invalid: within the
 *  second */
export async function mintUserToken(keys: SigningKeys, issuer: string, subject: TokenSubject, endsMs = Infinity): Promise<UserToken> {
  const { kid, key } = await keys.signer();
  const now = Math.floor(unixNowMs() / 1000);
  const lifetimeSec = Math.min(TOKEN_SEC, Math.floor(endsMs / 1000) - now);
  if (lifetimeSec < 1) throw new PipelineError('credential_invalid', 'The key ends within a second: it mints no more tokens.');
  const sdk = (subject.sdkKeyId ?? null) === null ? {} : { sdk: subject.sdkKeyId };
  const token = await new SignJWT({ org: subject.orgId, proj: subject.projectId, ...sdk })
    .setProtectedHeader({ alg: 'RS256', kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(AUDIENCE)
    .setSubject(subject.subjectId)
    .setIssuedAt(now)
    .setExpirationTime(now + lifetimeSec)
    .setJti(randomUUID())
    .sign(key);
  return { token, lifetimeSec };
}

/** Verifies signature and claims (RFC 8725). Stricter than jose, we also refuse: a header without kid or with further members, an audience
 *  list, a token issued in the future, and a lifetime longer than we ever grant. Whether user, project and organization still exist is for
 *  the caller to check.
 *  @throws PipelineError credential_invalid, token_expired */
export async function verifyUserToken(keys: SigningKeys, issuer: string, token: string): Promise<TokenClaims> {
  try {
    const { payload, protectedHeader } = await jwtVerify(token, (header) => keyOf(keys, header), {
      algorithms: ['RS256'],
      issuer,
      audience: AUDIENCE,
      typ: 'JWT',
      clockTolerance: 0,
      currentDate: new Date(unixNowMs()),
      requiredClaims: ['iss', 'aud', 'sub', 'org', 'proj', 'iat', 'exp', 'jti'],
    });
    const { sub, org, proj, sdk, jti, iat, exp, aud } = payload;
    const now = unixNowMs() / 1000;
    if (typeof aud !== 'string' || typeof sub !== 'string' || typeof org !== 'string' || typeof proj !== 'string') throw invalid('claims');
    if (!uuid.test(sub) || !uuid.test(org) || !uuid.test(proj) || typeof jti !== 'string') throw invalid('claims');
    if (sdk !== undefined && (typeof sdk !== 'string' || !uuid.test(sdk))) throw invalid('claims');
    if (typeof iat !== 'number' || typeof exp !== 'number' || !Number.isInteger(iat) || !Number.isInteger(exp)) throw invalid('times');
    if (iat > now + CLOCK_SEC || exp - iat > TOKEN_SEC || exp <= iat) throw invalid('times');
    const { kid = '' } = protectedHeader;
    return { subjectId: sub, orgId: org, projectId: proj, sdkKeyId: sdk ?? null, jti, kid, issuedAtSec: iat, expiresAtSec: exp };
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw new PipelineError('token_expired', 'The user token has expired.', { cause: error });
    if (error instanceof errors.JOSEError) throw invalid('signature or claims', error);
    throw error;
  }
}

async function keyOf(keys: SigningKeys, header: JWTHeaderParameters): Promise<CryptoKeyLike> {
  for (const name of Object.keys(header))
    if (name !== 'alg' && name !== 'kid' && name !== 'typ') throw invalid(`header member ${name.slice(0, 16)}`);
  const key = typeof header.kid === 'string' && header.kid.length <= 64 ? await keys.verifier(header.kid) : null;
  if (key === null) throw invalid('kid');
  return key;
}

type CryptoKeyLike = NonNullable<Awaited<ReturnType<SigningKeys['verifier']>>>;

function invalid(what: string, cause?: unknown): PipelineError {
  return new PipelineError('credential_invalid', `The user token is not valid (${what}).`, cause === undefined ? {} : { cause });
}
