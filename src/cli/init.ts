/** `biosignal init`: prepares a new service: settings, schema, organization, keys, first operator. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createOrganization } from '../auth/organizations.ts';
import { linkBase, readConfig } from '../config.ts';
import type { Config } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { upgrade } from '../storage/upgrade.ts';
import type { Command, Console } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';
import { envExample } from './config.ts';
import { locateDatabase, withDatabase } from './open-database.ts';
import { addOperator } from './operators.ts';
import { auditOrganization } from './organizations.ts';
import { listNamed } from './table.ts';

export const init: Command = {
  name: 'init',
  summary: 'Set up a service: settings file, database schema, first organization with keys, first operator.',
  positionals: 'ORGANIZATION',
  description: `Writes FILE (mode 0600, never overwritten) with a new BIO_SECRET and every other setting commented out, migrates the database to the schema
of this release, creates the organization with a project and a first key with every scope, and, with --operator, an account for the
dashboard. Secrets are printed once. Running it again changes nothing and lists what exists. 'biosignal' and 'npm start' read the file
.env of the folder in which they are run.`,
  options: {
    project: { type: 'string', value: 'NAME', doc: 'Name of the first project. Default: the name of the organization.' },
    operator: {
      type: 'string',
      value: 'EMAIL',
      doc: 'Create an owner account for the dashboard. See BIO_OPERATOR_PASSWORD in operator --help.',
    },
    database: { type: 'string', value: 'URL', env: 'DATABASE_URL', doc: 'PostgreSQL or TimescaleDB. Default: the embedded database.' },
    file: { type: 'string', value: 'FILE', fallback: '.env', doc: 'Settings file to write.' },
  },
  examples: [
    'biosignal init "Sleep Lab" --operator ada@clinic.example',
    'biosignal init "Sleep Lab" --database postgres://bio@db/biosignal',
  ],
  run: async ({ console, options, positionals, json }) => {
    const [name = ''] = positionals;
    if (name.trim() === '' || positionals.length > 1) throw new UsageError('name the organization (in quotes if it contains spaces)');
    const url = options.text('database');
    const here: Console = url === '' ? console : { ...console, env: { ...console.env, DATABASE_URL: url } };
    const file = resolve(console.cwd, options.text('file'));
    const result: Record<string, string> = {};
    const address = await locateDatabase(here);
    try {
      const { version, kind } = await upgrade(address.url, { plain: readConfig(here.env).plainPostgres, onProgress: console.err });
      result['database'] = `${kind}, schema ${version} (${address.where})`;
    } finally {
      await address.stop();
    }
    await withDatabase(here, async ({ pool }) => {
      const { rows } = await pool.query<{ id: string; name: string }>('select id, name from organization order by created_at');
      // All nodes of a database share a secret, so only a new database gets one here.
      const wrote = await writeSettings(file, url, rows.length === 0);
      result['settings'] = wrote ? file : `${file} (already exists, unchanged)`;
      if (rows.length > 0) {
        result['organization'] = `${listNamed(rows)} (already exists; 'biosignal key create' makes keys)`;
        return;
      }
      const email = options.text('operator');
      if (email !== '' && !/^[^\s@]+@[^\s@]+$/.test(email)) throw new UsageError(`--operator must be an e-mail address, not '${email}'`);
      const project = options.text('project');
      const made = await createOrganization(pool, name, {
        ...(project === '' ? {} : { projectName: project }),
        onMade: (client, its) => auditOrganization(client, console, its),
      });
      Object.assign(result, { organization: name, org_id: made.orgId, project_id: made.projectId });
      Object.assign(result, { project_key: made.projectKey, sdk_key: made.sdkKey, api_key: made.apiKey.key });
      if (email === '') return;
      const account = await addOperator(pool, made.orgId, { email, name: '', role: 'owner' }, console);
      result['operator'] = email;
      if (account['password'] !== undefined) result['password'] = account['password'];
    });
    if (json) console.out(JSON.stringify(result, null, 2));
    else {
      for (const [key, value] of Object.entries(result)) console.out(`${key}: ${value}`);
      console.out(`next: biosignal start, then open ${addressOf(readConfig(here.env))}/dashboard`);
    }
    return EXIT_OK;
  },
};

/** Where a browser finds the service: on this machine, if no other address is known. */
function addressOf({ publicUrl, tlsCert, host, port }: Config): string {
  if (publicUrl !== '') return linkBase(publicUrl);
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `${tlsCert === '' ? 'http' : 'https'}://${name}:${port}`;
}

/** @returns false when the file already exists */
async function writeSettings(file: string, databaseUrl: string, withSecret: boolean): Promise<boolean> {
  if (existsSync(file)) return false;
  let text = envExample();
  if (databaseUrl !== '') text = text.replace(/^#DATABASE_URL=.*$/m, () => `DATABASE_URL=${databaseUrl}`);
  if (withSecret) text = text.replace(/^#BIO_SECRET=.*$/m, () => `BIO_SECRET=${randomBytes(32).toString('base64url')}`);
  await writeFile(file, `${text}\n`, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    throw new PipelineError('internal', `cannot write ${file}`, { cause: error });
  });
  return true;
}
