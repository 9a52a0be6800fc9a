/** A handler knows its request by the schemas of its route (defineRoute), so nothing in src says by hand what a request holds. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import type { Expression } from 'oxc-parser';
import { expect, it } from 'vitest';

const root = normalize(join(import.meta.dirname, '../..'));
/** Where a request gets its types. */
const ORIGIN = 'src/http/route.ts';
const parts = new Set(['params', 'query', 'body']);

/** `query`, `request.body`, `params['id']`, `(await request).query.since`: a part of a request, or a member of one. */
function isOfRequest(node: Expression): boolean {
  switch (node.type) {
    case 'Identifier':
      return parts.has(node.name) || node.name === 'request';
    case 'MemberExpression':
      if (!node.computed && node.property.type === 'Identifier' && parts.has(node.property.name)) return true;
      return node.object.type !== 'Super' && isOfRequest(node.object);
    case 'ParenthesizedExpression':
    case 'TSNonNullExpression':
    case 'TSAsExpression':
      return isOfRequest(node.expression);
    case 'ChainExpression':
      return node.expression.type === 'MemberExpression' && isOfRequest(node.expression);
    case 'LogicalExpression':
      return isOfRequest(node.left);
    default:
      return false;
  }
}

/** Places, `file:line`, where a type is claimed of a request. */
function claims(file: string, text: string): string[] {
  const found: string[] = [];
  const claim = (node: Readonly<{ start: number; end: number; expression: Expression }>): void => {
    if (!text.slice(node.start, node.end).endsWith('as const') && isOfRequest(node.expression))
      found.push(`${file}:${text.slice(0, node.start).split('\n').length}: ${text.slice(node.start, node.end)}`);
  };
  new Visitor({ TSAsExpression: claim, TSNonNullExpression: claim, TSTypeAssertion: claim }).visit(parseSync(file, text).program);
  return found;
}

it('finds a type that is claimed of a request', () => {
  const text = `const handler = async ({ body, query, params }, request) => {
    const input = body as { name: string };
    const { limit } = request.query as { limit: number };
    const since = query['since'] as string;
    const id = params.id!;
    const { kind } = (query ?? {}) as { kind?: string };
    const rows = result.rows as Row[];
  };`;
  expect(claims('x.ts', text).map((place) => place.split(':')[1])).toEqual(['2', '3', '4', '5', '6']);
});

it('claims no type of a request in src: its schemas say it', () => {
  const files = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(name) && name !== ORIGIN && !name.includes('/generated/'));
  expect(files.length).toBeGreaterThan(200);
  const texts = files
    .map((name) => [name, readFileSync(join(root, name), 'utf8')] as const)
    .filter(([, text]) => /\b(params|query|body)\b/.test(text));
  expect(texts.flatMap(([name, text]) => claims(name, text))).toEqual([]);
});
