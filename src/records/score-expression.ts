/** The language of scoring rules, e.g. `sum(all) * 4` or `if({pain} >= 2 and {days} > 7, 1, 0)`; docs/questionnaires.md describes it.
 *
 *  Numbers only, without access to the service. An answer not given is missing: arithmetic and comparisons with it are missing, a missing
 *  condition counts as false, and sum, mean, min, max and count skip it. An expression is bounded (TEXT_MAX characters, NODES_MAX parts,
 *  DEPTH_MAX deep) and evaluated in one pass without loops, so no rule can stall the service. */

const TEXT_MAX = 2000;
const NODES_MAX = 400;
const DEPTH_MAX = 32;

/** null: missing. */
type Value = number | null;
export type Answered = Readonly<{
  /** Points of an answer by linkId; null when it was not given. */
  points: (linkId: string) => Value;
  /** Points of every answered choice and yes/no question, in order. */
  all: readonly number[];
}>;

type Node =
  | Readonly<{ kind: 'number'; value: number }>
  | Readonly<{ kind: 'answer'; linkId: string }>
  | Readonly<{ kind: 'all' }>
  | Readonly<{ kind: 'not' | 'minus'; of: Node }>
  | Readonly<{ kind: 'binary'; operator: Operator; left: Node; right: Node }>
  | Readonly<{ kind: 'call'; name: FunctionName; of: readonly Node[] }>;

const levels = [['or'], ['and'], ['=', '!=', '<=', '>=', '<', '>'], ['+', '-'], ['*', '/']] as const;
type Operator = (typeof levels)[number][number];
/** Least and most arguments, by name. */
const functions = {
  sum: [1, 200],
  mean: [1, 200],
  min: [1, 200],
  max: [1, 200],
  count: [1, 200],
  round: [1, 2],
  abs: [1, 1],
  if: [3, 3],
  answered: [1, 1],
  default: [2, 2],
} as const;
type FunctionName = keyof typeof functions;

export type Expression = Readonly<{
  /** Questions named in the expression. */
  linkIds: ReadonlySet<string>;
  /** @returns a finite number, or null when the result is missing */
  evaluate: (answers: Answered) => number | null;
}>;

/** @throws SyntaxError that says what is wrong and at which character */
export function parseExpression(text: string): Expression {
  if (text.length > TEXT_MAX) throw new SyntaxError(`is longer than ${TEXT_MAX} characters`);
  const parser = new Parser(text);
  const root = parser.whole();
  return {
    linkIds: parser.linkIds,
    evaluate: (answers) => {
      const [value = null] = valuesOf(root, answers);
      return value !== null && Number.isFinite(value) ? value : null;
    },
  };
}

type Token = Readonly<{ text: string; at: number; kind: 'number' | 'answer' | 'word' | 'sign' | 'end' }>;

class Parser {
  readonly linkIds = new Set<string>();
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #nodes = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  whole(): Node {
    const node = this.#binary(0);
    const rest = this.#next();
    if (rest.kind !== 'end') throw wrong(rest, `"${rest.text}" was not expected`);
    return node;
  }

  #binary(level: number): Node {
    const operators: readonly string[] | undefined = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let token = this.#peek(); operators.includes(token.text) && token.kind !== 'answer'; token = this.#peek()) {
      this.#next();
      const right = this.#binary(level + 1);
      left = this.#made({ kind: 'binary', operator: token.text as Operator, left, right });
    }
    return left;
  }

  #unary(): Node {
    const token = this.#peek();
    if (token.kind !== 'answer' && (token.text === '-' || token.text === 'not')) {
      this.#next();
      return this.#deeper(() => this.#made({ kind: token.text === '-' ? 'minus' : 'not', of: this.#unary() }));
    }
    return this.#deeper(() => this.#primary());
  }

  #primary(): Node {
    const token = this.#next();
    if (token.kind === 'number') return this.#made({ kind: 'number', value: Number(token.text) });
    if (token.kind === 'answer') {
      this.linkIds.add(token.text);
      return this.#made({ kind: 'answer', linkId: token.text });
    }
    if (token.text === '(') {
      const node = this.#binary(0);
      this.#expect(')');
      return node;
    }
    if (token.text === 'all') return this.#made({ kind: 'all' });
    if (token.kind === 'word') return this.#call(token);
    throw wrong(token, token.kind === 'end' ? 'it ends too early' : `"${token.text}" was not expected`);
  }

  #call(token: Token): Node {
    if (!Object.hasOwn(functions, token.text)) throw wrong(token, `there is no function "${token.text}"`);
    const name = token.text as FunctionName;
    this.#expect('(');
    const of = [this.#binary(0)];
    while (this.#peek().text === ',') {
      this.#next();
      of.push(this.#binary(0));
    }
    this.#expect(')');
    const [least, most] = functions[name];
    if (of.length < least || of.length > most) {
      throw wrong(token, `${name} takes ${least === most ? least : `${least} to ${most}`} arguments, not ${of.length}`);
    }
    return this.#made({ kind: 'call', name, of });
  }

  #deeper(parse: () => Node): Node {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) throw wrong(this.#peek(), `it is more than ${DEPTH_MAX} deep`);
    const node = parse();
    this.#depth -= 1;
    return node;
  }

  #made(node: Node): Node {
    this.#nodes += 1;
    if (this.#nodes > NODES_MAX) throw wrong(this.#peek(), `it has more than ${NODES_MAX} parts`);
    return node;
  }

  #expect(text: string): void {
    const token = this.#next();
    if (token.text !== text || token.kind !== 'sign') throw wrong(token, `"${text}" is missing`);
  }

  #peek(): Token {
    return this.#tokens[this.#at] as Token;
  }

  #next(): Token {
    const token = this.#peek();
    if (token.kind !== 'end') this.#at += 1;
    return token;
  }
}

