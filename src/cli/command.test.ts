import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { expect, test } from 'vitest';
import { PipelineError } from '../errors.ts';
import { EXIT_OK, EXIT_UNAVAILABLE, EXIT_USAGE, runCommand } from './command.ts';
import type { Command } from './command.ts';

const command: Command = {
  name: 'greet',
  summary: 'Greets.',
  positionals: 'NAME',
  options: { subject: { type: 'string', doc: 'Whom.' }, tag: { type: 'string', multiple: true, doc: 'Which.' } },
  run: async () => EXIT_OK,
};

const greet = (...args: string[]): ReturnType<typeof greetBy> => greetBy(command, ...args);

async function greetBy(by: Command, ...args: string[]): Promise<{ code: number; said: string }> {
  const lines: string[] = [];
  const say = (line: string): void => void lines.push(line);
  const signal = new AbortController().signal;
  return {
    code: await runCommand(by, args, { out: say, err: say, progress: null, env: {}, cwd: '.', signal }),
    said: lines.join('\n'),
  };
}

// promise: exit-codes
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

test('an option or a verb that there is not is answered with what may have been meant', async () => {
  expect(await greet('--sujbect', 'x')).toMatchObject({
    code: EXIT_USAGE,
    said: expect.stringContaining("no option '--sujbect': did you mean '--subject'?"),
  });
  expect((await greet('--colour')).said).toContain("no option '--colour'\n");
  const verbs: Command = { ...command, positionals: 'create NAME | list', verbs: true };
  expect(await greetBy(verbs)).toMatchObject({
    code: EXIT_USAGE,
    said: expect.stringContaining('say what to do\n  create NAME\n  list\n'),
  });
  expect((await greetBy(verbs, 'lsit')).said).toContain("cannot 'lsit': did you mean 'list'?");
  expect((await greetBy(verbs, 'list')).code).toBe(EXIT_OK);
});

test('a refused credential comes with the next step', async () => {
  const refused: Command = { ...command, run: () => Promise.reject(new PipelineError('credential_invalid', 'The key is unknown.')) };
  expect((await greetBy(refused)).said).toMatch(/The key is unknown\. \(credential_invalid\)\n.*'biosignal key list'/);
});

test('other languages are not', async () => {
  expect(await greet('--subject', 'Zoë 心電図 🫀')).toEqual({ code: EXIT_OK, said: '' });
});

test.each(['2024-02-31T00:00:00Z', '2023-02-29T12:00:00+02:00', '2024-04-31T00:00:00Z'])(
  '%s is no day, and not another one',
  async (text) => {
    const at: Command = {
      ...command,
      options: { since: { type: 'string', doc: 'From when.' } },
      run: async ({ options }) => {
        options.time('since');
        return EXIT_OK;
      },
    };
    expect(await greetBy(at, '--since', text)).toMatchObject({ code: EXIT_USAGE, said: expect.stringContaining(text) as string });
    expect(await greetBy(at, '--since', '2024-02-29T00:00:00Z')).toMatchObject({ code: EXIT_OK });
  },
);

// promise: exit-codes
test('a database that accepts a connection and says nothing is unavailable, and the message names it', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const connectionString = `postgres://bio:x@127.0.0.1:${port}/biosignal`;
  const connect = async (): Promise<number> => {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 50 });
    client.on('error', () => undefined);
    await client.connect();
    return EXIT_OK;
  };
  expect(await greetBy({ ...command, run: connect }, 'ann')).toEqual({
    code: EXIT_UNAVAILABLE,
    said: 'biosignal greet: the database does not answer: timeout expired',
  });
  silent.close();
});
