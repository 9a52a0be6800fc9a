/** `npm start` as a person meets it: what it prints, a second start, a taken port, Ctrl-C, and that nothing is left running. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../faults/lib/free-port.ts';
import { readConfig } from '../../src/config.ts';
import { until } from '../helpers/database.ts';

const root = resolve(import.meta.dirname, '../..');
const dataDir = mkdtempSync(join(tmpdir(), 'biosignal-start-'));
const running = new Set<ChildProcess>();

type Run = { child: ChildProcess; output: () => string; exited: Promise<number | null> };

function start(port: number): Run {
  const child = spawn(process.execPath, ['scripts/start.ts'], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: String(port), BIO_DATA_DIR: dataDir },
    detached: true, // a group of its own, so that Ctrl-C can be played: a signal to the whole group
  });
  running.add(child);
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const exited = new Promise<number | null>((done) => {
    child.on('exit', (code) => {
      running.delete(child);
      done(code);
    });
  });
  return { child, output: () => text, exited };
}

async function ready(run: Run): Promise<void> {
  await until(() => {
    if (run.child.exitCode !== null) throw new Error(`it stopped: ${run.output()}`);
    return run.output().includes('Ctrl-C stops everything');
  }, 100_000);
}

/** What is printed from the first line that says it is ready, without what differs from start to start. */
function linesFrom(text: string, port: number): string[] {
  const lines = text.slice(text.indexOf('biosignal is ready')).split('\n');
  return lines
    .map((line) =>
      line
        .trim()
        .replaceAll(String(port), 'PORT')
        .replace(/\(\d[\d.]* s\)|(?<=#demo=|org_live_)\S+/, '...'),
    )
    .filter((line) => line !== '');
}

/** Command lines of processes that work in our data folder. */
function leftovers(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return line.includes(dataDir) ? [line] : [];
      } catch {
        return []; // gone between the two reads
      }
    });
}

afterEach(() => {
  for (const child of running) process.kill(-(child.pid ?? 0), 'SIGKILL');
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

describe('npm start', () => {
  // promise: open-files
  it('explains in a sentence when biosignal start may open too few files', async () => {
    const child = spawn('sh', ['-c', 'ulimit -n 40; exec "$0" src/cli/main.ts start', process.execPath], {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: String(await freePort()), BIO_DATA_DIR: dataDir },
    });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    expect(await new Promise((done) => child.on('close', done)), text).toBe(1);
    const { dspWorkers, dbConnectionsMax } = readConfig({});
    expect(text).toContain(`may open 40 files, and needs ${40 + 6 * dspWorkers + dbConnectionsMax} before`);
    expect(text).not.toContain('    at '); // a sentence, no stack
  });

  // promise: npm-start, ctrl-c, demo-fragment
  // setting: PORT, BIO_DATA_DIR, BIO_DEMO
  // job: demo-device
  it('shows a page and the first key once, streams, says when its port is taken, and leaves nothing behind', async () => {
    const port = await freePort();
    const first = start(port);
    await ready(first);
    const key = /org_live_[0-9A-Za-z]+/.exec(first.output())?.[0] ?? '';
    const page = /http:\S+#demo=(\S+)/.exec(first.output());
    expect(key).not.toBe('');
    expect(page).not.toBeNull();
    const base = `http://127.0.0.1:${port}`;
    // The guide shows what is printed.
    const guide = readFileSync(join(root, 'docs/getting-started.md'), 'utf8');
    expect(linesFrom(first.output(), port)).toEqual(linesFrom(/```text\n(.*?)```/s.exec(guide)![1]!, 8080));

    expect((await fetch(`${base}/dashboard/live`)).status).toBe(200);
    expect((await fetch(base)).url).toBe(`${base}/dashboard/`);
    const session = await fetch(`${base}/demo/session`, { method: 'POST', headers: { authorization: `Bearer ${page?.[1]}` } });
    const { xuser_id: subjectId } = (await session.json()) as { xuser_id: string };
    expect((await fetch(`${base}/demo/session`, { method: 'POST' })).status).toBe(401);
    const authorization = `Bearer ${key}`;
    // An operator who revokes every SDK key does not break the page: its next session comes with a new one.
    const [project] = (await (await fetch(`${base}/api/v1/projects`, { headers: { authorization } })).json()) as { id: string }[];
    const sdkKeys = `${base}/api/v1/projects/${project?.id}/sdk-keys`;
    for (const { id } of (await (await fetch(sdkKeys, { headers: { authorization } })).json()) as { id: string }[])
      expect((await fetch(`${sdkKeys}/${id}`, { method: 'DELETE', headers: { authorization } })).status).toBe(200);
    const renewed = await fetch(`${base}/demo/session`, { method: 'POST', headers: { authorization: `Bearer ${page?.[1]}` } });
    const { xuser_token: token, sdk_key: sdkKey } = (await renewed.json()) as { xuser_token: string; sdk_key: string };
    const asPage = { authorization: `Bearer ${token}`, 'sdk-key': sdkKey };
    expect((await fetch(`${base}/api/v1/bootstrap`, { headers: asPage })).status).toBe(200);
    type Series = { name: string; values: number[]; qmask: number[] };
    await until(async () => {
      const streams = (await (await fetch(`${base}/api/v1/streams?subject_id=${subjectId}`, { headers: { authorization } })).json()) as {
        id: string;
      }[];
      if (streams.length === 0) return false;
      const answer = await fetch(`${base}/api/v1/streams/${streams[0]!.id}/features`, { headers: { authorization } });
      const series = (await answer.json()) as Series[];
      const rate = series.find(({ name, values }) => name === 'hr_ecg' && values.length > 3);
      return rate !== undefined && rate.values.every((bpm) => bpm > 50 && bpm < 80);
    }, 60_000);

    // The first socket of a page; the library has nothing to say about it on the terminal.
    const bearer = `bio.bearer.${Buffer.from(token).toString('base64url')}`;
    const socket = new WebSocket(`${base.replace('http', 'ws')}/ws?subject=${subjectId}`, ['bio.v1', bearer]);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', () => reject(new Error('the socket did not open')));
    });
    socket.close();
    expect(first.output()).not.toContain('Warning');

    const second = start(port);
    expect(await second.exited).toBe(1);
    expect(second.output()).toContain('PORT');
    expect(second.output()).not.toContain('    at '); // a sentence, no stack

    const stoppedMs = performance.now();
    process.kill(-(first.child.pid ?? 0), 'SIGINT');
    expect(await first.exited).toBe(0);
    expect(first.output().split('stopping ...')[1]?.trim(), 'nothing more is said').toBe('');
    expect(performance.now() - stoppedMs).toBeLessThan(8000);
    await until(() => leftovers().length === 0, 5000);

    const again = start(port);
    const againMs = performance.now();
    await ready(again);
    expect(performance.now() - againMs).toBeLessThan(30_000);
    expect(again.output()).not.toContain('org_live_');
    // Killed without a word, it still takes its database along.
    process.kill(again.child.pid ?? 0, 'SIGKILL');
    await again.exited;
    await until(() => leftovers().length === 0, 10_000);
  });
});
