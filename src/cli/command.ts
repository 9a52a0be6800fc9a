/** Definition of a command of the `biosignal` binary: options are declared once, for parsing, for --help and for the documents. */
import { parseArgs } from 'node:util';
import { PipelineError } from '../errors.ts';
import type { ErrorCode } from '../errors.ts';
import { refusedCharacter } from '../text.ts';
import { didYouMean } from './did-you-mean.ts';

export type OptionSpec = Readonly<{
  type: 'string' | 'boolean';
  /** Placeholder of the value in the help, e.g. `URL`. */
  value?: string;
  short?: string;
  multiple?: true;
  /** Shown in the help and used when the option is absent. */
  fallback?: string;
  /** Environment variable read when the option is absent; for secrets that should not appear in a process list. */
  env?: string;
  doc: string;
}>;

export type Console = Readonly<{
  /** One line of result. */
  out: (line: string) => void;
  /** One line of progress or an error. */
  err: (line: string) => void;
  /** Raw progress text, only on a terminal. */
  progress: ((text: string) => void) | null;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Aborted at the first Ctrl-C. */
  signal: AbortSignal;
}>;

export type Invocation = Readonly<{
  console: Console;
  options: Options;
  positionals: readonly string[];
  /** --json: results as one JSON value (or one per line where said) on standard output, nothing else there. */
  json: boolean;
}>;

export type Command = Readonly<{
  name: string;
  summary: string;
  /** e.g. `RECORD...` */
  positionals?: string;
  /** `positionals` are alternatives that begin with a verb, `create NAME | list`, and one of them must be given. */
  verbs?: true;
  /** Paragraphs between usage and options. */
  description?: string;
  options: Readonly<Record<string, OptionSpec>>;
  examples?: readonly string[];
  /** @returns exit code */
  run: (invocation: Invocation) => Promise<number>;
}>;

/** Exit codes of every command. */
export const EXIT_OK = 0;
/** The command ran and the answer is no: data differ, a check failed, something was refused. */
export const EXIT_FAILED = 1;
/** Wrong usage; nothing was done. */
export const EXIT_USAGE = 2;
/** The service or database is unavailable or busy; the same command may work later. */
export const EXIT_UNAVAILABLE = 3;
/** Ended by Ctrl-C. */
export const EXIT_INTERRUPTED = 130;

/** How long the process may take to exit after its command has ended, ms: a failed start may have left a connection open. */
export const LEFT_BEHIND_MS = 2000;

