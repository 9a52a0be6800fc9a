/** The service's own description of its API, as a fuzzer reads it: operations, and what is wrong with an answer by it. */
import type { TSchema } from 'typebox';
import { errorTable } from '../../src/errors.ts';
import { compileCheck } from '../../src/http/validate.ts';
import type { Check } from '../../src/http/validate.ts';

export type Schema = Readonly<{
  type?: string;
  format?: string;
  pattern?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  items?: Schema;
  minItems?: number;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
}>;
export type Parameter = Readonly<{ name: string; in: string; required: boolean; schema: Schema }>;
type Content = Readonly<Record<string, Readonly<{ schema?: Schema }>>>;
type Described = Readonly<{
  operationId: string;
  description: string;
  security: readonly Readonly<Record<string, unknown>>[];
  parameters?: readonly Parameter[];
  requestBody?: Readonly<{ content: Content }>;
  responses: Readonly<Record<string, Readonly<{ description: string; content?: Content }>>>;
}>;
export type Operation = Described & Readonly<{ method: string; path: string }>;

/** An answer with its body as text. */
export type Given = Readonly<{ status: number; headers: Headers; text: string }>;

const PROBLEM = 'application/problem+json';
/** Sockets. */
const notAsked = new Set(['/ws', '/ingest/stream']);

export class Description {
  readonly operations: readonly Operation[];
  readonly #problem: Check;
  readonly #checks = new Map<string, Check>();

  constructor(document: Readonly<{ paths: Record<string, Record<string, Described>>; components: { schemas: { Problem: Schema } } }>) {
    this.operations = Object.entries(document.paths).flatMap(([path, item]) =>
      notAsked.has(path) ? [] : Object.entries(item).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
    );
    this.#problem = compileCheck(document.components.schemas.Problem as TSchema);
  }

  static async of(baseUrl: string): Promise<Description> {
    const response = await fetch(`${baseUrl}/api-docs/openapi.json`);
    return new Description((await response.json()) as ConstructorParameters<typeof Description>[0]);
  }

  /** The operation that answers a path, as the service would find it: fixed segments before parameters. */
  operationOf(method: string, address: string): Operation | undefined {
    const segments = address.split('?')[0]!.split('/');
    const fits = (path: string): boolean => {
      const parts = path.split('/');
      return parts.length === segments.length && parts.every((part, i) => part.startsWith('{') || part === segments[i]);
    };
    return this.operations.filter((one) => one.method === method && fits(one.path)).sort((a, b) => countOf(a.path) - countOf(b.path))[0];
  }

  /** What is wrong with an answer by the description; nothing: it is as described. */
  breaches(operation: Operation, { status, headers, text }: Given): string[] {
    const type = (headers.get('content-type') ?? '').split(';')[0]!;
    const described = operation.responses[status];
    if (described === undefined) return [`the status ${status} is not described`];
    if (status >= 400) return this.#problemBreaches(status, type, text, described.description);
    if (described.content === undefined) return text === '' ? [] : [`a body, and none is described: ${text.slice(0, 100)}`];
    const entry = Object.entries(described.content).find(([one]) => one === '*/*' || one.split(';')[0] === type);
    if (entry === undefined) return [`the type '${type}' is not described`];
    const { schema } = entry[1];
    if (schema === undefined || type !== 'application/json') return [];
    return this.#bodyBreaches(`${operation.operationId} ${status}`, schema, text);
  }

  #bodyBreaches(name: string, schema: Schema, text: string): string[] {
    let check = this.#checks.get(name);
    if (check === undefined) this.#checks.set(name, (check = compileCheck(schema as TSchema)));
    try {
      return check(JSON.parse(text)).map(({ pointer, detail }) => `${pointer || '/'} ${detail}`);
    } catch {
      return [`the body is no JSON: ${text.slice(0, 100)}`];
    }
  }

  #problemBreaches(status: number, type: string, text: string, described: string): string[] {
    if (type !== PROBLEM) return [`the type of a problem is '${type}'`];
    let problem: { code?: string; status?: number };
    try {
      problem = JSON.parse(text) as typeof problem;
    } catch {
      return [`the problem is no JSON: ${text.slice(0, 100)}`];
    }
    const found = this.#problem(problem).map(({ pointer, detail }) => `problem ${pointer} ${detail}`);
    const code = problem.code ?? '';
    if (!Object.hasOwn(errorTable, code) || errorTable[code as keyof typeof errorTable].status !== status)
      found.push(`the code ${code} is not of the status ${status}`);
    else if (!described.includes(`\`${code}\``)) found.push(`the code ${code} is not described for this operation`);
    return found;
  }
}

const countOf = (path: string): number => path.split('{').length;
