/** One JSON request to the service, and its failure as an error: for the client, the widgets and the dashboard alike. What they add is
 *  their own: credentials, retries, and the words of the page. */

type Problem = Readonly<{ code?: string; title?: string; detail?: string; request_id?: string; errors?: ApiError['errors'] }>;

/** A problem document of the service (RFC 9457); `code` is from its closed list. Pages also use it for failures of their own. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status. 0: no answer. -1: a fault of the page itself. */
  declare readonly status: number;
  declare readonly code: string;
  declare readonly requestId: string;
  declare readonly errors: readonly { pointer: string; code: string; detail: string }[];
  /** Seconds after which the service takes the request again; null if it names none. */
  declare readonly retryAfterSec: number | null;

  constructor(status: number, problem: Problem, retryAfterSec: number | null = null) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`);
    this.status = status;
    this.code = problem.code ?? 'unknown';
    this.requestId = problem.request_id ?? '';
    this.errors = problem.errors ?? [];
    this.retryAfterSec = retryAfterSec;
  }
}

export type JsonRequest = Omit<RequestInit, 'body' | 'headers' | 'signal'> &
  Readonly<{ headers?: Readonly<Record<string, string>>; body?: unknown; signal?: AbortSignal | null | undefined }>;

/** Sends a body as JSON and asks for JSON.
 *  @throws ApiError for every answer that is not a success; what `fetch` throws if there is no answer */
export async function fetchJson(
  address: string | URL,
  { headers, body, signal = null, ...init }: JsonRequest,
  fetch = globalThis.fetch,
): Promise<Response> {
  const sent = body === undefined ? null : JSON.stringify(body);
  const response = await fetch(address, {
    ...init,
    signal,
    body: sent,
    headers: { accept: 'application/json', ...(sent && { 'content-type': 'application/json' }), ...headers },
  });
  if (response.ok) return response;
  const problem = (await response.json().catch(() => null)) as Problem | null;
  const retryAfterSec = Number(response.headers.get('retry-after'));
  throw new ApiError(response.status, problem ?? {}, retryAfterSec || null);
}
