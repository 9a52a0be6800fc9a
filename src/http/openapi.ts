/** The API description (OpenAPI 3.1), written from the route table. typebox schemas are JSON Schema, so nothing is converted. */
import type { TSchema } from 'typebox';
import { errorTable } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { rolesOf } from './access.ts';
import { PROBLEM_TYPE } from './problem.ts';
import type { Access, Route, SocketRoute } from './route.ts';
import { ProblemSchema } from './schemas.ts';

type Json = Readonly<Record<string, unknown>>;

export type ApiInfo = Readonly<{
  version: string;
  tags: Readonly<Record<string, string>>;
  /** Messages that the service itself sends to an integrator's address, by type. */
  webhooks?: Readonly<Record<string, Readonly<{ summary: string; schema: TSchema }>>>;
}>;

/** Codes that a route can answer besides its own: what the layer itself refuses. */
export function errorsOf(route: Route): readonly ErrorCode[] {
  const codes = new Set<ErrorCode>([
    'bad_request',
    'headers_too_large',
    'validation_failed',
    'https_required',
    'internal',
    'unavailable',
    'shutting_down',
  ]);
  const add = (...more: readonly ErrorCode[]): void => more.forEach((code) => codes.add(code));
  if (route.access.public !== true) {
    add('credential_missing', 'credential_invalid', 'credential_kind', 'token_expired', 'rate_limited');
    if (route.access.key !== undefined || route.access.direct !== undefined) add('scope_missing', 'origin_forbidden');
    if (route.access.direct !== undefined) add('not_found');
    if (route.access.userToken === 'own' || route.access.direct !== undefined) add('consent_missing'); // it is about a person
    if (route.access.operator !== undefined) add('scope_missing', 'origin_forbidden');
  }
  if (route.params !== undefined) add('not_found');
  if (route.body !== undefined) add('payload_too_large', 'request_timeout', 'unsupported_media_type');
  if (route.idempotent === true) add('idempotency_mismatch', 'busy');
  add(...(route.errors ?? []));
  return [...codes].toSorted((a, b) => errorTable[a].status - errorTable[b].status || (a < b ? -1 : 1));
}

/** Writes the description of a table. */
export function openApi(routes: readonly Route[], sockets: readonly SocketRoute[], info: ApiInfo): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const item = (paths[route.path] ??= {});
    item[route.method.toLowerCase()] = operation(route);
  }
  for (const socket of sockets) {
    const item = (paths[socket.path] ??= {});
    item['get'] = handshake(socket);
  }
  const used = new Set([...routes, ...sockets].map((route) => route.tag));
  return {
    openapi: '3.1.0',
    info: {
      title: 'biosignal',
      version: info.version,
      summary: 'Raw physiological signals in; features with a quality flag on every value out.',
      description: 'Errors are problem details (RFC 9457) with a `code` from a closed list: see /api-docs/errors.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: [...used].toSorted().map((name) => ({ name, description: info.tags[name] ?? name })),
    security: [{ orgKey: [] }, { userToken: [] }],
    paths,
    webhooks: Object.fromEntries(
      Object.entries(info.webhooks ?? {}).map(([type, message]) => [type, { post: webhookMessage(type, message) }]),
    ),
    components: {
      securitySchemes: {
        orgKey: { type: 'http', scheme: 'bearer', description: 'Organization key, org_live_… or org_test_…; server-side only.' },
        userToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'User token from POST /api/v1/sdk/token.' },
        operatorSession: {
          type: 'apiKey',
          in: 'cookie',
          name: 'bio_session',
          description: 'Session of the dashboard; same origin only. Over HTTPS: __Host-bio_session.',
        },
      },
      schemas: { Problem: ProblemSchema },
    },
  };
}

function operation(route: Route): Json {
  const idempotencyHeader = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'The same key within 24 hours gets the first answer again; with another body 422.',
    schema: { type: 'string', maxLength: 200 },
  };
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: [route.description, accessText(route.access)].filter((text) => text !== undefined).join('\n\n'),
    security: security(route.access),
    ...(parameters(route).length > 0 || route.idempotent === true
      ? { parameters: [...parameters(route), ...(route.idempotent === true ? [idempotencyHeader] : [])] }
      : {}),
    ...(route.body === undefined ? {} : { requestBody: requestBody(route) }),
    responses: { ...successes(route), ...problems(errorsOf(route)) },
  };
}

