/** A service reduced to its embedded database, to be killed. argv: data folder. Prints the address, then waits. */
import { startEmbeddedPostgres } from '../../src/storage/database/embedded-postgres.ts';

const server = await startEmbeddedPostgres({ dataDir: process.argv[2]! });
console.log(JSON.stringify({ url: server.url, pid: server.pid, dataDir: server.dataDir }));
setInterval(() => {}, 1000);