/** Wrong usage, reported at the terminal. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The options of one call, with their fallbacks, read by kind. */
export class Options {
  readonly #values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;
  readonly #specs: Readonly<Record<string, OptionSpec>>;
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(
    values: Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>,
    specs: Readonly<Record<string, OptionSpec>>,
    env: Readonly<Record<string, string | undefined>>,
  ) {
    this.#values = values;
    this.#specs = specs;
    this.#env = env;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** '' when absent and without fallback. */
  text(name: string): string {
    const value = this.#values[name];
    if (typeof value === 'string') return value;
    const spec = this.#specs[name];
    const fromEnv = spec?.env === undefined ? undefined : this.#env[spec.env];
    return fromEnv !== undefined && fromEnv !== '' ? fromEnv : (spec?.fallback ?? '');
  }

  /** @throws UsageError when it is absent */
  required(name: string): string {
    const value = this.text(name);
    if (value !== '') return value;
    const env = this.#specs[name]?.env;
    throw new UsageError(`--${name} is needed${env === undefined ? '' : ` (or ${env} in the environment)`}`);
  }

  list(name: string): string[] {
    const value = this.#values[name];
    if (Array.isArray(value)) return value.filter((item) => typeof item === 'string');
    const text = this.text(name);
    return text === '' ? [] : [text];
  }

  number(name: string, min: number, max: number): number {
    const text = this.text(name);
    const value = Number(text);
    if (text === '' || !Number.isFinite(value) || value < min || value > max) {
      throw new UsageError(`--${name} must be a number from ${min} to ${max}, not '${text}'`);
    }
    return value;
  }

  integer(name: string, min: number, max: number): number {
    const value = this.number(name, min, max);
    if (!Number.isInteger(value)) throw new UsageError(`--${name} must be an integer, not '${value}'`);
    return value;
  }

  oneOf<T extends string>(name: string, allowed: readonly T[]): T {
    const text = this.text(name);
    const found = allowed.find((item) => item === text);
    if (found === undefined) throw new UsageError(`--${name} must be one of ${allowed.join(', ')}, not '${text}'`);
    return found;
  }

  /** An ISO 8601 time with offset as Unix ns, or null when absent. */
  time(name: string): bigint | null {
    const text = this.text(name);
    if (text === '') return null;
    const ms = Date.parse(text);
    const midnight = new Date(`${text.slice(0, 10)}T00:00:00Z`); // February 30 would be March 2
    const isDay = !Number.isNaN(midnight.getTime()) && midnight.getUTCDate() === Number(text.slice(8, 10));
    if (Number.isNaN(ms) || !isDay || !/(Z|[+-]\d\d:?\d\d)$/.test(text)) {
      throw new UsageError(`--${name} must be an ISO 8601 time with offset, e.g. 2026-01-31T08:00:00Z, not '${text}'`);
    }
    // Date ends at milliseconds, recordings do not.
    const finer = /\.\d{3}(\d{1,6})/.exec(text)?.[1] ?? '';
    return BigInt(ms) * 1_000_000n + BigInt(finer.padEnd(6, '0'));
  }
}

const everywhere = {
  json: { type: 'boolean', doc: 'Print the result as JSON.' },
  help: { type: 'boolean', short: 'h', doc: 'Show this help.' },
} as const satisfies Record<string, OptionSpec>;

/** Parses and runs one command; errors become a line and an exit code. */
export async function runCommand(command: Command, args: readonly string[], console: Console): Promise<number> {
  try {
    const specs: Readonly<Record<string, OptionSpec>> = { ...command.options, ...everywhere };
    const parsed = parse(specs, args);
    if (parsed.values['help'] === true) {
      console.out(helpText(command));
      return EXIT_OK;
    }
    if (command.positionals === undefined && parsed.positionals.length > 0) {
      throw new UsageError(`unexpected '${parsed.positionals[0]}'`);
    }
    if (command.verbs === true) needVerb(command.positionals ?? '', parsed.positionals[0]);
    const options = new Options(parsed.values, specs, console.env);
    return await command.run({ console, options, positionals: parsed.positionals, json: options.flag('json') });
  } catch (error) {
    return explain(command.name, error, console);
  }
}

/** @throws UsageError that lists the verbs */
function needVerb(usage: string, given: string | undefined): void {
  const verbs = usage.split('|').map((alternative) => alternative.trim().split(' ')[0]!);
  if (given !== undefined && verbs.includes(given)) return;
  const forms = usage.split('|').map((alternative) => `  ${alternative.trim()}`);
  const problem = given === undefined ? 'say what to do' : `cannot '${given}'${didYouMean(given, verbs)}`;
  throw new UsageError([problem, ...forms].join('\n'));
}

function parse(specs: Readonly<Record<string, OptionSpec>>, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, spec]) => [
      name,
      { type: spec.type, ...(spec.short === undefined ? {} : { short: spec.short }), ...(spec.multiple ? { multiple: true } : {}) },
    ]),
  );
  const parsed = ((): ReturnType<typeof parseArgs> => {
    try {
      return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
    } catch (error) {
      const unknown = /^Unknown option '(--?[^']*)'/.exec(error instanceof Error ? error.message : '')?.[1];
      if (unknown === undefined) throw new UsageError(error instanceof Error ? error.message : String(error));
      const known = Object.keys(specs).map((name) => `--${name}`);
      throw new UsageError(`no option '${unknown}'${didYouMean(unknown, known)}`);
    }
  })();
  for (const [name, value] of Object.entries(parsed.values)) for (const text of [value].flat()) refuseCharacters(`--${name}`, text);
  for (const text of parsed.positionals) refuseCharacters('an argument', text);
  return parsed;
}

