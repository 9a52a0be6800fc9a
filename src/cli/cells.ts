/** `biosignal cells`: answers a proxy in front of several services, each with a database of its own, which one has the organization of a
 *  request's credential. It passes no request on and verifies no credential: the service does.
 *
 *      GET /cell, with the headers of the request ▸ 200 Bio-Cell: NAME, Bio-Cell-Upstream: HOST:PORT
 *                                                   401 no cell has it · 429 so did many others of its address
 *                                                   503 it is being moved, or a cell cannot be asked
 *
 *  Guesses keep no one waiting: what was found before is asked for at once; of the rest, an address has ADDRESS_TURNS questions at a time
 *  (X-Forwarded-For, as the proxy adds it), all addresses together fewer than a cell has connections.
 *
 *  A request without a credential goes to the first cell: /healthz, pages, the API description. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import pg from 'pg';
import { errorTable, PipelineError } from '../errors.ts';
import { RateLimit } from '../http/rate-limit.ts';
import { Turns } from '../ingest/turns.ts';
import { hashKey, parseKey } from '../key-format.ts';
import { sessionOf } from '../storage/database/session.ts';
import type { Command } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';

/** How long an answer is remembered, ms: after a move, requests go to the former cell so long, which answers 503. */
export const KNOWN_MS = 2000;
const KNOWN_MAX = 50_000;
const ASK_MS = 2000;
/** Credentials that no cell has, which are remembered as long. */
const UNKNOWN_MAX = 10_000;
const CONNECTIONS = 4;
/** Questions for credentials that were not found before, at a time: of one address, and of all. */
const ADDRESS_TURNS = 2;
const STRANGER_TURNS = CONNECTIONS - 1;
/** And of one address that wait for those. */
const WAITING_MAX = 1024;
/** Credentials that no cell has, of one address: as the service does (src/http/credential-gate.ts). */
const GUESSES_PER_SEC = 5;
const GUESSES_BURST_SEC = 20;

type Cell = Readonly<{ name: string; upstream: string; pool: pg.Pool }>;
type Found = Readonly<{ cell: Cell; moving: boolean }>;
type Answer = Readonly<{ status: number; headers: Readonly<Record<string, string>>; problem?: PipelineError }>;

/** Says whose a credential is, in one database. */
type Question = Readonly<{ text: string; value: unknown }>;

export const cells: Command = {
  name: 'cells',
  summary: 'Tell a proxy which of several services has the organization of a credential.',
  positionals: 'FILE',
  description: `FILE is JSON: {"cells": [{"name": "a", "upstream": "10.0.0.1:8080", "database": "postgres://…"}, …]}; keep it readable by this account
alone. It answers GET /cell for Caddy's forward_auth or NGINX's auth_request: docs/operator.md has the settings of the proxy.`,
  options: {
    listen: {
      type: 'string',
      value: 'ADDRESS',
      fallback: '127.0.0.1:8090',
      doc: 'HOST:PORT where it listens. Only the proxy needs to reach it.',
    },
  },
  examples: ['biosignal cells /etc/biosignal/cells.json --listen 127.0.0.1:8090'],
  run: async ({ console, options, positionals }) => {
    const [file] = positionals;
    if (file === undefined || positionals.length > 1) throw new UsageError('name one file');
    const listen = /^(.+):(\d{1,5})$/.exec(options.text('listen'));
    if (listen === null) throw new UsageError('--listen: HOST:PORT');
    const directory = new CellDirectory(cellsOf(await readFile(file, 'utf8')), (line) => console.err(`biosignal cells: ${line}`));
    const server = createServer((request, response) => void answer(directory, request, response, console.err));
    await new Promise<void>((done, fail) => {
      server.once('error', fail);
      server.listen(Number(listen[2]), listen[1], done);
    });
    const { port } = server.address() as { port: number };
    console.out(`biosignal cells: answers at http://${listen[1]}:${port}/cell`);
    await new Promise<void>((done) => {
      if (console.signal.aborted) done();
      else console.signal.addEventListener('abort', () => done(), { once: true });
    });
    server.closeAllConnections();
    server.close();
    await directory.close();
    return EXIT_OK;
  },
};

