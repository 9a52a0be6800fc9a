import { expect, test } from 'vitest';
import { EXIT_OK, EXIT_USAGE, runCommand } from './command.ts';
import type { Command } from './command.ts';

const command: Command = {
  name: 'greet',
  summary: 'Greets.',
  positionals: 'NAME',
  options: { subject: { type: 'string', doc: 'Whom.' }, tag: { type: 'string', multiple: true, doc: 'Which.' } },
  run: async () => EXIT_OK,
};

async function greet(...args: string[]): Promise<{ code: number; said: string }> {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const signal = new AbortController().signal;
  return {
    code: await runCommand(command, args, { out: say, err: say, progress: null, env: {}, cwd: '.', signal }),
    said: lines.join('\n'),
  };
}

test.each([
  [['--subject', 'a\nb'], '--subject holds U+000A'],
  [['--subject=\u001b[2J'], '--subject holds U+001B'],
  [['--tag', 'one', '--tag', 'tw\u0007o'], '--tag holds U+0007'],
  [['pat\tient'], 'an argument holds U+0009'],
  [['patient-\ufffd'], 'an argument holds U+FFFD: bytes that are not UTF-8'],
])('%j is wrong usage', async (args, why) => {
  const { code, said } = await greet(...args);
  expect(code).toBe(EXIT_USAGE);
  expect(said).toContain(`biosignal greet: ${why}`);
});

test('other languages are not', async () => {
  expect(await greet('--subject', 'Zoë 心電図 🫀')).toEqual({ code: EXIT_OK, said: '' });
});