/** Bytes that are not UTF-8 become U+FFFD, so two ids would become one. */
function refuseCharacters(where: string, text: string | boolean | undefined): void {
  if (typeof text !== 'string') return;
  const refused = refusedCharacter(text, 'name') ?? (text.includes('\ufffd') ? 'U+FFFD: bytes that are not UTF-8' : null);
  if (refused !== null) throw new UsageError(`${where} holds ${refused}`);
}

function explain(name: string, error: unknown, console: Console): number {
  if (error instanceof UsageError) {
    console.err(`biosignal ${name}: ${error.message}`);
    console.err(`Try 'biosignal ${name} --help'.`);
    return EXIT_USAGE;
  }
  if (console.signal.aborted) {
    console.err(`biosignal ${name}: interrupted`);
    return EXIT_INTERRUPTED;
  }
  if (error instanceof PipelineError) {
    console.err(`biosignal ${name}: ${error.message} (${error.code})`);
    const next = nextSteps[error.code];
    if (next !== undefined) console.err(next);
    return ['busy', 'unavailable', 'shutting_down', 'rate_limited'].includes(error.code) ? EXIT_UNAVAILABLE : EXIT_FAILED;
  }
  const code = systemCode(error);
  // fetch only says that it failed; its cause says why.
  const source = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  const message = source instanceof Error ? source.message : String(source);
  const silent = code === null && lostDatabase.test(message);
  console.err(`biosignal ${name}: ${silent ? 'the database does not answer: ' : ''}${message === '' ? (code ?? 'failed') : message}`);
  if (code === null && console.env['BIO_LOG_LEVEL'] === 'debug' && error instanceof Error) console.err(error.stack ?? '');
  if (source !== error) console.err(isServiceRunning);
  return silent || (code !== null && awayCodes.has(code)) ? EXIT_UNAVAILABLE : EXIT_FAILED;
}

/** Errors of the driver itself, which have no code. */
const lostDatabase = /^(timeout expired|timeout exceeded when trying to connect|Connection terminated)/;

export const isServiceRunning = "Is the service running ('npm start'), and is this its address (--to or BIO_URL)?";

const nextSteps: Partial<Record<ErrorCode, string>> = {
  credential_invalid: "Check --key or BIO_KEY. 'biosignal key list' shows the keys in this database, 'biosignal key create' creates one.",
  credential_missing: 'Give a key with --key or BIO_KEY.',
  scope_missing:
    "Use a key with this scope: 'biosignal key list' shows which keys have it, 'biosignal key create NAME --scopes ...' creates one.",
};

const awayCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'EAI_AGAIN', 'UND_ERR_SOCKET', '57P03', '53300']);

/** The system's or server's code of an error or of its cause, e.g. ECONNREFUSED. */
export function systemCode(error: unknown): string | null {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return null;
}

/** The text of --help. */
export function helpText(command: Command): string {
  const usage = `Usage: biosignal ${command.name} [options]${command.positionals === undefined ? '' : ` ${command.positionals}`}`;
  const lines = [command.summary, '', usage];
  if (command.description !== undefined) lines.push('', command.description);
  lines.push('', 'Options:');
  const rows = Object.entries({ ...command.options, ...everywhere }).map(([name, spec]: [string, OptionSpec]) => {
    const short = spec.short === undefined ? '    ' : `-${spec.short}, `;
    const value = spec.type === 'boolean' ? '' : ` ${spec.value ?? 'TEXT'}`;
    const notes = [spec.fallback === undefined ? '' : `default ${spec.fallback}`, spec.env === undefined ? '' : `or ${spec.env}`];
    const note = notes.filter((part) => part !== '').join(', ');
    return [`  ${short}--${name}${value}`, `${spec.doc}${note === '' ? '' : ` [${note}]`}`] as const;
  });
  const width = Math.min(34, Math.max(...rows.map(([left]) => left.length)) + 2);
  for (const [left, right] of rows) {
    const [first = '', ...rest] = wrap(right, 110 - width);
    lines.push(left.length < width ? `${left.padEnd(width)}${first}` : `${left}\n${' '.repeat(width)}${first}`);
    for (const line of rest) lines.push(`${' '.repeat(width)}${line}`);
  }
  if (command.examples !== undefined) lines.push('', 'Examples:', ...command.examples.map((example) => `  ${example}`));
  return lines.join('\n');
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
