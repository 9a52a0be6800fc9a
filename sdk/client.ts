/** The REST API as a typed client: for integrators, scripts and tests. Runs in Node and in browsers, needs only `fetch`.
 *  Its types are written from the service's route table (api-types.ts), and the compiler holds `operations` against them. */
import type { Operations } from './api-types.ts';
import { ApiError, fetchJson } from './fetch-json.ts';
import { addressOf } from './request.ts';
import type { Answer, AnyRequest, BodyOf, Operation as AnyOperation, QueryOf, RequestArguments } from './request.ts';

export { ApiError } from './fetch-json.ts';

/** Every operation: method, path with `{parameters}`. */
export const operations = {
  createUserToken: ['POST', '/api/v1/sdk/token'],
  resolveUser: ['POST', '/api/v1/xusers'],
  listUsers: ['GET', '/api/v1/xusers'],
  getUser: ['GET', '/api/v1/xusers/{xuserId}'],
  updateUser: ['PATCH', '/api/v1/xusers/{xuserId}'],
  exportUser: ['GET', '/api/v1/xusers/{xuserId}/export'],
  eraseUser: ['POST', '/api/v1/xusers/{xuserId}/erase'],
  listConsents: ['GET', '/api/v1/xusers/{xuserId}/consents'],
  recordConsent: ['POST', '/api/v1/xusers/{xuserId}/consents'],
  listApiKeys: ['GET', '/api/v1/api-keys'],
  createApiKey: ['POST', '/api/v1/api-keys'],
  rotateApiKey: ['POST', '/api/v1/api-keys/{keyId}/rotate'],
  revokeApiKey: ['DELETE', '/api/v1/api-keys/{keyId}'],
  listProjects: ['GET', '/api/v1/projects'],
  createProject: ['POST', '/api/v1/projects'],
  listSdkKeys: ['GET', '/api/v1/projects/{projectId}/sdk-keys'],
  createSdkKey: ['POST', '/api/v1/projects/{projectId}/sdk-keys'],
  rotateSdkKey: ['POST', '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}/rotate'],
  revokeSdkKey: ['DELETE', '/api/v1/projects/{projectId}/sdk-keys/{sdkKeyId}'],
  rotateProjectKey: ['POST', '/api/v1/projects/{projectId}/rotate-key'],
  revokePreviousProjectKey: ['DELETE', '/api/v1/projects/{projectId}/previous-key'],
  getOrigins: ['GET', '/api/v1/projects/{projectId}/origins'],
  setOrigins: ['PUT', '/api/v1/projects/{projectId}/origins'],
  getProjectSettings: ['GET', '/api/v1/projects/{projectId}/settings'],
  setProjectSettings: ['PUT', '/api/v1/projects/{projectId}/settings'],
  listMembers: ['GET', '/api/v1/members'],
  createMember: ['POST', '/api/v1/members'],
  updateMember: ['PATCH', '/api/v1/members/{memberId}'],
  listAuditLog: ['GET', '/api/v1/audit-log'],
  verifyAuditLog: ['GET', '/api/v1/audit-log/chain'],
  listWebhooks: ['GET', '/api/v1/webhooks'],
  createWebhook: ['POST', '/api/v1/webhooks'],
  deleteWebhook: ['DELETE', '/api/v1/webhooks/{webhookId}'],
  testWebhook: ['POST', '/api/v1/webhooks/{webhookId}/test'],
  rotateWebhookSecret: ['POST', '/api/v1/webhooks/{webhookId}/rotate-secret'],
  resumeWebhook: ['POST', '/api/v1/webhooks/{webhookId}/resume'],
  listDeliveries: ['GET', '/api/v1/webhooks/{webhookId}/deliveries'],
  replayDelivery: ['POST', '/api/v1/webhooks/{webhookId}/deliveries/{deliveryId}/replay'],
  listBiosignals: ['GET', '/api/v1/projects/{projectId}/biosignals'],
  createBiosignal: ['POST', '/api/v1/projects/{projectId}/biosignals'],
  listMethods: ['GET', '/api/v1/methods'],
  listStreams: ['GET', '/api/v1/streams'],
  getStream: ['GET', '/api/v1/streams/{streamId}'],
  getFeatures: ['GET', '/api/v1/streams/{streamId}/features'],
  getBeats: ['GET', '/api/v1/streams/{streamId}/beats'],
  getSamples: ['GET', '/api/v1/streams/{streamId}/samples'],
  getOverview: ['GET', '/api/v1/streams/{streamId}/overview'],
  getStrip: ['GET', '/api/v1/streams/{streamId}/strip'],
  getBootstrap: ['GET', '/api/v1/bootstrap'],
  listDeviceProfiles: ['GET', '/api/v1/device-profiles'],
  createDeviceProfile: ['POST', '/api/v1/device-profiles'],
  setDeviceProfile: ['PUT', '/api/v1/devices/{deviceId}/profile'],
  getDayVariability: ['GET', '/api/v1/day-variability'],
  listObservations: ['GET', '/api/v1/observations'],
  createMeasurements: ['POST', '/api/v1/measurements'],
  queryChart: ['POST', '/api/v1/charts/query'],
  listEpisodes: ['GET', '/api/v1/episodes'],
  createEpisode: ['POST', '/api/v1/episodes'],
  getEpisode: ['GET', '/api/v1/episodes/{id}'],
  updateEpisode: ['PATCH', '/api/v1/episodes/{id}'],
  acknowledgeEpisode: ['POST', '/api/v1/episodes/{id}/acknowledgement'],
  addArtifact: ['POST', '/api/v1/episodes/{id}/artifacts'],
  listMoods: ['GET', '/api/v1/moods'],
  createMood: ['POST', '/api/v1/moods'],
  listJournal: ['GET', '/api/v1/journal'],
  createJournalEntry: ['POST', '/api/v1/journal'],
  listQuestionnaires: ['GET', '/api/v1/questionnaires'],
  getQuestionnaire: ['GET', '/api/v1/questionnaires/{questionnaireId}'],
  createQuestionnaireResponse: ['POST', '/api/v1/questionnaire-responses'],
  listQuestionnaireResponses: ['GET', '/api/v1/questionnaire-responses'],
  listTasks: ['GET', '/api/v1/tasks'],
  createTask: ['POST', '/api/v1/tasks'],
  setTaskStatus: ['POST', '/api/v1/tasks/{taskId}/status'],
  getArtifact: ['GET', '/api/v1/episodes/{id}/artifacts/{artifactId}'],
  listQuestionnaireVersions: ['GET', '/api/v1/projects/{projectId}/questionnaires'],
  publishQuestionnaire: ['PUT', '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}'],
  retireQuestionnaire: ['DELETE', '/api/v1/projects/{projectId}/questionnaires/{questionnaireId}'],
  tryQuestionnaire: ['POST', '/api/v1/projects/{projectId}/questionnaire-trials'],
  amendQuestionnaireResponse: ['POST', '/api/v1/questionnaire-responses/{responseId}/amendments'],
  getQuestionnaireDraft: ['GET', '/api/v1/questionnaires/{questionnaireId}/draft'],
  saveQuestionnaireDraft: ['PUT', '/api/v1/questionnaires/{questionnaireId}/draft'],
  deleteQuestionnaireDraft: ['DELETE', '/api/v1/questionnaires/{questionnaireId}/draft'],
  listTaskSchedules: ['GET', '/api/v1/task-schedules'],
  createTaskSchedule: ['POST', '/api/v1/task-schedules'],
  endTaskSchedule: ['DELETE', '/api/v1/task-schedules/{scheduleId}'],
  getAdherence: ['GET', '/api/v1/adherence'],
  listAnnotations: ['GET', '/api/v1/annotations'],
  createAnnotation: ['POST', '/api/v1/annotations'],
  getAnnotation: ['GET', '/api/v1/annotations/{annotationId}'],
  updateAnnotation: ['PATCH', '/api/v1/annotations/{annotationId}'],
  deleteAnnotation: ['DELETE', '/api/v1/annotations/{annotationId}'],
  getCorrections: ['GET', '/api/v1/streams/{streamId}/corrections'],
  listEvents: ['GET', '/api/v1/streams/{streamId}/events'],
  getVariability: ['GET', '/api/v1/streams/{streamId}/variability'],
  getWaves: ['GET', '/api/v1/streams/{streamId}/waves'],
  search: ['GET', '/api/v1/search'],
  listGroups: ['GET', '/api/v1/projects/{projectId}/groups'],
  createGroup: ['POST', '/api/v1/projects/{projectId}/groups'],
  updateGroup: ['PATCH', '/api/v1/projects/{projectId}/groups/{groupId}'],
  deleteGroup: ['DELETE', '/api/v1/projects/{projectId}/groups/{groupId}'],
  addGroupMember: ['PUT', '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}'],
  removeGroupMember: ['DELETE', '/api/v1/projects/{projectId}/groups/{groupId}/members/{xuserId}'],
  listRules: ['GET', '/api/v1/projects/{projectId}/rules'],
  createRule: ['POST', '/api/v1/projects/{projectId}/rules'],
  tryRule: ['POST', '/api/v1/projects/{projectId}/rules/try'],
  getRule: ['GET', '/api/v1/projects/{projectId}/rules/{ruleId}'],
  updateRule: ['PATCH', '/api/v1/projects/{projectId}/rules/{ruleId}'],
  deleteRule: ['DELETE', '/api/v1/projects/{projectId}/rules/{ruleId}'],
  listGoals: ['GET', '/api/v1/goals'],
  createGoal: ['POST', '/api/v1/goals'],
  endGoal: ['DELETE', '/api/v1/goals/{goalId}'],
  listDevices: ['GET', '/api/v1/devices'],
  getSignalQuality: ['GET', '/api/v1/signal-quality'],
  listRecentEpisodes: ['GET', '/api/v1/fleet/episodes'],
  getFleetCounts: ['GET', '/api/v1/fleet/counts'],
} as const satisfies { readonly [O in Operation]: readonly [method: Operations[O]['method'], path: Operations[O]['path']] };