function webhookMessage(type: string, { summary, schema }: Readonly<{ summary: string; schema: TSchema }>): Json {
  return {
    operationId: `on ${type}`.replaceAll(/[ .](\w)/g, (_match, letter: string) => letter.toUpperCase()),
    tags: ['Webhooks'],
    summary,
    description: 'Signed in webhook-signature; see the registration of a webhook.',
    security: [],
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'Taken.' },
      '4XX': { description: 'Tried again; 410 Gone: the webhook is called no more.' },
    },
  };
}

function handshake(socket: SocketRoute): Json {
  return {
    operationId: socket.operationId,
    tags: [socket.tag],
    summary: socket.summary,
    description:
      `A WebSocket. Offer the subprotocols ["${socket.protocol}", "bio.bearer.<base64url(credential)>"], or send Authorization. ` +
      `Messages up to ${socket.messageBytesMax} bytes.\n\n${accessText(socket.access)}`,
    security: security(socket.access),
    ...(socket.query === undefined ? {} : { parameters: parametersIn('query', socket.query) }),
    responses: {
      101: { description: `Switching protocols; the subprotocol is ${socket.protocol}.` },
      default: { description: 'A problem.', content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } } },
      ...problems([
        'bad_request',
        'credential_missing',
        'credential_invalid',
        'credential_kind',
        'token_expired',
        'scope_missing',
        'consent_missing',
        'not_found',
        'validation_failed',
        'shutting_down',
      ]),
    },
  };
}

function accessText(access: Access): string {
  if (access.public === true) return 'No credential.';
  const kinds: string[] = [];
  if (access.key !== undefined) kinds.push(`an organization key with the scope \`${access.key}\``);
  if (access.direct !== undefined) {
    const scope = access.direct === true ? '' : ` and the scope \`${access.direct}\``;
    kinds.push(`an organization key with the headers project-key and xuser-id${scope} (direct mode)`);
  }
  if (access.userToken !== undefined) kinds.push('a user token, for its own records');
  if (access.operator !== undefined) kinds.push(`an operator session, of a member with the role ${rolesOf[access.operator]}`);
  return `Credential: ${kinds.join('; ')}.`;
}

function security(access: Access): readonly Json[] {
  if (access.public === true) return [];
  const list: Json[] = [];
  if (access.key !== undefined || access.direct !== undefined) list.push({ orgKey: [] });
  if (access.userToken !== undefined) list.push({ userToken: [] });
  if (access.operator !== undefined) list.push({ operatorSession: [] });
  return list;
}

function parameters(route: Route): readonly Json[] {
  return [
    ...parametersIn('path', route.params ?? {}),
    ...parametersIn('query', route.query ?? {}),
    ...parametersIn('header', route.headers ?? {}),
  ];
}

function parametersIn(place: 'path' | 'query' | 'header', schemas: Readonly<Record<string, TSchema>>): readonly Json[] {
  return Object.entries(schemas).map(([name, schema]) => {
    const { description } = schema as { description?: string; type?: string };
    return {
      name,
      in: place,
      required: place === 'path' || !('~optional' in schema),
      ...(description === undefined ? {} : { description }),
      ...('type' in schema && schema.type === 'array' ? { style: 'form', explode: false } : {}),
      schema,
    };
  });
}

function requestBody(route: Route): Json {
  const types = route.bodyTypes ?? ['application/json'];
  const schema = route.body === 'binary' ? {} : { schema: route.body };
  return { required: true, content: Object.fromEntries(types.map((type) => [type, schema])) };
}

function successes(route: Route): Json {
  const responses: Record<string, Json> = {};
  for (const [status, spec] of Object.entries(route.responses)) {
    const content: Record<string, Json> = {};
    if (spec.schema !== undefined) content[spec.contentType ?? 'application/json'] = { schema: spec.schema };
    else if (spec.contentType !== undefined) content[spec.contentType] = {};
    for (const [type, schema] of Object.entries(spec.alternatives ?? {})) content[type] = schema === null ? {} : { schema };
    const headers = Object.fromEntries((spec.headers ?? []).map((name) => [name, { schema: { type: 'string' } }]));
    responses[status] = {
      description: spec.description,
      ...(Object.keys(content).length > 0 ? { content } : {}),
      ...(Object.keys(headers).length > 0 ? { headers } : {}),
    };
  }
  if (route.etag === true) responses['304'] = { description: 'Not modified since the ETag of If-None-Match.' };
  return responses;
}

function problems(codes: readonly ErrorCode[]): Json {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const { status } = errorTable[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: Record<string, Json> = {};
  for (const [status, list] of byStatus) {
    responses[status] = {
      description: list.map((code) => `\`${code}\`: ${errorTable[code].title}`).join('\n\n'),
      content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
  return responses;
}
