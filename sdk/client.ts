/** The REST API as a typed client: for integrators, scripts and tests. Runs in Node and in browsers, needs only `fetch`.
 *  test/sdk-client.int.test.ts holds `operations` and the types against the service's route table, so neither can drift. */

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
  getStrip: ['GET', '/api/v1/streams/{streamId}/strip'],
  getBootstrap: ['GET', '/api/v1/bootstrap'],
  listDeviceProfiles: ['GET', '/api/v1/device-profiles'],
  createDeviceProfile: ['POST', '/api/v1/device-profiles'],
  listObservations: ['GET', '/api/v1/observations'],
  createMeasurements: ['POST', '/api/v1/measurements'],
  queryChart: ['POST', '/api/v1/charts/query'],
  listEpisodes: ['GET', '/api/v1/episodes'],
  createEpisode: ['POST', '/api/v1/episodes'],
  getEpisode: ['GET', '/api/v1/episodes/{id}'],
  updateEpisode: ['PATCH', '/api/v1/episodes/{id}'],
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
  listGoals: ['GET', '/api/v1/goals'],
  createGoal: ['POST', '/api/v1/goals'],
  endGoal: ['DELETE', '/api/v1/goals/{goalId}'],
  listDevices: ['GET', '/api/v1/devices'],
  getSignalQuality: ['GET', '/api/v1/signal-quality'],
  listRecentEpisodes: ['GET', '/api/v1/fleet/episodes'],
} as const satisfies Readonly<Record<string, readonly [method: string, path: string]>>;

export type Operation = keyof typeof operations;

export type UserToken = { xuser_token: string; xuser_id: string; expires_in: number };
export type User = {
  xuser_id: string;
  external_id: string;
  project_id: string;
  display_name: string;
  time_zone: string | null;
  created_at: string;
  updated_at: string;
  disabled: boolean;
};
export type Biosignal = {
  id: number;
  name: string;
  abbreviation: string;
  unit: string;
  loinc_code: string;
  signal_type: 'waveform' | 'interval' | 'scalar' | 'event' | 'category' | 'score';
  role: 'measurement' | 'calculation' | 'setting' | 'unspecified';
  source_type: 'device' | 'derived' | 'self_report' | 'clinician' | 'import';
  is_flowing: boolean;
};
export type Observation = {
  id: string;
  biosignal_id: number;
  loinc_code: string;
  value: number;
  unit: string;
  effective_time: string;
  device_id: string;
  method_code: string;
};
/** ts_ns as bigint: a number would lose its last digits. */
export type FeatureSeries = { name: string; ts_ns: bigint[]; values: number[]; cadence_hz: number; qmask: number[] };
export type Stream = {
  id: string;
  subject_id: string;
  device_id: string;
  started_at: string;
  last_sample_at: string | null;
  ended_at: string | null;
  is_flowing: boolean;
};
export type Episode = {
  id: string;
  subject_id: string;
  stream_id: string | null;
  kind: string;
  title: string;
  status: 'open' | 'closed' | 'cancelled';
  severity: 'none' | 'low' | 'medium' | 'high';
  started_at: string;
  ended_at: string | null;
};
export type ChartRequest = {
  subject_id?: string;
  series: readonly { biosignal_id?: number; feature?: string; agg?: string }[];
  range: { from: string; to: string } | { duration: string };
  resolution?: string;
  max_points?: number;
  tz?: string;
  quality_max?: 0 | 1 | 2;
  fill?: 'none' | 'null' | 'previous';
};
export type Chart = {
  resolution: string;
  values: { name: string; unit: string }[];
  data: (number | null)[][];
  qmask: (number | null)[][];
};

export type ClientOptions = Readonly<{
  /** e.g. https://bio.example */
  baseUrl: string;
  /** An organization key or a user token; a function is asked before every request, so that a token can be renewed. */
  credential: string | (() => string | Promise<string>);
  /** Times that a 429, a 503 or a lost connection is tried again, where that is safe. Default 3. */
  retries?: number;
  fetch?: typeof globalThis.fetch;
}>;

export type CallOptions = Readonly<{
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Makes a POST safe to repeat. */
  idempotencyKey?: string;
  signal?: AbortSignal;
}>;

