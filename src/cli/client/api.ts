/** A small client of the REST API for the commands: pages, retries, and nanoseconds that stay exact. */
import { setTimeout as sleep } from 'node:timers/promises';
import { problemOf } from './http-sender.ts';

export type Api = Readonly<{
  /** One JSON answer. Integers beyond 2^53 come as bigint. */
  get: <T>(path: string, query?: Readonly<Record<string, string | number | undefined>>) => Promise<T>;
  /** All pages of a list, by their Link headers. */
  list: <T>(path: string, query?: Readonly<Record<string, string | number | undefined>>) => Promise<T[]>;
  post: <T>(path: string, body: unknown) => Promise<T>;
}>;

const ATTEMPTS = 8;
const PAGES_MAX = 100_000;

export function openApi(baseUrl: string, credential: string, signal: AbortSignal): Api {
  const request = async (url: URL, init: RequestInit = {}): Promise<Response> => {
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(url, {
        ...init,
        headers: { authorization: `Bearer ${credential}`, accept: 'application/json', ...init.headers },
        signal: AbortSignal.any([signal, AbortSignal.timeout(120_000)]),
      });
      if (response.ok) return response;
      const text = await response.text();
      if (attempt >= ATTEMPTS || !mayAskAgain(response.status, init.method ?? 'GET')) throw problemOf(response.status, text);
      await sleep(1000 * Math.max(0.2, Number(response.headers.get('retry-after') ?? 1)), undefined, { signal });
    }
  };
  const urlOf = (path: string, query: Readonly<Record<string, string | number | undefined>> = {}): URL => {
    const url = new URL(path, baseUrl);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
    return url;
  };
  return {
    get: async <T>(path: string, query?: Readonly<Record<string, string | number | undefined>>) =>
      parseExact((await (await request(urlOf(path, query))).text())) as T, // prettier-ignore
    list: async <T>(path: string, query?: Readonly<Record<string, string | number | undefined>>) => {
      const items: T[] = [];
      let url: URL | null = urlOf(path, query);
      for (let page = 0; url !== null && page < PAGES_MAX; page++) {
        const response: Response = await request(url);
        items.push(...(parseExact(await response.text()) as T[]));
        const next: string | undefined = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
        url = next === undefined ? null : new URL(next, baseUrl);
      }
      return items;
    },
    post: async <T>(path: string, body: unknown) => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
      return parseExact(await (await request(urlOf(path), init)).text()) as T;
    },
  };
}

/** 429 and 503 mean that nothing was done. After a proxy's 502 or 504 that is unknown, so only reads are retried. */
function mayAskAgain(status: number, method: string): boolean {
  return status === 429 || status === 503 || (method === 'GET' && (status === 502 || status === 504));
}

/** JSON whose integers beyond 2^53 become bigint: ts_ns to the digit. */
export function parseExact(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '') ? BigInt(context!.source!) : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

export type StreamInfo = Readonly<{
  id: string;
  subject_id: string;
  device_id: string;
  boot_id: string;
  /** Unix ns of device time 0. */
  epoch_ns: bigint | number;
  started_at: string;
  channels: readonly Readonly<{
    code: string;
    kind: string;
    rate_hz: number;
    gain: number;
    baseline: number;
    unit: string;
    lead: string;
  }>[];
}>;

export type FeatureSeries = Readonly<{
  name: string;
  ts_ns: readonly (bigint | number)[];
  values: readonly (number | null)[];
  cadence_hz: number;
  qmask: readonly number[];
}>;

/** The recordings of a user given by uuid or external id; with an organization's key, a user of any of its projects. */
export async function streamsOf(api: Api, subject: string): Promise<StreamInfo[]> {
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
  const users = uuid.test(subject)
    ? [{ xuser_id: subject }]
    : await api.list<{ xuser_id: string }>('/api/v1/xusers', { external_id: subject });
  const streams: StreamInfo[] = [];
  for (const user of users) streams.push(...(await api.list<StreamInfo>('/api/v1/streams', { subject_id: user.xuser_id })));
  return streams;
}
