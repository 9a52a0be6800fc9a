/** The log: JSON lines, with errors described without the values that drivers put into them. */
import { pino } from 'pino';
import type { DestinationStream } from 'pino';
import type { Config } from '../config.ts';
import { describeError } from '../http/logger.ts';
import type { Logger } from '../http/logger.ts';

/** @param destination default: standard output */
export function createLogger(level: Config['logLevel'], destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: (error: unknown) => describeError(error) },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