function wrong(token: Token, what: string): SyntaxError {
  return new SyntaxError(`${what}, at character ${token.at + 1}`);
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  const pattern = /\s*(?:(\d+(?:\.\d+)?)|\{([^{}]{1,64})\}|([a-z]+)|(<=|>=|!=|[-+*/=<>(),]))/y;
  let at = 0;
  while (at < text.trimEnd().length) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match === null) throw new SyntaxError(`"${text.slice(at).trim().slice(0, 12)}" cannot be read, at character ${at + 1}`);
    const [whole, number, answer, word, sign] = match;
    const start = at + whole.length - whole.trimStart().length;
    at = pattern.lastIndex;
    if (number !== undefined) tokens.push({ kind: 'number', text: number, at: start });
    else if (answer !== undefined) tokens.push({ kind: 'answer', text: answer.trim(), at: start });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word, at: start });
    else tokens.push({ kind: 'sign', text: sign ?? '', at: start });
  }
  tokens.push({ kind: 'end', text: '', at: text.length });
  return tokens;
}

/** One value, or any number of them for `all`. */
function valuesOf(node: Node, answers: Answered): readonly Value[] {
  return node.kind === 'all' ? answers.all : [valueOf(node, answers)];
}

function valueOf(node: Node, answers: Answered): Value {
  switch (node.kind) {
    case 'number':
      return node.value;
    case 'answer':
      return answers.points(node.linkId);
    case 'all':
      return null; // only a function can take a list
    case 'minus': {
      const value = valueOf(node.of, answers);
      return value === null ? null : -value;
    }
    case 'not':
      return holds(valueOf(node.of, answers)) ? 0 : 1;
    case 'binary':
      return binary(node.operator, valueOf(node.left, answers), valueOf(node.right, answers));
    case 'call':
      return call(node.name, node.of, answers);
    default: {
      const never: never = node;
      throw new Error(`node ${String(never)}`);
    }
  }
}

const holds = (value: Value): boolean => value !== null && value !== 0;

function binary(operator: Operator, left: Value, right: Value): Value {
  if (operator === 'and') return holds(left) && holds(right) ? 1 : 0;
  if (operator === 'or') return holds(left) || holds(right) ? 1 : 0;
  if (left === null || right === null) return null;
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return right === 0 ? null : left / right;
    case '=':
      return Number(left === right);
    case '!=':
      return Number(left !== right);
    case '<':
      return Number(left < right);
    case '<=':
      return Number(left <= right);
    case '>':
      return Number(left > right);
    case '>=':
      return Number(left >= right);
    default: {
      const never: never = operator;
      throw new Error(`operator ${String(never)}`);
    }
  }
}

function call(name: FunctionName, of: readonly Node[], answers: Answered): Value {
  const at = (i: number): Value => {
    const node = of[i];
    return node === undefined ? null : valueOf(node, answers);
  };
  switch (name) {
    case 'if':
      return holds(at(0)) ? at(1) : at(2);
    case 'default':
      return at(0) ?? at(1);
    case 'answered':
      return at(0) === null ? 0 : 1;
    case 'abs':
    case 'round': {
      const value = at(0);
      if (value === null) return null;
      if (name === 'abs') return Math.abs(value);
      const scale = 10 ** Math.min(6, Math.max(0, Math.trunc(at(1) ?? 0)));
      return Math.round(value * scale) / scale;
    }
    default: {
      const given = of.flatMap((node) => valuesOf(node, answers)).filter((value) => value !== null);
      if (name === 'count') return given.length;
      if (given.length === 0) return null;
      if (name === 'min') return Math.min(...given);
      if (name === 'max') return Math.max(...given);
      const sum = given.reduce((total, value) => total + value, 0);
      return name === 'mean' ? sum / given.length : sum;
    }
  }
}
