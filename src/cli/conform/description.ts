/** The service's own description (OpenAPI 3.1), and how an answer differs from it. */
import { Compile } from 'typebox/schema';
import type { TSchema } from 'typebox';
import type { Answer } from './client.ts';

type Content = Readonly<Record<string, { schema?: TSchema }>>;
type ResponseSpec = Readonly<{ description?: string; content?: Content }>;
export type Operation = Readonly<{
  operationId: string;
  method: string;
  path: string;
  responses: Readonly<Record<string, ResponseSpec>>;
  parameters: readonly Readonly<{ name: string; in: string }>[];
}>;
type Json = Readonly<{
  openapi?: string;
  paths?: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'method' | 'path'>>>>>;
  components?: { schemas?: Readonly<Record<string, TSchema>> };
}>;

const BREACHES_MAX = 3;

export class Description {
  readonly json: Json;
  readonly operations: readonly Operation[];
  readonly #patterns: readonly Readonly<{ operation: Operation; pattern: RegExp }>[];
  readonly #compiled = new Map<object, ReturnType<typeof Compile>>();

  constructor(json: unknown) {
    this.json = json as Json;
    this.operations = Object.entries(this.json.paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        ...operation,
        parameters: operation.parameters ?? [],
        method: method.toUpperCase(),
        path,
      })),
    );
    const holes = (path: string): number => path.split('{').length;
    this.#patterns = this.operations
      .toSorted((a, b) => holes(a.path) - holes(b.path))
      .map((operation) => ({
        operation,
        pattern: patternOf(operation.path),
      }));
  }

  /** Codes of problems, as the description lists them. */
  get codes(): readonly string[] {
    const problem = this.json.components?.schemas?.['Problem'] as { properties?: { code?: { enum?: string[] } } } | undefined;
    return problem?.properties?.code?.enum ?? [];
  }

  find(method: string, path: string): Operation | null {
    const bare = path.split('?')[0] ?? '';
    // The path with the fewest parameters is the one that is meant, whichever methods it has (OpenAPI 3.1, section 4.8.8.2).
    const meant = this.#patterns.find(({ pattern }) => pattern.test(bare))?.operation.path;
    return this.operations.find((operation) => operation.path === meant && operation.method === method) ?? null;
  }

  /** Differences between an answer and the description; for an undocumented operation only the rules for every answer. */
  breaches(method: string, path: string, answer: Answer): readonly string[] {
    const found: string[] = [];
    const { status, headers } = answer;
    if (headers.has('access-control-allow-credentials')) found.push('says access-control-allow-credentials');
    const type = (headers.get('content-type') ?? '').split(';')[0] ?? '';
    const operation = method === 'HEAD' || method === 'OPTIONS' ? null : this.find(method, path);
    if (status >= 400 && type === 'application/problem+json' && method !== 'HEAD') found.push(...this.#problem(answer, operation));
    else if (status >= 400 && operation !== null) found.push(`an error that is not a problem document but '${type}'`);
    else if (operation !== null) found.push(...this.#success(operation, answer, type));
    return found.slice(0, BREACHES_MAX);
  }

  #problem(answer: Answer, operation: Operation | null): string[] {
    const schema = this.json.components?.schemas?.['Problem'];
    const found = schema === undefined ? ['the description has no schema Problem'] : this.#check(schema, answer.text);
    const { status, instance } = (answer.json ?? {}) as { status?: unknown; instance?: unknown };
    if (status !== answer.status) found.push(`the document states status ${String(status)}`);
    if (typeof instance === 'string' && instance.includes('?')) found.push('instance holds a query');
    const documented = operation?.responses[String(answer.status)]?.description;
    if (operation !== null && documented?.includes(`\`${answer.code}\``) !== true && operation.responses['101'] === undefined)
      found.push(`the description of ${operation.operationId} has no ${answer.status} ${answer.code}`);
    return found;
  }

  #success({ operationId, responses }: Operation, answer: Answer, type: string): string[] {
    const spec = responses[String(answer.status)];
    if (spec === undefined) return [`the description of ${operationId} has no ${answer.status}`];
    if (answer.status === 204 || answer.status === 304) return [];
    const content = spec.content ?? {};
    if (content['*/*'] !== undefined || (type === '' && Object.keys(content).length === 0)) return [];
    const media = content[type];
    if (media === undefined) return [`the description of ${operationId} has no ${type === '' ? 'answer without a type' : type}`];
    return media.schema === undefined || !/[/+]json$/.test(type) ? [] : this.#check(media.schema, answer.text);
  }

  #check(schema: TSchema, text: string): string[] {
    let compiled = this.#compiled.get(schema);
    if (compiled === undefined) this.#compiled.set(schema, (compiled = Compile(schema)));
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return ['is not JSON'];
    }
    if (compiled.Check(value)) return [];
    return compiled
      .Errors(value)[1]
      .slice(0, BREACHES_MAX)
      .map(({ instancePath, message }) => `${instancePath === '' ? 'the document' : instancePath} ${message}`);
  }
}

/** Escapes the service's text, which is never a pattern. */
function patternOf(path: string): RegExp {
  const pieces = path.split(/\{\w+\}/).map((piece) => piece.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  return new RegExp(`^${pieces.join('[^/]+')}$`);
}
