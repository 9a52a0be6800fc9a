/** A real reverse proxy before the service: Caddy or nginx as Debian packages them, on loopback, with its connections to the service
 *  kept. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../faults/lib/free-port.ts';
import { until } from './database.ts';

export type Proxy = Readonly<{ baseUrl: string; stop: () => Promise<void> }>;
export type ProxyKind = keyof typeof programs;

const programs = {
  caddy: {
    path: '/usr/bin/caddy',
    args: (folder: string) => ['run', '--adapter', 'caddyfile', '--config', join(folder, 'config')],
    config: (port: number, servicePort: number) => `{
  admin off
  auto_https off
}
http://127.0.0.1:${port} {
  reverse_proxy 127.0.0.1:${servicePort} {
    flush_interval -1
  }
}
`,
  },
  nginx: {
    path: '/usr/sbin/nginx',
    args: (folder: string) => ['-p', folder, '-e', 'stderr', '-c', join(folder, 'config')],
    // One kept connection, so that each request follows the one before on it; nothing is tried twice, so that a lost one is seen.
    config: (port: number, servicePort: number, folder: string) => `daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
pid ${folder}/pid;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream service {
    server 127.0.0.1:${servicePort} max_fails=0;
    keepalive 1;
  }
  map $http_upgrade $connection_upgrade {
    default upgrade;
    '' '';
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_next_upstream off;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
  }
}
`,
  },
} as const;

/** Is the proxy installed? Says so when it is not: the tests that need it are then skipped. */
export function hasProxy(kind: ProxyKind): boolean {
  const found = existsSync(programs[kind].path);
  if (!found) console.warn(`SKIPPED: ${programs[kind].path} is not installed (Debian package ${kind})`);
  return found;
}

/** Starts a proxy before a service. @throws Error with what it wrote when it does not listen within half a minute */
export async function startProxy(
  kind: ProxyKind,
  servicePort: number,
  configOf: (port: number, servicePort: number, folder: string) => string = programs[kind].config,
): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), `biosignal-${kind}-`));
  const port = await freePort();
  const program = programs[kind];
  writeFileSync(join(folder, 'config'), configOf(port, servicePort, folder));
  const child = spawn(program.path, program.args(folder), {
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said = `${said}${chunk.toString()}`.slice(-10_000)));
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await until(() => child.exitCode !== null || accepts(port), 30_000);
    if (child.exitCode !== null) throw new Error('it ended');
  } catch (error) {
    await stop();
    throw new Error(`${kind} does not listen: ${said}`, { cause: error });
  }
  return { baseUrl: `http://127.0.0.1:${port}`, stop };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => done(true)).once('error', () => done(false));
  });
}
