/** `biosignal start`: the service in the foreground, as systemd or a container runs it. `npm start` is the demo of the same. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../config.ts';
import { startService } from '../server.ts';
import { whyOf } from '../start/stops.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK } from './command.ts';
import { giveSigns } from './signs-of-life.ts';

/** How the line begins that says where. */
export const LISTENING = 'biosignal is listening on';
/** A stop that takes this much longer than BIO_STOP_TIMEOUT_MS is given up, ms: a supervisor waits for the port. */
export const STOP_LATE_MS = 4000;

export const start: Command = {
  name: 'start',
  summary: 'Run the service in the foreground.',
  description: `Migrates the database, listens, and stops cleanly on SIGTERM or Ctrl-C: sockets drain, and accepted packets become durable. If another
instance owns the database, this one listens, answers 503, and takes over when the other ends; an instance that lost the database to
another exits with code 1, to be restarted. Settings come from the environment ('biosignal config print'). Widgets and dashboard are
served from dist/, which 'node_modules/.bin/node scripts/build-web.ts dist' makes.`,
  options: {
    processes: {
      type: 'string',
      value: 'N',
      doc: 'Share the work among N processes on one port, or auto: one for every two cores. Each has BIO_DB_CONNECTIONS_MAX connections.',
    },
  },
  examples: ['biosignal start', 'biosignal start --json', 'biosignal start --processes 4'],
  run: async ({ console, options, json }) => {
    const processes = options.text('processes');
    if (processes !== '') return await (await import('./start-processes.ts')).startProcesses(processes, console, json);
    const config = readConfig(console.env);
    const orphaned = config.sharePort ? [parentGone()] : [];
    if (config.sharePort) giveSigns();
    const webDir = fileURLToPath(new URL('../../dist', import.meta.url));
    if (!existsSync(webDir))
      console.err(
        `biosignal start: no widgets and no dashboard are served: dist/ is made by 'node_modules/.bin/node scripts/build-web.ts dist'`,
      );
    // Also while it starts.
    const late = endLate(console, config.stopTimeoutMs);
    const service = await startService({
      config,
      ...(existsSync(webDir) ? { webDir } : {}),
      onProgress: (message) => console.err(`biosignal: ${message}`),
      signal: console.signal,
    }).catch((error: unknown) => {
      if (!console.signal.aborted) throw error;
      return null;
    });
    if (service === null) {
      late.cancel();
      console.err('biosignal start: stopped while starting');
      return EXIT_OK;
    }
    if (json) console.out(JSON.stringify({ base_url: service.baseUrl, pid: process.pid }));
    else console.out(`${LISTENING} ${service.baseUrl}`);
    if (service.firstKey !== null) console.err(`first API key (shown once): ${service.firstKey}`);
    const asked = new Promise<null>((resolve) => {
      if (console.signal.aborted) resolve(null);
      console.signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    const reason = await Promise.race([asked, service.failed, ...orphaned]);
    if (reason !== null) console.err(`biosignal start: ${reason}`);
    late.begin();
    await service.stop(reason ?? whyOf(console.signal));
    late.cancel();
    return reason === null ? EXIT_OK : EXIT_FAILED;
  },
};

type LateEnd = Readonly<{ begin: () => void; cancel: () => void }>;

/** From the signal on, or from `begin`: a process that has not stopped in its time and STOP_LATE_MS is ended. */
export function endLate({ signal, err }: Pick<Console, 'signal' | 'err'>, stopTimeoutMs: number): LateEnd {
  let timer: NodeJS.Timeout | undefined;
  const end = (): never => {
    err(`biosignal start: has not stopped within ${(stopTimeoutMs + STOP_LATE_MS) / 1000} s, and is ended`);
    process.exit(EXIT_FAILED);
  };
  const begin = (): void => void (timer ??= setTimeout(end, stopTimeoutMs + STOP_LATE_MS));
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    begin,
    cancel: () => {
      signal.removeEventListener('abort', begin);
      clearTimeout(timer);
    },
  };
}

/** Of one of several processes: resolves with a reason when the command that started it was killed. Nobody would start it again, and it
 *  would keep the port from the next. */
async function parentGone(): Promise<string> {
  const { channel } = process;
  await new Promise((resolve) => {
    if (channel === undefined) return; // not started by `--processes`
    process.once('disconnect', resolve);
    channel.unref(); // it keeps no process that has ended its work
  });
  return "the process of 'biosignal start --processes' has gone";
}
