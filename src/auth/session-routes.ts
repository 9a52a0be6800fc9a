/** Routes to sign in to the dashboard and out again. */
import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { Type } from 'typebox';
import { PipelineError } from '../errors.ts';
import { isOwnPage } from '../http/cors.ts';
import type { RateLimit } from '../http/rate-limit.ts';
import { defineRoute } from '../http/route.ts';
import type { RequestContext, Route } from '../http/route.ts';
import { exactly } from '../http/schemas.ts';
import { SharedTries } from '../http/shared-tries.ts';
import type { Db } from '../storage/database/database.ts';
import { audit } from '../tenancy/audit.ts';
import { cookieName, readCookie, setCookie } from './cookies.ts';
import { DEVICE_SEC, DeviceCookies } from './device-cookies.ts';
import { Email, MemberSchema } from '../tenancy/operator-routes.ts';
import { listMembers, SESSION_SEC, signIn, signOut } from '../tenancy/operators.ts';
import { orgOf } from '../tenancy/record-ownership.ts';
import type { ReadAudit } from '../tenancy/read-audit.ts';

/** Tries per address (an IPv6 /64 counts as one), and per browser that has signed in before: ten at once, then one every five seconds. Each
 *  costs 0.3 s of CPU, and guessing must be slow. */
const TRIES_PER_SEC = 0.2;
const TRY_BURST_SEC = 50;
/** Tries per account from unknown browsers: twenty at once, then one a second. More than one address is allowed, so that it takes several
 *  addresses to use it up. */
const ACCOUNT_TRIES_PER_SEC = 1;
const ACCOUNT_BURST_SEC = 20;

export type SessionDeps = Readonly<{
  db: Db;
  /** Cookies are sent over HTTPS only. */
  secureCookies: boolean;
  /** Signs the cookies of known browsers; the same on every node. Default: a random one, for the life of the process. */
  deviceSecret?: Uint8Array | undefined;
  signInRefused?: ReadAudit['signInRefused'] | undefined;
  /** A mail server is set. */
  canMail?: boolean | undefined;
  /** Counts tries at other nodes, too. */
  tries?: SharedTries | undefined;
}>;

const SignedInSchema = exactly({
  ...MemberSchema.properties,
  can_email: Type.Boolean({ description: 'The service has a mail server, so a rule can have addresses.' }),
});

/** Admits an attempt to sign in.  @param device a browser known to the account, or null
 *  @throws PipelineError rate_limited */
type AdmitTry = (email: string, address: string, device: string | null) => void;

/** Counts tries by browser, address and account. */
function limitedTries(shared: SharedTries): AdmitTry {
  const tries = shared.limit('sign-in', TRIES_PER_SEC, TRY_BURST_SEC);
  const accountTries = shared.limit('sign-in account', ACCOUNT_TRIES_PER_SEC, ACCOUNT_BURST_SEC);
  return (email, address, device) => {
    const nowMs = performance.now();
    const take = (limit: RateLimit, who: string): void => {
      const { allowed, retryAfterSec } = limit.take(who, nowMs);
      if (!allowed) throw new PipelineError('rate_limited', 'Too many tries; wait.', { retryAfterSec });
    };
    if (device !== null) {
      take(tries, `device ${device}`);
      return;
    }
    take(tries, `address ${networkOf(address)}`);
    take(accountTries, email.toLowerCase());
  };
}