/** A problem that the service answered (RFC 9457). `code` is from its closed list. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly errors: readonly { pointer: string; code: string; detail: string }[];

  constructor(status: number, problem: Readonly<{ code?: string; detail?: string; request_id?: string; errors?: ApiError['errors'] }>) {
    super(problem.detail ?? `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? 'unknown';
    this.requestId = problem.request_id ?? '';
    this.errors = problem.errors ?? [];
  }
}

const RETRY_MS_MAX = 30_000;

export class BiosignalClient {
  readonly #options: ClientOptions;
  readonly #fetch: typeof globalThis.fetch;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  /** Calls an operation and gives the response as it is. @throws ApiError for any problem */
  async call(operation: Operation, options: CallOptions = {}): Promise<Response> {
    const [method, template] = operations[operation];
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(options.params?.[name] ?? ''));
    return await this.#send(method, path + queryOf(options.query), options);
  }

  /** Pages of a list, following rel="next". */
  async *pages<Item>(operation: Operation, options: CallOptions = {}): AsyncGenerator<readonly Item[]> {
    let response = await this.call(operation, options);
    for (;;) {
      yield (await response.json()) as Item[];
      const next = /<([^>]+)>; *rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      if (next === undefined) return;
      response = await this.#send('GET', next, options);
    }
  }

  createUserToken(externalId: string, projectKey: string): Promise<UserToken> {
    return this.#json('createUserToken', { body: { external_id: externalId, project_key: projectKey } });
  }

  resolveUser(externalId: string, projectKey?: string): Promise<User> {
    return this.#json('resolveUser', {
      body: { external_id: externalId, ...(projectKey === undefined ? {} : { project_key: projectKey }) },
    });
  }

  listBiosignals(projectId: string): Promise<Biosignal[]> {
    return this.#json('listBiosignals', { params: { projectId } });
  }

  listStreams(query: Readonly<{ subject_id?: string; since?: string; until?: string; limit?: number }>): Promise<Stream[]> {
    return this.#json('listStreams', { query });
  }

  listEpisodes(
    query: Readonly<{ subject_id?: string; since?: string; until?: string; kind?: string; limit?: number }>,
  ): Promise<Episode[]> {
    return this.#json('listEpisodes', { query });
  }

  listObservations(
    query: Readonly<{ biosignal_id: number; subject_id?: string; since?: string; until?: string; order?: 'asc' | 'desc'; limit?: number }>,
  ): Promise<Observation[]> {
    return this.#json('listObservations', { query });
  }

  /** The features of a stream, times to the digit. */
  async getFeatures(
    streamId: string,
    query: Readonly<{
      names?: readonly string[];
      since?: string;
      until?: string;
      cadence?: number;
      quality_max?: number;
      limit?: number;
    }> = {},
  ): Promise<FeatureSeries[]> {
    const response = await this.call('getFeatures', { params: { streamId }, query });
    return parseNanos(await response.text()) as FeatureSeries[];
  }

  queryChart(body: ChartRequest): Promise<Chart> {
    return this.#json('queryChart', { body });
  }

  async #json<T>(operation: Operation, options: CallOptions): Promise<T> {
    const response = await this.call(operation, options);
    return (await response.json()) as T;
  }

  async #send(method: string, path: string, options: CallOptions): Promise<Response> {
    const repeatable = method !== 'POST' || options.idempotencyKey !== undefined;
    const retries = this.#options.retries ?? 3;
    for (let attempt = 0; ; attempt++) {
      let response: Response;
      try {
        response = await this.#fetch(new URL(path, this.#options.baseUrl), {
          method,
          headers: await this.#headers(options),
          ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
          ...(options.signal === undefined ? {} : { signal: options.signal }),
        });
      } catch (error) {
        // No answer: what a POST without a key did is unknown, so it is not sent twice.
        if (!repeatable || attempt >= retries || options.signal?.aborted === true) throw error;
        await pause(attempt, null);
        continue;
      }
      if (response.ok) return response;
      const text = await response.text();
      // 429 and 503 say that nothing was done.
      if ((response.status === 429 || response.status === 503) && attempt < retries)
        await pause(attempt, response.headers.get('retry-after'));
      else throw new ApiError(response.status, problemOf(text));
    }
  }

  async #headers(options: CallOptions): Promise<Record<string, string>> {
    const { credential } = this.#options;
    return {
      accept: 'application/json',
      authorization: `Bearer ${typeof credential === 'string' ? credential : await credential()}`,
      ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
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

function queryOf(query: CallOptions['query']): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) search.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}

function problemOf(text: string): ConstructorParameters<typeof ApiError>[1] {
  try {
    return JSON.parse(text) as ConstructorParameters<typeof ApiError>[1];
  } catch {
    return {};
  }
}

function pause(attempt: number, retryAfter: string | null): Promise<void> {
  const wanted = retryAfter === null ? 250 * 2 ** attempt * (0.5 + Math.random()) : Number(retryAfter) * 1000;
  return new Promise((resolve) => setTimeout(resolve, Math.min(RETRY_MS_MAX, Number.isFinite(wanted) ? wanted : 1000)));
}
