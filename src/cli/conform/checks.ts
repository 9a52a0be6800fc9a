/** Checks: a request with its expected answer, or a claim that takes several requests. */
import { BudgetSpent } from './client.ts';
import type { Answer, Ask, Client, Credential } from './client.ts';
import type { Description } from './description.ts';
import { causeOf, gotWords, sentWords } from './words.ts';

export type Result = 'passed' | 'failed' | 'skipped';
export type Check = Readonly<{
  group: string;
  name: string;
  sent: string;
  expected: string;
  got: string;
  result: Result;
  ms: number;
}>;

/** The expected answer. */
export type Want = Readonly<{
  status: number | readonly number[];
  /** `code` of the problem document. */
  code?: string | readonly string[];
  /** Headers that must match, or (null) must be absent. */
  headers?: Readonly<Record<string, RegExp | null>>;
  /** Any other requirement, for the report, and its test, which returns the fault or nothing. */
  says?: string;
  test?: (answer: Answer) => string | null | undefined | false;
}>;

/** The check does not apply here, with the reason. */
export class Skipped extends Error {
  override readonly name = 'Skipped';
}
/** The service did something else. */
class Wrong extends Error {
  override readonly name = 'Wrong';
}

export function need(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Wrong(otherwise);
}

/** A request, except that the credential may be missing here: then the check is skipped. */
export type PossibleAsk = Omit<Ask, 'as'> & Readonly<{ as: Credential | string }>;

export class Checks {
  readonly all: Check[] = [];
  readonly #client: Client;
  readonly #describes: () => Description | null;
  readonly #told: (check: Check) => void;
  #group = '';

  constructor(client: Client, describes: () => Description | null, told: (check: Check) => void) {
    this.#client = client;
    this.#describes = describes;
    this.#told = told;
  }

  /** Runs a group; an error thrown by it is one failed check, and the next group begins. */
  async group(name: string, run: () => Promise<void>): Promise<void> {
    this.#group = name;
    try {
      await run();
    } catch (error) {
      this.#client.signal.throwIfAborted();
      this.#add({ name: 'The group could be finished', sent: '', expected: 'no error', ...verdictOf(error) }, 0);
    }
  }

  /** Sends one request and compares. @returns the answer when it was as expected, else null */
  async ask(name: string, ask: PossibleAsk, want: Want): Promise<Answer | null> {
    const { as } = ask;
    const expected = expectedWords(want);
    if (typeof as === 'string') {
      this.#add({ name, sent: `${ask.method} ${ask.path}`, expected, got: as, result: 'skipped' }, 0);
      return null;
    }
    const request: Ask = { ...ask, as };
    let answer: Answer | null = null;
    const passed = await this.claim(name, sentWords(request), expected, async () => {
      answer = await this.#client.send(request);
      const wrong = this.wrongOf(request, answer, want);
      need(wrong === '', `${gotWords(answer)}${wrong === 'status' ? '' : `; ${wrong}`}`);
      return gotWords(answer);
    });
    return passed ? answer : null;
  }

  /** A request within a claim. @throws when the answer is not as expected */
  async within(ask: PossibleAsk, want: Want): Promise<Answer> {
    const { as } = ask;
    if (typeof as === 'string') throw new Skipped(as);
    const request: Ask = { ...ask, as };
    const answer = await this.#client.send(request);
    const wrong = this.wrongOf(request, answer, want);
    need(wrong === '', `${sentWords(request)}: ${gotWords(answer)}${wrong === 'status' ? `, not ${expectedWords(want)}` : `; ${wrong}`}`);
    return answer;
  }

  /** Checks a claim stated in a sentence.  @param run returns the observation, or throws by `need`  @returns whether the claim is true */
  async claim(name: string, sent: string, expected: string, run: () => Promise<string>): Promise<boolean> {
    const startMs = performance.now();
    try {
      const got = await run();
      this.#add({ name, sent, expected, got, result: 'passed' }, performance.now() - startMs);
      return true;
    } catch (error) {
      this.#client.signal.throwIfAborted();
      this.#add({ name, sent, expected, ...verdictOf(error) }, performance.now() - startMs);
      return false;
    }
  }

  skip(name: string, why: string): void {
    this.#add({ name, sent: '', expected: '', got: why, result: 'skipped' }, 0);
  }

  /** Describes how the answer differs; '' when it does not. */
  wrongOf(ask: Ask, answer: Answer, want: Want): string {
    const { status, code, headers = {}, test } = want;
    if (![status].flat().includes(answer.status)) return 'status';
    if (code !== undefined && ![code].flat().includes(answer.code)) return 'status';
    for (const [name, pattern] of Object.entries(headers)) {
      const value = answer.headers.get(name);
      if (pattern === null ? value !== null : value === null || !pattern.test(value))
        return `${name} is ${value === null ? 'absent' : `'${value}'`}`;
    }
    const breaches = this.#describes()?.breaches(ask.method, ask.path, answer) ?? [];
    if (breaches.length > 0) return `not as described: ${breaches.join('; ')}`;
    const wrong = test?.(answer);
    return typeof wrong === 'string' ? wrong : '';
  }

  #add(check: Omit<Check, 'group' | 'ms'>, ms: number): void {
    const { name, sent, expected, got, result } = check;
    const safe = (text: string): string => this.#client.safe(text);
    const texts = { name: safe(name), sent: safe(sent), expected: safe(expected), got: safe(got) };
    const whole = { group: this.#group, ...texts, result, ms: Math.round(ms) };
    this.all.push(whole);
    this.#told(whole);
  }
}

function verdictOf(error: unknown): Readonly<{ got: string; result: Result }> {
  if (error instanceof Skipped || error instanceof BudgetSpent) return { got: error.message, result: 'skipped' };
  return { got: error instanceof Wrong ? error.message : causeOf(error), result: 'failed' };
}

function expectedWords({ status, code, headers = {}, says }: Want): string {
  const parts = [[status].flat().join(' or ')];
  if (code !== undefined) parts.push([code].flat().join(' or '));
  const named = Object.entries(headers).map(([name, pattern]) => (pattern === null ? `no ${name}` : `${name} fits ${pattern.source}`));
  return [parts.join(' '), ...named, ...(says === undefined ? [] : [says])].join('; ');
}