/** What an integrator may call; signing in is for the dashboard. */
export type Operation = { [O in AnyOperation]: Operations[O]['path'] extends `/api/v1/${string}` ? O : never }[AnyOperation];
type Listing = { [O in Operation]: Answer<O> extends readonly unknown[] ? O : never }[Operation];
type ItemOf<O extends Listing> = Answer<O> extends readonly (infer Item)[] ? Item : never;

export type UserToken = Answer<'createUserToken'>;
export type User = Answer<'getUser'>;
export type Biosignal = ItemOf<'listBiosignals'>;
export type Observation = ItemOf<'listObservations'>;
/** ts_ns as bigint: a number would lose its last digits. */
export type FeatureSeries = Omit<ItemOf<'getFeatures'>, 'ts_ns' | 'ts_ms'> & Readonly<{ ts_ns: readonly bigint[] }>;
export type Stream = ItemOf<'listStreams'>;
export type Episode = ItemOf<'listEpisodes'>;
export type ChartRequest = BodyOf<'queryChart'>;
export type Chart = Answer<'queryChart'>;

export type ClientOptions = Readonly<{
  /** e.g. https://bio.example */
  baseUrl: string;
  /** An organization key or a user token; a function is asked before every request, so that a token can be renewed. */
  credential: string | (() => string | Promise<string>);
  /** How often a call is repeated after a 429, a 502, 503 or 504, or a lost connection, where that is safe. Default 3. */
  retries?: number;
  /** A request without an answer is given up after this, ms; for `response`, when it has not begun. Default 120,000. */
  timeoutMs?: number;
  fetch?: typeof globalThis.fetch;
}>;

