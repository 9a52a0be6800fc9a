/** `npm start`: the whole service on one machine with a demo: embedded database unless DATABASE_URL is set, web pages built, a simulated
 *  device streaming. Says where to look; Ctrl-C stops everything. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { STOP_LATE_MS } from '../src/cli/start.ts';
import { readConfig } from '../src/config.ts';
import { PipelineError } from '../src/errors.ts';
import { startService } from '../src/server.ts';
import { buildWeb } from './build-web.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const startedMs = performance.now();

try {
  if (existsSync('.env')) process.loadEnvFile('.env');
  const config = readConfig({ BIO_DEMO: '1', BIO_LOG_LEVEL: 'warn', ...process.env });
  const webDir = resolve('dist');
  const building = buildWeb(webDir);
  building.catch(() => undefined); // awaited below
  await building;
  const service = await startService({ config, webDir, onProgress: (message) => say(`biosignal: ${message} ...`) });
  say('');
  say(`  biosignal is ready (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`);
  say('');
  if (service.demoSecret !== null) say(`  Live page     ${service.baseUrl}/dashboard/live#demo=${service.demoSecret}`);
  say(`  Dashboard     ${service.baseUrl}/dashboard/`);
  if (service.firstKey !== null)
    say('                (make an account: scripts/biosignal.sh operator create you@example.org --role owner)');
  say(`  API           ${service.baseUrl}/api-docs`);
  if (service.firstKey !== null) {
    say('');
    say(`  First API key ${service.firstKey}`);
    say('                (all scopes; shown this once, only its hash is kept)');
  }
  say('');
  say('  Ctrl-C stops everything.');

  const stop = async (exitCode: number, why: string): Promise<never> => {
    const forced = setTimeout(() => process.exit(1), config.stopTimeoutMs + STOP_LATE_MS);
    await service.stop(why);
    clearTimeout(forced);
    process.exit(exitCode);
  };
  let signals = 0;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      signals += 1;
      if (signals === 1) {
        say('\n  stopping ...');
        void stop(0, name);
      } else if (signals > 2) {
        process.exit(1);
      }
    });
  }
  void service.failed.then(async (reason) => {
    process.stderr.write(`biosignal: ${reason}\n`);
    await stop(1, reason);
  });
} catch (error) {
  const known = error instanceof PipelineError || (error instanceof Error && !(error instanceof TypeError));
  process.stderr.write(`biosignal: ${known ? (error as Error).message : String(error instanceof Error ? error.stack : error)}\n`);
  process.exit(1);
}
