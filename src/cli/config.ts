/** `biosignal config`: prints the settings in effect, or a commented file to start from. */
import { needMailFrom, needSecret, readConfig, settings } from '../config.ts';
import type { Command } from './command.ts';
import { EXIT_OK, UsageError } from './command.ts';
import { withoutPassword } from '../storage/database/database.ts';

export const config: Command = {
  name: 'config',
  summary: 'Check or print the settings.',
  positionals: 'check|print|env-example',
  description: `check         reads the environment and says what is wrong with it (exit code 1)
print         every setting with its value and where it comes from; secrets are not shown
env-example   a commented .env file with every setting and its default`,
  options: {},
  examples: ['biosignal config check', 'biosignal config env-example > .env'],
  run: async ({ console, positionals, json }) => {
    switch (positionals[0]) {
      case 'check':
        checkSettings(console.env);
        for (const name of unknownNames(console.env)) console.err(`biosignal config: ${name} is not a setting`);
        if (json) console.out(JSON.stringify({ ok: true, unknown: unknownNames(console.env) }));
        else console.out('settings are valid');
        return EXIT_OK;
      case 'print': {
        const values: Readonly<Record<string, unknown>> = readConfig(console.env);
        const rows = Object.entries(settings).map(([name, row]) => {
          const given = (console.env[row.env] ?? '') !== '';
          return { env: row.env, value: shown(row.env, values[name]), from: given ? 'environment' : 'default', doc: row.doc };
        });
        if (json) console.out(JSON.stringify(rows, null, 2));
        else for (const row of rows) console.out(`${row.env}=${row.value}${row.from === 'default' ? '' : '  # from the environment'}`);
        return EXIT_OK;
      }
      case 'env-example':
        console.out(envExample());
        return EXIT_OK;
      default:
        throw new UsageError(`say check, print or env-example`);
    }
  },
};

/** @throws PipelineError validation_failed on a setting, or settings together, with which the service would not start */
function checkSettings(env: Readonly<Record<string, string | undefined>>): void {
  const read = readConfig(env);
  needSecret(read);
  needMailFrom(read);
}

/** The text of .env.example: every setting commented out at its default. A test holds the file in the repository to it. */
export function envExample(): string {
  const lines = [
    '# Settings of biosignal. Copy to .env and uncomment the ones you change; the command line and npm start read it.',
    "# Written by 'biosignal config env-example'.",
  ];
  for (const row of Object.values(settings)) lines.push('', `# ${row.doc}`, `#${row.env}=${plain(row.fallback)}`);
  return lines.join('\n');
}

function plain(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'boolean') return value ? '1' : '0';
  return String(value);
}

function shown(env: string, value: unknown): string {
  const text = plain(value);
  if (/TOKEN|SECRET|PASSWORD/.test(env)) return text === '' ? '' : '(set)';
  return env === 'DATABASE_URL' || env === 'BIO_SMTP_URL' ? withoutPassword(text) : text;
}

/** Variables that look like ours but are not: a misspelt limit would be ignored silently. */
function unknownNames(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>(Object.values(settings).map((row) => row.env));
  for (const name of ['BIO_URL', 'BIO_KEY', 'BIO_OPERATOR_PASSWORD']) known.add(name);
  return Object.keys(env).filter((name) => name.startsWith('BIO_') && !name.startsWith('BIO_TEST_') && !known.has(name));
}
