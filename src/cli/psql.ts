/** `biosignal psql`: PostgreSQL's terminal on the database of the service, without looking for its port and password. */
import { spawn } from 'node:child_process';
import pg from 'pg';
import { readConfig } from '../config.ts';
import { PipelineError } from '../errors.ts';
import type { Command } from './command.ts';
import { EXIT_OK } from './command.ts';
import { hasDatabase, locateDatabase, noDatabase, runningEmbedded } from './open-database.ts';
import type { DatabaseAddress } from './open-database.ts';

/** A session may switch it off again: it is a guard against slips, not against people. */
const READ_ONLY = '-c default_transaction_read_only=on';

export const psql: Command = {
  name: 'psql',
  summary: "Open a read-only psql on the service's database.",
  positionals: '[-- ARGUMENT...]',
  description: `Starts psql (from PostgreSQL's client package) with the address in DATABASE_URL or that of the embedded database, which is started for the
duration of the command if it is not running. Arguments after -- are passed to psql. The session is read-only unless --write is given;
anyone who has the password can change that, so give people whom you do not trust with the data a login of their own.`,
  options: {
    print: { type: 'boolean', doc: 'Print the command line instead, without the password.' },
    write: { type: 'boolean', doc: 'Allow changes.' },
  },
  examples: ['biosignal psql', "biosignal psql -- -c 'select count(*) from stream'", 'biosignal psql < question.sql'],
  run: async ({ console, options, positionals, json }) => {
    const config = readConfig(console.env);
    if (!hasDatabase(config)) throw noDatabase(config);
    const settings = options.flag('write') ? '' : READ_ONLY;
    if (options.flag('print')) {
      const running = config.databaseUrl === '' ? runningEmbedded(config) : { url: config.databaseUrl, passwordFile: null };
      if (running === null) throw new PipelineError('unavailable', "the embedded database is not running: start the service ('npm start')");
      const { host, port, user, database } = connectionOf(running.url);
      console.out(
        json
          ? JSON.stringify({ host, port, user, database, password_file: running.passwordFile, options: settings }, null, 2)
          : lineOf(running, settings),
      );
      return EXIT_OK;
    }
    const address = await locateDatabase(console, config);
    try {
      return await run(address, settings, positionals, console.env);
    } finally {
      await address.stop();
    }
  },
};

type Connection = Readonly<{ host: string; port: number; user: string; database: string }>;

/** What an address says, as the service reads it: with the defaults, and of a Unix socket its folder. */
export function connectionOf(url: string): Connection {
  const { host, port, user = '', database = '' } = new pg.Client({ connectionString: url });
  return { host, port, user, database };
}

/** A line for a shell. The password is read from where it is kept: of DATABASE_URL, from there. */
function lineOf({ url, passwordFile }: Pick<DatabaseAddress, 'url' | 'passwordFile'>, settings: string): string {
  const set = settings === '' ? '' : `PGOPTIONS=${quoted(settings)} `;
  if (passwordFile === null) return `${set}psql "$DATABASE_URL"`;
  const { host, port, user, database } = connectionOf(url);
  return `${set}PGPASSWORD=$(cat ${quoted(passwordFile)}) psql -h ${host} -p ${port} -U ${user} ${database}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The password goes by the environment: a process list shows arguments to everybody. */
async function run(
  { url }: DatabaseAddress,
  settings: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { password } = new pg.Client({ connectionString: url });
  const PGOPTIONS = [env['PGOPTIONS'], settings].filter((part) => part !== undefined && part !== '').join(' ');
  const child = spawn('psql', ['-d', url.replace(/^(\w+:\/\/[^:@/]*):[^@]*@/, '$1@'), ...args], {
    stdio: 'inherit',
    env: { ...env, PGOPTIONS, ...(typeof password === 'string' && password !== '' ? { PGPASSWORD: password } : {}) },
  });
  const release = leaveInterrupts();
  try {
    return await new Promise<number>((resolve, reject) => {
      child.on('error', (error: NodeJS.ErrnoException) =>
        reject(
          error.code === 'ENOENT'
            ? new PipelineError('not_found', "psql was not found: install PostgreSQL's client (Debian: apt install postgresql-client)")
            : error,
        ),
      );
      child.on('close', (code) => resolve(code ?? 1));
    });
  } finally {
    release();
  }
}

/** Ctrl-C cancels a query in psql, which has the terminal; here it must not end anything. @returns what takes it back */
function leaveInterrupts(): () => void {
  const listeners = process.listeners('SIGINT');
  process.removeAllListeners('SIGINT');
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  return () => {
    process.removeListener('SIGINT', ignore);
    for (const listener of listeners) process.on('SIGINT', listener);
  };
}
