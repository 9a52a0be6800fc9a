/** Requests as a patient client makes them: again until there is an answer that is one. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './stage.ts';

export type Answer = Readonly<{
  status: number;
  /** Integers beyond 2^53 of `t0_ns` and the like are text. */
  json: unknown;
  text: string;
  headers: Headers;
  /** Tries that got no answer: one of them may have done what was asked. */
  lostCount: number;
}>;
export type AskOptions = Readonly<{
  /** A credential; empty: none. */
  as: string;
  body?: unknown;
  /** Of packets: what they are, in place of JSON. */
  packets?: Uint8Array<ArrayBuffer>;
  delimited?: boolean;
  headers?: Readonly<Record<string, string>>;
}>;

const GIVE_UP_MS = 120_000;

/** Asks until it is answered; busy and away (429, 503) is no answer. A POST says by a key that it is the same one. @throws Error after two
 *  minutes */
export async function ask(stage: Stage, method: string, path: string, options: AskOptions): Promise<Answer> {
  const { as, body, packets, delimited = false, headers = {} } = options;
  const type = packets === undefined ? 'application/json' : `application/x-protobuf${delimited ? '; encoding=delimited' : ''}`;
  const request: RequestInit = {
    method,
    headers: {
      ...(as === '' ? {} : { authorization: `Bearer ${as}` }),
      ...(body === undefined && packets === undefined ? {} : { 'content-type': type }),
      ...(method === 'POST' && packets === undefined ? { 'idempotency-key': randomUUID() } : {}),
      ...headers,
    },
    ...(packets === undefined ? (body === undefined ? {} : { body: JSON.stringify(body) }) : { body: packets }),
  };
  let last = 'nothing';
  let lostCount = 0;
  for (const deadline = performance.now() + GIVE_UP_MS; performance.now() < deadline; await sleep(100)) {
    try {
      const response = await fetch(stage.url + path, { ...request, signal: AbortSignal.timeout(30_000) });
      const text = await response.text();
      last = `${response.status} ${text.slice(0, 300)}`;
      if (response.status === 503 || response.status === 429) continue;
      const isJson = /json/.test(response.headers.get('content-type') ?? '') && text !== '';
      const json = isJson ? JSON.parse(text.replaceAll(/"(\w+_ns)":(-?\d+)/g, '"$1":"$2"')) : null;
      return { status: response.status, json, text, headers: response.headers, lostCount };
    } catch (error) {
      last = String(error);
      lostCount++;
      // An instance ends itself when another one has its log; a supervisor would restart it.
      if (!stage.isUp && !stage.isDisturbed) await stage.disturb(async () => undefined);
    }
  }
  throw new Error(`${method} ${path} was not answered within ${GIVE_UP_MS / 1000} s: ${last}`);
}
