/** Commands of `biosignal`, run in the process of the test with a console that collects what they write. */
import { runCommand } from '../../src/cli/command.ts';
import type { Command, Console } from '../../src/cli/command.ts';

/** Lines of result, and lines of progress and errors. */
export type Ran = Readonly<{ code: number; out: readonly string[]; err: readonly string[] }>;
export type Surroundings = Pick<Console, 'env' | 'cwd'> & Partial<Pick<Console, 'signal'>>;

export async function ran(command: Command, args: readonly string[], surroundings: Surroundings): Promise<Ran> {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await runCommand(command, args, {
    signal: new AbortController().signal,
    ...surroundings,
    progress: null,
    out: (line) => void out.push(line),
    err: (line) => void err.push(line),
  });
  return { code, out, err };
}
