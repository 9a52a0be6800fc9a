/** One server of bench/http.bench.ts in a process of its own. argv: bare | layer | service. Tells its port, then answers until it is told
 *  to stop. bare: uWebSockets.js alone reads the body and answers a constant. layer: src/http with a key of the real cache and an empty
 *  handler. service: everything, on DATABASE_URL. */
import { Auth } from '../../src/auth/auth.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { readConfig } from '../../src/config.ts';
import { startHttp } from '../../src/http/server.ts';
import { loadUws } from '../../src/http/uws.ts';
import { startService } from '../../src/server.ts';
import { openDatabase } from '../../src/storage/database/database.ts';

const [, , variant = ''] = process.argv;
const quiet = (): void => undefined;
const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const env: Record<string, string | undefined> = {
  ...process.env,
  PORT: '0',
  BIO_DEVICE_PACKETS_PER_SEC_MAX: '1000000',
  BIO_REQUESTS_PER_SEC_MAX: '1000000',
};
const reply = { accepted: 1, duplicates: 0, rejected: [], high_seq: 1, server_time_ns: 1 };

// Ends itself: a process that is killed leaves no profile (BIO_BENCH_PROFILE).
process.once('SIGTERM', () => process.exit(0));

const tell = (ready: Readonly<{ port: number; key: string; orgId: string; projectKey: string }>): void => void process.send?.(ready);

switch (variant) {
  case 'bare': {
    const uws = loadUws();
    const body = JSON.stringify(reply);
    const app = uws.App();
    app.any('/*', (res) => {
      res.onAborted(quiet);
      res.onData((_, isLast) => {
        if (isLast) res.cork(() => void res.writeStatus('202 Accepted').writeHeader('content-type', 'application/json').end(body));
      });
    });
    app.listen('127.0.0.1', 0, uws.LIBUS_LISTEN_EXCLUSIVE_PORT, (token) => {
      if (token !== false) tell({ port: uws.us_socket_local_port(token), key: 'none', orgId: '', projectKey: '' });
    });
    break;
  }
  case 'layer': {
    const database = await openDatabase(env['DATABASE_URL'] ?? '');
    const auth = new Auth({ database, issuer: 'http://bench', secret: Buffer.alloc(32, 1), allowedOrigins: [] });
    await auth.start();
    const org = await createOrganization(database.pool, 'Bench');
    const http = await startHttp({
      config: readConfig(env),
      routes: [
        {
          method: 'POST',
          path: '/ingest/raw-packet',
          operationId: 'post',
          tag: 'ingest',
          summary: 'nothing',
          access: { key: 'ingest' },
          limit: 'ingest',
          body: 'binary',
          bodyTypes: ['application/x-protobuf'],
          responses: { 202: { description: 'nothing' } },
          handler: async () => ({ status: 202, json: reply }),
        },
      ],
      authenticate: auth.authenticate,
      logger,
    });
    tell({ port: http.port, key: org.apiKey.key, orgId: org.orgId, projectKey: org.projectKey });
    break;
  }
  case 'service': {
    const service = await startService({ config: readConfig(env), logger });
    const org = await createOrganization(service.database.pool, 'Bench');
    tell({ port: service.port, key: org.apiKey.key, orgId: org.orgId, projectKey: org.projectKey });
    process.on('message', () => void service.stop().then(() => process.exit(0)));
    break;
  }
  default:
    throw new Error(`variant ${variant}`);
}
