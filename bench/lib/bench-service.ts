/** A service in a process of its own, for benches. argv: memory | full. Speaks IPC: ready once, then answers `usage` and `stop`.
 *  full: DATABASE_URL names an empty database. */
import { readConfig } from '../../src/config.ts';
import { KEY, startMemoryService } from './memory-service.ts';

export type BenchReady = Readonly<{ kind: 'ready'; port: number; key: string }>;
export type BenchUsage = Readonly<{
  kind: 'usage';
  cpuSec: number;
  rssBytes: number;
  packets: number;
  loopP99Ms: number;
  loopMaxMs: number;
}>;

const gaps: number[] = [];
let lastMs = performance.now();
/** A 10 ms tick, as frames and deadlines see it; its lateness is what a firehose does to everybody else. */
function noteTick(): void {
  const nowMs = performance.now();
  gaps.push(nowMs - lastMs);
  lastMs = nowMs;
}

async function start(mode: string): Promise<{ port: number; key: string; packets: () => number; stop: () => Promise<void> }> {
  if (mode === 'memory') {
    const service = await startMemoryService({
      ledger: false,
      config: { devicePacketsPerSecMax: 1_000_000, requestsPerSecMax: 1_000_000 },
    });
    service.http.ticks.every(10, noteTick);
    return { port: service.port, key: KEY, packets: () => service.sink.packetCount, stop: service.stop };
  }
  const { startService } = await import('../../src/server.ts');
  const { createOrganization } = await import('../../src/auth/organizations.ts');
  const config = {
    ...readConfig(process.env),
    port: 0,
    logLevel: 'warn' as const,
    devicePacketsPerSecMax: 1_000_000,
    requestsPerSecMax: 1_000_000,
  };
  const service = await startService({ config });
  const { apiKey } = await createOrganization(service.database.pool, `Bench ${Date.now()}`);
  setInterval(noteTick, 10);
  return { port: service.port, key: apiKey.key, packets: () => 0, stop: service.stop };
}

const service = await start(process.argv[2] ?? 'memory');

process.on('message', (message: unknown) => {
  if (message === 'usage') {
    const { user, system } = process.cpuUsage();
    gaps.sort((a, b) => a - b);
    const usage: BenchUsage = {
      kind: 'usage',
      cpuSec: (user + system) / 1e6,
      rssBytes: process.memoryUsage().rss,
      packets: service.packets(),
      loopP99Ms: gaps[Math.floor(gaps.length * 0.99)] ?? 0,
      loopMaxMs: gaps.at(-1) ?? 0,
    };
    gaps.length = 0;
    process.send!(usage);
  } else if (message === 'stop') void service.stop().then(() => process.exit(0));
  else if (message === 'gc') globalThis.gc?.();
});
process.on('disconnect', () => process.exit(0));
process.send!({ kind: 'ready', port: service.port, key: service.key } satisfies BenchReady);
