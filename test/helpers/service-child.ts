/** The whole service in a process of its own, to be killed. argv: address of the database. Prints its base address, then serves until
 *  SIGTERM. */
import { readConfig } from '../../src/config.ts';
import { startService } from '../../src/server.ts';

const quiet = (): void => undefined;
const tell = (fields: object, message: string): void => console.error(message, String((fields as { err?: Error }).err?.stack));
const service = await startService({
  config: readConfig({
    DATABASE_URL: process.argv[2]!,
    PORT: '0',
    BIO_REQUESTS_PER_SEC_MAX: '10000',
    BIO_DSP_WORKERS: '1',
    BIO_DSP_IDLE_FLUSH_MS: process.env['BIO_DSP_IDLE_FLUSH_MS'],
  }),
  logger: { debug: quiet, info: quiet, warn: tell, error: tell },
});
console.log(service.baseUrl);
void service.failed.then((reason) => {
  console.error(reason);
  return service.stop().then(() => process.exit(1));
});
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)));
