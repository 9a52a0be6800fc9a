import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { envExample } from './config.ts';

// promise: settings-listed
test('.env.example is what the settings say', () => {
  const file = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  expect(file, "run 'scripts/biosignal.sh config env-example > .env.example'").toBe(`${envExample()}\n`);
});
