/** Refuses to start, before anything is started, when this process may open too few files or the port is taken. */
import { createServer } from 'node:net';
import type { Config } from '../config.ts';
import { PipelineError } from '../errors.ts';
import { openFilesMax } from '../http/open-files.ts';

/** Open files of a service without devices (measured: 32, and 5 per worker), and a few sockets. */
const OPEN_FILES = 40;
const OPEN_FILES_PER_WORKER = 6;

/** Refuses to start with too few file descriptors; otherwise a worker thread would fail and end the process with a stack trace. */
export function refuseFewFiles({ dspWorkers, dbConnectionsMax }: Config): void {
  const limit = openFilesMax();
  const needed = OPEN_FILES + OPEN_FILES_PER_WORKER * dspWorkers + dbConnectionsMax;
  if (limit === null || limit >= needed) return;
  throw new PipelineError(
    'conflict',
    `This process may open ${limit} files, and needs ${needed} before the first device connects: raise it (ulimit -n 65536, or LimitNOFILE= of systemd).`,
  );
}

/** Refuses a port in use before anything is started. */
export async function refuseTakenPort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'another program uses it' : error.message;
      reject(new PipelineError('conflict', `Cannot listen on ${host}:${port}: ${why}. Set PORT to another one, e.g. PORT=${port + 1}.`));
    });
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