const signInRoute = ({ db, canMail = false, secureCookies, deviceSecret, signInRefused, tries = new SharedTries() }: SessionDeps) => {
  const devices = new DeviceCookies(deviceSecret ?? randomBytes(32));
  const admitTry = limitedTries(tries);
  const sessionName = cookieName('bio_session', secureCookies);
  const deviceName = cookieName('bio_device', secureCookies);
  return defineRoute({
    method: 'POST',
    path: '/auth/session',
    operationId: 'signIn',
    tag: 'Operators',
    summary: 'Sign in to the dashboard',
    description:
      'Sets an HttpOnly, SameSite=Strict cookie, and another one that tells this browser again. Ten tries at once for an address, then one ' +
      'in five seconds; twenty for an account, then one a second. A browser that was signed in before has ten tries of its own, whatever others try.',
    access: { public: true },
    body: exactly({ email: Email, password: Type.String({ minLength: 1, maxLength: 200 }) }),
    bodyBytesMax: 4096,
    responses: { 200: { description: 'Signed in.', schema: SignedInSchema, headers: ['Set-Cookie'] } },
    errors: ['credential_invalid', 'rate_limited', 'origin_forbidden'],
    handler: async (request) => {
      const { email, password } = request.body;
      refuseOtherPages(request);
      const deviceCookie = readCookie(request.header('cookie'), deviceName);
      const device = deviceCookie === '' ? null : devices.open(email, deviceCookie);
      admitTry(email, request.remoteAddress, device);
      const { token, member, orgId } = await signIn(db, email, password, {
        ip: request.remoteAddress,
        userAgent: request.header('user-agent'),
        refused: (account) => signInRefused?.(account, request),
      });
      const actor = { ...request, caller: { kind: 'operator', operatorId: member.id, orgId, role: 'viewer' } as const };
      await audit(db, actor, { action: 'session.created', targetKind: 'operator', targetId: member.id });
      const known = devices.open(email, deviceCookie) === null ? devices.issue(email) : deviceCookie;
      const cookies = [setCookie(sessionName, token, SESSION_SEC, secureCookies), setCookie(deviceName, known, DEVICE_SEC, secureCookies)];
      return { status: 200, json: { ...member, can_email: canMail }, headers: { 'set-cookie': cookies.join('\n') } };
    },
  });
};

const signOutRoute = ({ db, secureCookies }: SessionDeps) => {
  const sessionName = cookieName('bio_session', secureCookies);
  return defineRoute({
    method: 'DELETE',
    path: '/auth/session',
    operationId: 'signOut',
    tag: 'Operators',
    summary: 'Sign out',
    access: { operator: 'viewer' },
    responses: { 204: { description: 'Signed out.', headers: ['Set-Cookie'] } },
    handler: async (request) => {
      const { caller, header } = request;
      await signOut(db, readCookie(header('cookie'), sessionName));
      const operatorId = caller.kind === 'operator' ? caller.operatorId : '';
      await audit(db, request, { action: 'session.ended', targetKind: 'operator', targetId: operatorId });
      return { status: 204, headers: { 'set-cookie': setCookie(sessionName, '', 0, secureCookies) } };
    },
  });
};

const getSession = ({ db, canMail = false }: SessionDeps) =>
  defineRoute({
    method: 'GET',
    path: '/auth/session',
    operationId: 'getSession',
    tag: 'Operators',
    summary: 'Who is signed in?',
    access: { operator: 'viewer' },
    responses: { 200: { description: 'The account.', schema: SignedInSchema } },
    errors: ['not_found'],
    handler: async ({ caller }) => {
      const members = await listMembers(db, orgOf(caller));
      const member = members.find(({ id }) => caller.kind === 'operator' && id === caller.operatorId);
      if (member === undefined) throw new PipelineError('not_found', 'There is no such account.');
      return { status: 200, json: { ...member, can_email: canMail } };
    },
  });

/** Stops another site from signing its visitor in as a different person. Programs other than browsers send neither header, and pass.
 *  @throws PipelineError origin_forbidden */
function refuseOtherPages({ header }: RequestContext): void {
  const said = header('origin') !== '' || header('sec-fetch-site') !== '';
  if (said && !isOwnPage(header)) throw new PipelineError('origin_forbidden', 'Sign in from the service itself.');
}

/** The network of one subscriber: an IPv4 address, or the first 64 bits of an IPv6 address. */
function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = (part: string | undefined): string[] => (part ?? '').split(':').filter((group) => group !== '');
  const before = groups(head);
  const after = groups(tail);
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0');
  return [...before, ...zeros, ...after]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}

export const sessionRoutes = (deps: SessionDeps): readonly Route[] => [signInRoute(deps), signOutRoute(deps), getSession(deps)];
