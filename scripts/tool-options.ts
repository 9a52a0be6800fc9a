/** Options of the tools of proof: one that is mistaken must end them, because a tool that does nothing finds nothing. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';

/** parseArgs for a tool. `--help` prints the comment at the head of the tool and ends with 0; an unknown option ends it with 2 and a list
 *  of those there are. */
export function toolOptions<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes('--help')) {
    console.log(headOf(process.argv[1] ?? ''));
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    const names = Object.keys(config.options ?? {}).map((name) => `--${name}`);
    return mistaken(`${(error as Error).message.split('. ')[0]}; there are ${[...names, '--help'].join(', ')}`);
  }
}

/** The text of the first comment of a file. */
function headOf(file: string): string {
  const comment = /\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  return comment.replaceAll(/\n \* ? ?/g, '\n').trim();
}

/** @param whole from 1 on, up to `max`; else any number, 0 or more. Ends the process with 2 and a sentence when the text is no such
 *  number. */
export function numberOption(name: string, text: string, { whole = false, max = Infinity } = {}): number {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  const isGood = whole ? Number.isInteger(number) && number >= 1 && number <= max : number >= 0 && Number.isFinite(number);
  if (isGood) return number;
  const kind = !whole ? 'a number, 0 or more' : `a whole number from 1 ${max === Infinity ? 'on' : `to ${max}`}`;
  return mistaken(`--${name} is ${kind}, not "${text}"`);
}

/** Ends the process with 2. */
export function mistaken(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}
