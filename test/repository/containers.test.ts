/** Checks of containers leave none behind when they are ended. A program that only says how it was called stands in for podman. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';

const root = join(import.meta.dirname, '../..');

it.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('a check of containers that %s ends removes them, and what they are on', async (signal, code) => {
  const folder = mkdtempSync(join(tmpdir(), 'biosignal-containers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const log = join(folder, 'log');
  writeFileSync(join(folder, 'podman'), `#!/bin/sh\necho "$*" >> '${log}'\ncase "$1" in exec) exec sleep 60;; esac\n`);
  chmodSync(join(folder, 'podman'), 0o755);
  const check = join(folder, 'check.mts');
  writeFileSync(
    check,
    `import { Deployment } from '${root}/scripts/containers/deployment.ts';
     import { openEngine } from '${root}/scripts/containers/engine.ts';
     const all = new Deployment(openEngine('${folder}'), '${root}', 'compose.cluster.yaml', 'check');
     await all.check('start', async () => { for (const service of all.compose.services) await all.start(service); return ''; });`,
  );
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', check], {
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    stdio: 'inherit',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise((done) => child.once('exit', done));
  const calls = (): readonly string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  await vi.waitFor(() => expect(calls().at(-1)).toMatch(/^exec check-database /), 30_000);
  const before = calls().length;
  child.kill(signal);
  expect(await ended).toBe(code);
  const after = calls().slice(before);
  for (const name of ['proxy', 'node-1', 'node-2', 'node-3', 'partitions', 'migrate', 'nats', 'standby', 'database'])
    expect(after).toContain(`rm --force --time 15 --ignore check-${name}`);
  expect(after.filter((call) => call.startsWith('network rm'))).toHaveLength(2);
  expect(after.filter((call) => call.startsWith('volume rm'))).toHaveLength(3);
  expect(after.every((call) => /^(rm|network rm|volume rm) /.test(call))).toBe(true);
});
