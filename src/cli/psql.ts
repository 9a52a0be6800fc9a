/** `biosignal psql`: PostgreSQL's terminal on the database of the service, without looking for its port and password. */
import { spawn } from 'node:child_process';
import pg from 'pg';
import { readConfig } from '../config.ts';
import { PipelineError } from '../errors.ts';
import type { Command } from './command.ts';
import { EXIT_OK } from './command.ts';
import { hasDatabase, locateDatabase, noDatabase, runningEmbedded } from './open-database.ts';
import type { DatabaseAddress } from './open-database.ts';

/** A session can switch it off: it guards against slips, not against intent. */
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

/** Parses an address as the service does: with defaults, and the folder of a Unix socket. */
export function connectionOf(url: string): Connection {
  const { host, port, user = '', database = '' } = new pg.Client({ connectionString: url });
  return { host, port, user, database };
}

/** A command line for a shell. The password is read from where it is stored, e.g. DATABASE_URL. */
function lineOf({ url, passwordFile }: Pick<DatabaseAddress, 'url' | 'passwordFile'>, settings: string): string {
  const set = settings === '' ? '' : `PGOPTIONS=${quoted(settings)} `;
  if (passwordFile === null) return `${set}psql "$DATABASE_URL"`;
  const { host, port, user, database } = connectionOf(url);
  return `${set}PGPASSWORD=$(cat ${quoted(passwordFile)}) psql -h ${host} -p ${port} -U ${user} ${database}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Runs psql. The password goes through the environment, because a process list shows arguments to every user. */
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

/** Ctrl-C cancels a query in psql, which has the terminal; here it must not end anything.  @returns a function that undoes this */
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