/** @throws UsageError that says what is wrong with the file */
function cellsOf(text: string): Cell[] {
  let list: unknown;
  try {
    list = (JSON.parse(text) as { cells?: unknown }).cells;
  } catch {
    throw new UsageError('the file of cells is not JSON');
  }
  if (!Array.isArray(list) || list.length === 0) throw new UsageError('the file of cells needs "cells", a list');
  const found = list.map((entry: unknown, i) => {
    const { name, upstream, database } = (entry ?? {}) as Readonly<Record<string, unknown>>;
    for (const [member, value] of Object.entries({ name, upstream, database }))
      if (typeof value !== 'string' || value === '') throw new UsageError(`cell ${i + 1} needs "${member}"`);
    // A login that may not see every row gets an error instead of none: a device that is answered 401 for it would send no more.
    const session = sessionOf(String(database), 'biosignal cells', ['row_security=off']);
    const pool = new pg.Pool({ ...session, max: CONNECTIONS, connectionTimeoutMillis: ASK_MS, query_timeout: ASK_MS });
    pool.on('error', () => undefined); // an idle connection was lost: the next question opens another
    return { name: String(name), upstream: String(upstream), pool };
  });
  if (new Set(found.map(({ name }) => name)).size < found.length) throw new UsageError('two cells have one name');
  return found;
}

export class CellDirectory {
  readonly #cells: readonly Cell[];
  readonly #tell: (line: string) => void;
  /** Cells that could not be asked, and why. */
  readonly #away = new Map<Cell, string>();
  /** What was found; asked again when its time is over. */
  readonly #known = new Map<string, Readonly<{ found: Found; untilMs: number }>>();
  /** Credentials that no cell has: until when that is believed. */
  readonly #unknown = new Map<string, number>();
  readonly #guesses = new RateLimit('cells', GUESSES_PER_SEC, GUESSES_BURST_SEC);
  readonly #strangers = new Turns(STRANGER_TURNS);
  /** By address. */
  readonly #turns = new Map<string, Turns>();

  /** @param tell called once when a cell cannot be asked any more, or for another reason, and when it answers again */
  constructor(list: readonly Cell[], tell: (line: string) => void) {
    this.#cells = list;
    this.#tell = tell;
  }

