/** Finds the route of a method and path. A tree of path segments: literals before parameters, no patterns, no backtracking. */
import { PipelineError } from '../errors.ts';

type Node<T> = { literals: Map<string, Node<T>>; parameter: Node<T> | null; methods: Map<string, { names: readonly string[]; value: T }> };

export type Match<T> = Readonly<{ value: T; params: Readonly<Record<string, string>> }>;

const NONE: Readonly<Record<string, string>> = Object.freeze({});

export class Router<T> {
  readonly #root: Node<T> = node();
  /** Rows without parameters, by `METHOD path`: found without walking. */
  readonly #whole = new Map<string, Match<T>>();

  /** @throws Error when the method and path are already taken: two rows of the table would contradict each other */
  add(method: string, path: string, value: T): void {
    const names: string[] = [];
    let at = this.#root;
    for (const segment of path.slice(1).split('/')) {
      if (segment.startsWith('{')) {
        names.push(segment.slice(1, -1));
        at.parameter ??= node();
        at = at.parameter;
      } else {
        let next = at.literals.get(segment);
        if (next === undefined) at.literals.set(segment, (next = node()));
        at = next;
      }
    }
    if (at.methods.has(method)) throw new Error(`${method} ${path} is declared twice`);
    at.methods.set(method, { names, value });
    if (names.length === 0) this.#whole.set(`${method} ${path}`, { value, params: NONE });
  }

  /** Methods of a path, for 405 and preflights; empty when the path does not exist. */
  methods(path: string): readonly string[] {
    const found = this.#walk(path);
    return found === null ? [] : [...found.at.methods.keys()];
  }

  /** @throws PipelineError not_found, method_not_allowed, bad_request (a malformed escape) */
  match(method: string, path: string): Match<T> {
    const whole = this.#whole.get(`${method} ${path}`);
    if (whole !== undefined) return whole;
    const found = this.#walk(path);
    if (found === null || found.at.methods.size === 0) throw new PipelineError('not_found', 'There is nothing at this path.');
    const row = found.at.methods.get(method);
    if (row === undefined) {
      throw new PipelineError('method_not_allowed', `${method.slice(0, 16)} is not one of ${[...found.at.methods.keys()].join(', ')}.`);
    }
    if (row.names.length === 0) return { value: row.value, params: NONE };
    const params: Record<string, string> = {};
    for (let i = 0; i < row.names.length; i++) params[row.names[i] ?? ''] = decodeSegment(found.values[i] ?? '');
    return { value: row.value, params };
  }

  #walk(path: string): { at: Node<T>; values: string[] } | null {
    if (!path.startsWith('/')) return null; // `*`, or a whole address
    const values: string[] = [];
    let at = this.#root;
    for (const segment of path.slice(1).split('/')) {
      const next = at.literals.get(segment);
      if (next !== undefined) {
        at = next;
        continue;
      }
      if (at.parameter === null || segment === '') return null;
      values.push(segment);
      at = at.parameter;
    }
    return { at, values };
  }
}

function node<T>(): Node<T> {
  return { literals: new Map(), parameter: null, methods: new Map() };
}

function decodeSegment(segment: string): string {
  let text: string;
  try {
    text = decodeURIComponent(segment);
  } catch (cause) {
    throw new PipelineError('bad_request', 'The path holds a malformed escape.', { cause });
  }
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f/\\]/.test(text)) throw new PipelineError('bad_request', 'The path holds a forbidden character.');
  return text;
}
