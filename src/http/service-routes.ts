/** Health, readiness and metrics. */
import { timingSafeEqual } from 'node:crypto';
import { Type } from 'typebox';
import { PipelineError } from '../errors.ts';
import { isLoopbackAddress } from '../config.ts';
import { defineRoute } from './route.ts';
import type { AuthRequest, Route } from './route.ts';
import { exactly, oneOf } from './schemas.ts';

/** A part of the service, and whether it works. */
export type Part = Readonly<{
  name: string;
  ok: boolean;
  detail: string;
  /** false: traffic is taken without it, so it does not count for readiness. Default: true. */
  needed?: false;
}>;

export type ServiceDeps = Readonly<{
  version: string;
  /** Name of this node: several may share a port. */
  node: string;
  parts: () => Promise<readonly Part[]>;
  /** Default: this instance is to take traffic. */
  standby?: () => boolean;
  /** Text in the Prometheus exposition format. */
  metrics: () => Promise<string>;
  /** Bearer token for /metrics and for details of /readyz from other machines; empty: loopback only. */
  metricsToken: string;
  /** Has the request a credential that may read details of /readyz? Default: none has. Resolves soon, also while the database is away. */
  mayReadDetails?: (request: Pick<AuthRequest, 'bearer' | 'header' | 'method'>) => Promise<boolean>;
}>;

const Health = exactly({ status: Type.Literal('ok'), version: Type.String() });
const Readiness = exactly({
  status: oneOf(['ready', 'not_ready', 'standby']),
  node: Type.Optional(Type.String({ description: 'Name of the node that answers, for operators: several may share a port.' })),
  parts: Type.Array(
    exactly({
      name: Type.String(),
      ok: Type.Boolean(),
      detail: Type.Optional(Type.String({ description: 'Numbers and reasons, for operators.' })),
    }),
  ),
});

const getHealth = ({ version }: ServiceDeps) =>
  defineRoute({
    method: 'GET',
    path: '/healthz',
    operationId: 'getHealth',
    tag: 'Service',
    summary: 'Is the process alive?',
    access: { public: true },
    responses: { 200: { description: 'It is.', schema: Health } },
    handler: async () => ({ status: 200, json: { status: 'ok', version } }),
  });

const getReadiness = (deps: ServiceDeps) =>
  defineRoute({
    method: 'GET',
    path: '/readyz',
    operationId: 'getReadiness',
    tag: 'Service',
    summary: 'Can it take traffic?',
    description:
      'Anyone is told which parts work. `node` and `detail` are added from loopback, with the bearer token BIO_METRICS_TOKEN, in a session of the ' +
      'dashboard, and with a key of scope admin that the service has seen before.',
    access: { public: true },
    responses: {
      200: {
        description: 'Every part that traffic needs works; one that is not `ok` is not needed for it.',
        schema: Readiness,
      },
      503: {
        description: 'A part does not, or another instance owns the packet log and this one waits for it (standby).',
        schema: Readiness,
      },
    },
    handler: async (request) => {
      const [parts, detailed] = await Promise.all([deps.parts(), maySeeDetails(deps, request)]);
      const ready = parts.every(({ ok, needed = true }) => ok || !needed);
      const why = deps.standby?.() === true ? 'standby' : 'not_ready';
      const said = parts.map(({ name, ok, detail }) => ({ name, ok, ...(detailed ? { detail } : {}) }));
      const json = { ...(detailed ? { node: deps.node } : {}), parts: said };
      return ready ? { status: 200, json: { status: 'ready', ...json } } : { status: 503, json: { status: why, ...json } };
    },
  });

const getMetrics = ({ metrics, metricsToken }: ServiceDeps) =>
  defineRoute({
    method: 'GET',
    path: '/metrics',
    operationId: 'getMetrics',
    tag: 'Service',
    summary: 'Metrics for Prometheus',
    description: 'From loopback, or with the bearer token BIO_METRICS_TOKEN.',
    access: { public: true },
    responses: { 200: { description: 'Prometheus text format.', contentType: 'text/plain; version=0.0.4; charset=utf-8' } },
    errors: ['credential_missing', 'credential_invalid'],
    handler: async (request) => {
      const given = request.header('authorization');
      if (!isScraper(request, metricsToken)) {
        throw new PipelineError(
          given === '' ? 'credential_missing' : 'credential_invalid',
          'Send Authorization: Bearer with the metrics token.',
        );
      }
      return { status: 200, text: await metrics(), contentType: 'text/plain; version=0.0.4; charset=utf-8' };
    },
  });

type Asking = Readonly<{ header: (lowerCaseName: string) => string; remoteAddress: string }>;

/** From this machine without a credential, or with the metrics token. */
function isScraper({ header, remoteAddress }: Asking, metricsToken: string): boolean {
  const given = header('authorization');
  return (given === '' && isLoopbackAddress(remoteAddress)) || sameToken(given, metricsToken);
}

async function maySeeDetails({ metricsToken, mayReadDetails }: ServiceDeps, request: Asking): Promise<boolean> {
  if (isScraper(request, metricsToken)) return true;
  const bearer = /^Bearer +(\S+)$/i.exec(request.header('authorization'))?.[1] ?? null;
  return (await mayReadDetails?.({ bearer, header: request.header, method: 'GET' })) ?? false;
}

function sameToken(header: string, token: string): boolean {
  const given = Buffer.from(header);
  const expected = Buffer.from(`Bearer ${token}`);
  return token !== '' && given.length === expected.length && timingSafeEqual(given, expected);
}

export const serviceRoutes = (deps: ServiceDeps): readonly Route[] => [getHealth(deps), getReadiness(deps), getMetrics(deps)];