  /** @param from the proxy's address */
  async answer(headers: Readonly<Record<string, string | string[] | undefined>>, from: string): Promise<Answer> {
    const question = questionOf(headers);
    if (question === 'none') return placed(this.#cells[0]!);
    if (question === 'unknown') return refused;
    const address = addressOf(headers);
    const found = await this.#find(question, address ?? from);
    if (found === 'away') return later;
    if (found !== null) return found.moving ? later : placed(found.cell);
    // Without an address, all that come through the proxy are one: none of them is told to slow down.
    if (address === null || this.#guesses.take(address, performance.now()).allowed) return refused;
    return slower;
  }

  async #find(question: Question, address: string): Promise<Found | 'away' | null> {
    const id = idOf(question);
    const known = this.#known.get(id);
    if (known !== undefined) return known.untilMs > performance.now() ? known.found : await this.#look(question, id);
    let turns = this.#turns.get(address);
    if (turns === undefined) this.#turns.set(address, (turns = new Turns(ADDRESS_TURNS)));
    if (turns.waiting >= WAITING_MAX) return 'away';
    try {
      return await turns.run(async () => {
        const nowMs = performance.now();
        if ((this.#unknown.get(id) ?? 0) > nowMs) return null;
        const found = this.#known.get(id);
        if (found !== undefined && found.untilMs > nowMs) return found.found; // while this one waited
        return await this.#strangers.run(() => this.#look(question, id));
      });
    } finally {
      if (turns.isIdle) this.#turns.delete(address);
    }
  }

  async #look(question: Question, id: string): Promise<Found | 'away' | null> {
    const asked = this.#cells.map(async (cell) => {
      const { rows } = await this.#ask(cell, question);
      return rows[0] === undefined ? null : { cell, moving: rows[0].moving };
    });
    // After a move both databases have it, and the former one says that it was moved. A database that does not answer is not waited for
    // when another one has it.
    const here = await Promise.any(asked.map(async (one) => await hereOrThrow(one))).catch(() => null);
    if (here === null) {
      const answers = await Promise.allSettled(asked);
      const moved = answers.find((one) => one.status === 'fulfilled' && one.value !== null);
      if (moved?.status === 'fulfilled') return moved.value;
      if (answers.some(({ status }) => status === 'rejected')) return 'away';
      this.#known.delete(id);
      if (this.#unknown.size >= UNKNOWN_MAX) this.#unknown.delete(this.#unknown.keys().next().value!);
      this.#unknown.set(id, performance.now() + KNOWN_MS);
      return null;
    }
    if (this.#known.size >= KNOWN_MAX && !this.#known.has(id)) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(id, { found: here, untilMs: performance.now() + KNOWN_MS });
    return here;
  }

  async #ask(cell: Cell, { text, value }: Question): Promise<pg.QueryResult<{ moving: boolean }>> {
    try {
      const answer = await cell.pool.query<{ moving: boolean }>(text, [value]);
      if (this.#away.delete(cell)) this.#tell(`cell '${cell.name}' answers again`);
      return answer;
    } catch (error) {
      const why = (error as Error).message;
      if (this.#away.get(cell) !== why) this.#tell(`cell '${cell.name}' cannot be asked: ${why}`);
      this.#away.set(cell, why);
      throw error;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#cells.map(({ pool }) => pool.end()));
  }
}

async function hereOrThrow(asked: Promise<Found | null>): Promise<Found> {
  const found = await asked;
  if (found === null || found.moving) throw new Error('not here');
  return found;
}

const placed = ({ name, upstream }: Cell): Answer => ({ status: 200, headers: { 'bio-cell': name, 'bio-cell-upstream': upstream } });
const refused: Answer = {
  status: 401,
  headers: { 'www-authenticate': 'Bearer' },
  problem: new PipelineError('credential_invalid', 'No organization here has this credential.'),
};
const slower: Answer = {
  status: 429,
  headers: { 'retry-after': '1' },
  problem: new PipelineError('rate_limited', 'Too many credentials of this address are of no organization here.'),
};
const later: Answer = {
  status: 503,
  headers: { 'retry-after': '5' },
  problem: new PipelineError('unavailable', 'The organization is being moved, or its database cannot be asked; nothing was kept.'),
};

const moving = 'o.moving_at is not null as moving';
const byKey = `select ${moving} from api_key k join organization o on o.id = k.organization_id where k.public_id = $1`;
const byOrganization = `select ${moving} from organization o where o.id = $1::uuid`;
const bySession = `select ${moving} from operator_session s join operator_account a on a.id = s.operator_id
  join organization o on o.id = a.organization_id where s.token_hash = $1`;

/** A session's value is bytes. */
const idOf = ({ text, value }: Question): string => `${text} ${Buffer.isBuffer(value) ? value.toString('hex') : String(value)}`;

/** Of the client, as the proxy in front saw it: what it added last. */
function addressOf(headers: Readonly<Record<string, string | string[] | undefined>>): string | null {
  const last = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)!
    .trim();
  return last === '' ? null : last.slice(0, 64);
}

/** What to ask for a request; 'none': it has no credential; 'unknown': one that no service takes. */
function questionOf(headers: Readonly<Record<string, string | string[] | undefined>>): Question | 'none' | 'unknown' {
  const bearer =
    /^Bearer +(\S+)$/i.exec(String(headers['authorization'] ?? ''))?.[1] ??
    bearerOfProtocols(String(headers['sec-websocket-protocol'] ?? ''));
  if (bearer !== null) {
    const key = parseKey(bearer);
    if (key?.kind === 'org') return { text: byKey, value: key.publicId };
    const organization = organizationOf(bearer);
    return organization === null ? 'unknown' : { text: byOrganization, value: organization };
  }
  if (headers['authorization'] !== undefined) return 'unknown';
  const session = /(?:^|;\s*)(?:__Host-)?bio_session=([^;]+)/.exec(String(headers['cookie'] ?? ''))?.[1];
  return session === undefined ? 'none' : { text: bySession, value: hashKey(session) };
}

/** Of a WebSocket: `bio.bearer.` and the credential in base64url. */
function bearerOfProtocols(list: string): string | null {
  const encoded = /(?:^|,)\s*bio\.bearer\.([A-Za-z0-9_-]+)/.exec(list)?.[1];
  return encoded === undefined ? null : Buffer.from(encoded, 'base64url').toString();
}

/** The organization that a token names. Whether it may is for the service to say. */
function organizationOf(token: string): string | null {
  try {
    const { org } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { org?: unknown };
    return typeof org === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(org) ? org : null;
  } catch {
    return null;
  }
}

async function answer(
  directory: CellDirectory,
  request: IncomingMessage,
  response: ServerResponse,
  complain: (line: string) => void,
): Promise<void> {
  try {
    const isQuestion = (request.url ?? '').split('?')[0] === '/cell';
    send(response, isQuestion ? await directory.answer(request.headers, request.socket.remoteAddress ?? '') : { status: 404, headers: {} });
  } catch (error) {
    complain(`biosignal cells: ${error instanceof Error ? error.message : String(error)}`);
    send(response, later);
  }
}

/** A refusal reaches the client as it is: it looks like one of the service. */
function send(response: ServerResponse, { status, headers, problem }: Answer): void {
  const type = problem === undefined ? {} : { 'content-type': 'application/problem+json' };
  response.writeHead(status, { ...headers, ...type, 'cache-control': 'no-store' });
  if (problem === undefined) response.end();
  else
    response.end(
      JSON.stringify({
        type: `/api-docs/errors#${problem.code}`,
        title: errorTable[problem.code].title,
        status,
        detail: problem.message,
        code: problem.code,
        errors: [],
      }),
    );
}
