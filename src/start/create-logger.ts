/** The log: JSON lines, with errors described without the values that drivers put into them. */
import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../http/logger.ts';
import type { Logger } from '../http/logger.ts';

/** Lines that the disk does not take wait for room up to this size, bytes; later ones are left out. */
const WAITING_BYTES_MAX = 1 << 20;

/** Where lines of a log go. A full disk stops the log, and not the service.  @param fd 1, standard output, or 2 */
export function logTo(fd: 1 | 2): DestinationStream {
  const lines = pino.destination({ dest: fd, sync: true, maxLength: WAITING_BYTES_MAX });
  lines.on('error', () => undefined);
  return lines;
}

/** @param node its name, in every line; '': in none  @param destination default: standard output */
export function createLogger(level: Config['logLevel'], node: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: node === '' ? null : { node },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return pino(options, destination ?? logTo(1));
}
