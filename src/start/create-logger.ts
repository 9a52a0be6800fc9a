/** The log: JSON lines, with errors described without the values that drivers put into them. */
import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../http/logger.ts';
import type { Logger } from '../http/logger.ts';

/** @param node its name, in every line; '': in none  @param destination default: standard output */
export function createLogger(level: Config['logLevel'], node: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: node === '' ? null : { node },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
