/** The mutants of a TypeScript file: each is one edit of its text. docs/mutation.md has the operators in a table.
 *
 *  Mutants are written into the file and not switched by a variable: so every process and worker thread that a test starts runs them too,
 *  and a hot loop keeps its speed. What a mutant cannot show is left out: types, logging, asserts, the wording of errors. */
import { parseSync, visitorKeys } from 'oxc-parser';
import { looksLikeSql, sqlEdits } from './sql-mutants.ts';

export type Edit = Readonly<{ operator: string; start: number; end: number; replacement: string }>;
/** `text` names the mutant wherever it stands: its lines before and after. `line` counts from 1. */
export type Mutant = Edit & Readonly<{ line: number; text: string }>;

/** A node of ESTree, as far as it matters here. */
export type Node = Readonly<{ type: string; start: number; end: number }> & Readonly<Record<string, unknown>>;

const boundary: Readonly<Record<string, string>> = { '<': '<=', '<=': '<', '>': '>=', '>=': '>' };
const opposite: Readonly<Record<string, string>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<', '===': '!==', '!==': '===' };
const arithmetic: Readonly<Record<string, string>> = {
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '**': '*',
  '<<': '>>',
  '>>': '<<',
  '>>>': '<<',
  '&': '|',
  '|': '&',
  '^': '|',
};
const methods: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
  round: 'floor',
  trunc: 'ceil',
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
};
/** Methods whose result may stand for what they are called on. */
const droppable = new Set([
  'filter',
  'sort',
  'toSorted',
  'reverse',
  'toReversed',
  'slice',
  'subarray',
  'trim',
  'toLowerCase',
  'toUpperCase',
]);
const transparentTypes = new Set(['TSAsExpression', 'TSNonNullExpression', 'TSSatisfiesExpression', 'TSInstantiationExpression']);
const silent = /^(this\.)?#?(log|logger|console|assert)\b/;

/** @param numbers also change literal numbers: worth it where they are the method (DSP, codecs), noise where they are limits */
export function mutantsOf(file: string, source: string, numbers: boolean): readonly Mutant[] {
  const edits: Edit[] = [];
  walk(parse(file, source), [], (node, parents) => {
    if (isOutOfReach(source, node)) return false;
    edits.push(...editsOf(source, node, parents, numbers));
    return true;
  });
  return edits
    .filter((edit) => parses(file, apply(source, edit)))
    .toSorted((a, b) => a.start - b.start || a.end - b.end)
    .map((edit) => ({ ...edit, line: source.slice(0, edit.start).split('\n').length, text: describe(source, edit) }));
}

/** `key`: the mutant's name in its file, whatever lines move and operators are added; of those with the same text the second is #2. */
export type Named = Readonly<{ mutant: Mutant; key: string }>;

export function named(mutants: readonly Mutant[]): readonly Named[] {
  const counts = new Map<string, number>();
  return mutants.map((mutant) => {
    const key = `${mutant.operator} ${mutant.text}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return { mutant, key: `${key} #${counts.get(key)}` };
  });
}

export function apply(source: string, { start, end, replacement }: Pick<Edit, 'start' | 'end' | 'replacement'>): string {
  return source.slice(0, start) + replacement + source.slice(end);
}