export type CallOptions = Readonly<{
  headers?: Readonly<Record<string, string>>;
  /** Makes a POST safe to repeat. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}>;
type Arguments<O extends Operation> = RequestArguments<O, CallOptions>;
type AnyCall = AnyRequest & CallOptions;

type Read<T> = (response: Response) => T | Promise<T>;

const RETRY_MS_MAX = 30_000;
/** More than any read waits and takes. */
const TIMEOUT_MS = 120_000;

export class BiosignalClient {
  readonly #options: ClientOptions;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /** Calls an operation. @returns its JSON; null when the answer has no body  @throws ApiError for any problem */
  async call<O extends Operation>(operation: O, ...args: Arguments<O>): Promise<Answer<O>> {
    const json = async (response: Response): Promise<unknown> => (response.status === 204 ? null : await response.json());
    return (await this.#open(operation, args[0] as AnyCall | undefined, json)) as Answer<O>;
  }

  /** The same, the response as it is: for other media types, headers, streams. @throws ApiError for any problem */
  response<O extends Operation>(operation: O, ...args: Arguments<O>): Promise<Response> {
    return this.#open(operation, args[0] as AnyCall | undefined, (response) => response);
  }

  /** Pages of a list, following rel="next". */
  async *pages<O extends Listing>(operation: O, ...args: Arguments<O>): AsyncGenerator<readonly ItemOf<O>[]> {
    const page = async (response: Response) => ({ items: (await response.json()) as readonly ItemOf<O>[], next: nextOf(response) });
    let read = await this.#open(operation, args[0] as AnyCall | undefined, page);
    for (;;) {
      yield read.items;
      if (read.next === undefined) return;
      read = await this.#send('GET', read.next, (args[0] ?? {}) as AnyCall, page);
    }
  }

  createUserToken(externalId: string, projectKey: string): Promise<UserToken> {
    return this.call('createUserToken', { body: { external_id: externalId, project_key: projectKey } });
  }

  resolveUser(externalId: string, projectKey?: string): Promise<User> {
    return this.call('resolveUser', {
      body: { external_id: externalId, ...(projectKey === undefined ? {} : { project_key: projectKey }) },
    });
  }

  /** The features of a stream, times to the digit. */
  async getFeatures(streamId: string, query: Omit<QueryOf<'getFeatures'>, 'ts_unit'> = {}): Promise<readonly FeatureSeries[]> {
    const text = await this.#open('getFeatures', { params: { streamId }, query }, (response) => response.text());
    return parseNanos(text) as FeatureSeries[];
  }

  async #open<T>(operation: Operation, request: AnyCall = {}, read: Read<T>): Promise<T> {
    const [method, path] = operations[operation];
    return await this.#send(method, addressOf(path, request), request, read);
  }

  async #send<T>(method: string, path: string, options: AnyCall, read: Read<T>): Promise<T> {
    const repeatable = method !== 'POST' || options.idempotencyKey !== undefined;
    const retries = this.#options.retries ?? 3;
    for (let attempt = 0; ; attempt++) {
      try {
        const headers = await this.#headers(options);
        const url = new URL(path, this.#options.baseUrl);
        return await this.#inTime(options.signal, (signal) => {
          return fetchJson(url, { method, headers, body: options.body, signal }, this.#fetch).then(read);
        });
      } catch (error) {
        const problem = error instanceof ApiError ? error : null;
        // 429 and 503 say that nothing was done. No answer, or a proxy's 502 or 504, does not: a POST without a key is not sent twice.
        const nothingDone = problem?.status === 429 || problem?.status === 503;
        const unknown =
          problem === null ? !(options.signal?.aborted || error instanceof SyntaxError) : problem.status === 502 || problem.status === 504;
        if (!(nothingDone || (unknown && repeatable)) || attempt >= retries) throw error;
        await pause(attempt, problem?.retryAfterSec ?? null);
      }
    }
  }

  /** Ends the work with `ends`, or when it takes too long. The body of a `response` goes on to end with `ends`. */
  async #inTime<T>(ends: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const one = new AbortController();
    const timer = setTimeout(
      () => one.abort(new DOMException('The service has not answered in time.', 'TimeoutError')),
      this.#options.timeoutMs ?? TIMEOUT_MS,
    );
    const end = (): void => one.abort(ends?.reason);
    if (ends?.aborted) end();
    ends?.addEventListener('abort', end, { once: true });
    let result: T | null = null;
    try {
      return (result = await work(one.signal));
    } finally {
      clearTimeout(timer);
      if (!(result instanceof Response)) ends?.removeEventListener('abort', end);
    }
  }

  async #headers(options: AnyCall): Promise<Record<string, string>> {
    const { credential } = this.#options;
    return {
      authorization: `Bearer ${typeof credential === 'string' ? credential : await credential()}`,
      ...(options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey }),
      ...options.headers,
    };
  }
}

/** Parses JSON whose `ts_ns` and other integers beyond 2^53 become bigint (all of `ts_ns` do). */
export function parseNanos(text: string): unknown {
  const quoted = text.replaceAll(
    /"(ts_ns)":\[([\d,-]*)\]/g,
    (_, name: string, list: string) => `"${name}":[${list === '' ? '' : `"${list.replaceAll(',', '","')}"`}]`,
  );
  return JSON.parse(quoted, (key, value: unknown) =>
    key === 'ts_ns' && Array.isArray(value) ? value.map((item) => BigInt(item as string)) : value,
  );
}

function nextOf(response: Response): string | undefined {
  return /<([^>]+)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
}

function pause(attempt: number, retryAfterSec: number | null): Promise<void> {
  const wantedMs = retryAfterSec === null ? 250 * 2 ** attempt * (0.5 + Math.random()) : retryAfterSec * 1000;
  return new Promise((resolve) => setTimeout(resolve, Math.min(RETRY_MS_MAX, wantedMs)));
}
