/** Rules for every Caddyfile of ops/caddy. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../ops/caddy');

test.each(readdirSync(folder))('%s changes nothing of its machine', (name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  // Without them Caddy can be told anything by its port, takes port 80, and becomes an authority of the machine.
  for (const line of ['admin off', 'auto_https disable_redirects', 'skip_install_trust'])
    expect(text).toMatch(new RegExp(`^\\t${line}$`, 'm'));
});
