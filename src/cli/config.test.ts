import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { settings } from '../config.ts';
import { runCommand } from './command.ts';
import { config, envExample } from './config.ts';

// promise: settings-listed, config-check
test('.env.example is what the settings say', () => {
  const file = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  expect(file, "run 'scripts/biosignal.sh config env-example > .env.example'").toBe(`${envExample()}\n`);
});

// promise: settings-listed, config-check
test('config print says every setting with the value in effect, and no secret', async () => {
  const lines: string[] = [];
  const out = (line: string): void => void lines.push(line);
  const env = {
    PORT: '8123',
    BIO_METRICS_TOKEN: 'for-prometheus',
    DATABASE_URL: 'postgres://bio:word@db.example/bio',
    BIO_SMTP_URL: 'smtps://bio:word@mail.example',
  };
  const signal = new AbortController().signal;
  expect(await runCommand(config, ['print'], { out, err: out, progress: null, env, cwd: '.', signal })).toBe(0);
  expect(lines.map((line) => line.split('=')[0])).toEqual(Object.values(settings).map((row) => row.env));
  expect(lines).toContain('PORT=8123  # from the environment');
  expect(lines).toContain(`BIO_FRAME_DEADLINE_MS=${settings.frameDeadlineMs.fallback}`);
  expect(lines.join('\n')).not.toMatch(/for-prometheus|word/);
});

test.each([
  [{ BIO_SMTP_URL: 'smtp://mail.example' }, 'BIO_MAIL_FROM must be set with BIO_SMTP_URL'],
  [{ BIO_HOST: '0.0.0.0' }, 'BIO_SECRET'],
])('config check refuses %j, with which the service does not start', async (env, why) => {
  const lines: string[] = [];
  const out = (line: string): void => void lines.push(line);
  const signal = new AbortController().signal;
  expect(await runCommand(config, ['check'], { out, err: out, progress: null, env, cwd: '.', signal })).not.toBe(0);
  expect(lines.join('\n')).toContain(why);
});