export function parse(file: string, source: string): Node {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]!.message}`);
  return program as unknown as Node;
}

/** Depth first; `visit` says whether to go into the node. Types are not entered. */
export function walk(node: Node, parents: readonly Node[], visit: (node: Node, parents: readonly Node[]) => boolean): void {
  if (node.type.startsWith('TS') && !transparentTypes.has(node.type)) return;
  if (!visit(node, parents)) return;
  const inside = [...parents, node];
  for (const key of visitorKeys[node.type] ?? []) {
    const child = node[key] as Node | readonly (Node | null)[] | null | undefined;
    for (const one of Array.isArray(child) ? child : [child]) if (one) walk(one as Node, inside, visit);
  }
}

function parses(file: string, source: string): boolean {
  return parseSync(file, source).errors.length === 0;
}

function isOutOfReach(source: string, node: Node): boolean {
  if (node.type === 'ImportDeclaration' || node.type === 'ExportAllDeclaration') return true;
  if (node.type === 'CallExpression') return silent.test(source.slice(node.start, node.end));
  return node.type === 'NewExpression' && textOf(source, node['callee'] as Node).endsWith('Error');
}

function editsOf(source: string, node: Node, parents: readonly Node[], numbers: boolean): readonly Edit[] {
  const parent = parents.at(-1);
  const edit = (operator: string, replacement: string, at: Pick<Node, 'start' | 'end'> = node): Edit => ({
    operator,
    start: at.start,
    end: at.end,
    replacement,
  });
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression': {
      const test = node['test'] as Node;
      return [edit('condition', 'true', test), edit('condition', 'false', test)];
    }
    case 'WhileStatement':
    case 'ForStatement': {
      const test = node['test'] as Node | null;
      return test === null ? [] : [edit('condition', 'false', test)];
    }
    case 'BinaryExpression':
      return binaryEdits(source, node, parent);
    case 'LogicalExpression': {
      const [from, to] = operatorSpan(source, node);
      const left = source.slice(node.start, from).trim();
      const right = source.slice(to, node.end).trim();
      return [edit('operand', `(${left})`), edit('operand', `(${right})`)];
    }
    case 'UnaryExpression': {
      const argument = node['argument'] as Node;
      const drops = ['-', '~'].includes(node['operator'] as string) || (node['operator'] === '!' && !isTest(node, parent));
      return drops ? [edit('sign', source.slice(node.start + 1, argument.start) + source.slice(argument.start, node.end))] : [];
    }
    case 'UpdateExpression':
      if (parent?.type === 'ForStatement') return [];
      return [
        edit(
          'step',
          textOf(source, node).includes('++') ? textOf(source, node).replace('++', '--') : textOf(source, node).replace('--', '++'),
        ),
      ];
    case 'AssignmentExpression':
      return assignmentEdits(source, node);
    case 'Literal':
      return literalEdits(source, node, parent, numbers);
    case 'TemplateLiteral':
      return sqlOf(source, node);
    case 'ArrayExpression': {
      const filled = (node['elements'] as readonly unknown[]).length > 0;
      return filled && !isArgumentOf(source, node, parent, 'query') ? [edit('list', '[]')] : [];
    }
    case 'CallExpression':
      return callEdits(source, node);
    case 'ExpressionStatement': {
      const expression = textOf(source, node['expression'] as Node);
      if (node['directive'] || isAlone(node, parents) || silent.test(expression) || expression.startsWith('super(')) return [];
      return [edit('statement', ';')];
    }
    case 'ReturnStatement':
      return node['argument'] === null && !isAlone(node, parents) ? [edit('statement', ';')] : [];
    case 'ThrowStatement':
    case 'ContinueStatement':
    case 'BreakStatement':
      return isAlone(node, parents) || parent?.type === 'SwitchCase' ? [] : [edit('statement', ';')];
    default:
      return [];
  }
}

function binaryEdits(source: string, node: Node, parent: Node | undefined): readonly Edit[] {
  const operator = node['operator'] as string;
  const [start, end] = operatorSpan(source, node);
  const to = (name: string, replacement: string | undefined): readonly Edit[] =>
    replacement === undefined ? [] : [{ operator: name, start, end, replacement }];
  if (operator === '+' && isText(node)) return [];
  // Of a test, `true` and `false` say more than the opposite does.
  return [
    ...to('boundary', boundary[operator]),
    ...(isTest(node, parent) ? [] : to('opposite', opposite[operator])),
    ...to('arithmetic', arithmetic[operator]),
  ];
}

function assignmentEdits(source: string, node: Node): readonly Edit[] {
  const operator = (node['operator'] as string).slice(0, -1);
  const [start, end] = operatorSpan(source, node);
  if (operator === '+' && isText(node['right'] as Node)) return [];
  const replacement = operator === '??' ? '=' : arithmetic[operator] === undefined ? undefined : `${arithmetic[operator]}=`;
  return replacement === undefined ? [] : [{ operator: 'arithmetic', start, end, replacement }];
}

function literalEdits(source: string, node: Node, parent: Node | undefined, numbers: boolean): readonly Edit[] {
  const { value } = node;
  const edit = (operator: string, replacement: string): readonly Edit[] => [{ operator, start: node.start, end: node.end, replacement }];
  if (typeof value === 'boolean') return edit('boolean', String(!value));
  if (typeof value === 'number' && numbers && !isKey(node, parent))
    return edit('number', String(Number.isInteger(value) ? value + 1 : value * 1.25));
  if (typeof value === 'string') {
    if (looksLikeSql(value)) return sqlOf(source, node);
    const compared = parent?.type === 'ArrayExpression' || (parent?.type === 'SwitchCase' && parent['test'] === node);
    return compared && value !== '' ? edit('text', "''") : [];
  }
  if (node['regex'] !== undefined && node['regex'] !== null) return regexEdits(source, node);
  return [];
}

function regexEdits(source: string, node: Node): readonly Edit[] {
  const text = textOf(source, node);
  const edits: Edit[] = [];
  for (const [pattern, replacement] of [
    [/^\/\^/, '/'],
    [/\$(?=\/[a-z]*$)/, ''],
    [/\[\^/, '['],
  ] as const) {
    const changed = text.replace(pattern, replacement);
    if (changed !== text) edits.push({ operator: 'pattern', start: node.start, end: node.end, replacement: changed });
  }
  return edits;
}

function callEdits(source: string, node: Node): readonly Edit[] {
  const callee = node['callee'] as Node;
  if (callee.type !== 'MemberExpression' || callee['computed'] === true) return [];
  const property = callee['property'] as Node;
  const name = textOf(source, property);
  const edits: Edit[] = [];
  const other = methods[name];
  if (other !== undefined) edits.push({ operator: 'method', start: property.start, end: property.end, replacement: other });
  if (droppable.has(name)) {
    const object = source.slice(node.start, property.start).replace(/\??\.\s*$/, '');
    edits.push({ operator: 'method', start: node.start, end: node.end, replacement: object });
  }
  return edits;
}

function sqlOf(source: string, node: Node): readonly Edit[] {
  if (!looksLikeSql(textOf(source, node).slice(1, -1))) return [];
  const pieces = node.type === 'TemplateLiteral' ? (node['quasis'] as readonly Node[]) : [node];
  return pieces.flatMap(({ start, end }) =>
    sqlEdits(source.slice(start, end)).map((edit) => ({ ...edit, start: edit.start + start, end: edit.end + start })),
  );
}

/** Where the operator of a binary, logical or assignment expression stands. */
function operatorSpan(source: string, node: Node): readonly [number, number] {
  const operator = node['operator'] as string;
  const start = source.indexOf(operator, (node['left'] as Node).end);
  return [start, start + operator.length];
}

/** Is the expression, as far as can be seen, a sum of texts? */
function isText(node: Node): boolean {
  if (node.type === 'TemplateLiteral') return true;
  if (node.type === 'Literal') return typeof node['value'] === 'string';
  return node.type === 'BinaryExpression' && node['operator'] === '+' && (isText(node['left'] as Node) || isText(node['right'] as Node));
}

function isTest(node: Node, parent: Node | undefined): boolean {
  return parent !== undefined && parent['test'] === node && parent.type !== 'SwitchCase';
}

function isKey(node: Node, parent: Node | undefined): boolean {
  return parent !== undefined && parent['key'] === node;
}

function isArgumentOf(source: string, node: Node, parent: Node | undefined, method: string): boolean {
  if (parent?.type !== 'CallExpression' || !(parent['arguments'] as readonly Node[]).includes(node)) return false;
  return textOf(source, parent['callee'] as Node).endsWith(`.${method}`);
}

/** Is the statement all that an `if` without `else` does? Then `if (false)` is the same mutant. */
function isAlone(node: Node, parents: readonly Node[]): boolean {
  const parent = parents.at(-1);
  const holder = parent?.type === 'BlockStatement' && (parent['body'] as readonly Node[]).length === 1 ? parents.at(-2) : parent;
  const body = holder === parent ? node : parent;
  return holder?.type === 'IfStatement' && holder['alternate'] === null && holder['consequent'] === body;
}

function textOf(source: string, { start, end }: Pick<Node, 'start' | 'end'>): string {
  return source.slice(start, end);
}

/** The lines that an edit touches, before and after, without their indentation. */
function describe(source: string, edit: Edit): string {
  const from = source.lastIndexOf('\n', edit.start - 1) + 1;
  const next = source.indexOf('\n', edit.end);
  const to = next === -1 ? source.length : next;
  const before = short(source.slice(from, to));
  const after = short(source.slice(from, edit.start) + edit.replacement + source.slice(edit.end, to));
  return `${before} => ${after}`;
}

function short(lines: string): string {
  const plain = lines.replaceAll(/\s+/g, ' ').trim();
  return plain.length <= 300 ? plain : `${plain.slice(0, 200)} … ${plain.slice(-80)}`;
}
