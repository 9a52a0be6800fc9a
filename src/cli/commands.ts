/** The commands of the binary, in the order of the overview. Each is loaded when it is called: `--help` must not open a database. */
import type { Command } from './command.ts';

type Entry = Readonly<{ summary: string; load: () => Promise<Command> }>;

export const commands: Readonly<Record<string, Entry>> = {
  replay: { summary: 'Stream recordings into a service as if a device sent them.', load: async () => (await import('./replay.ts')).replay },
  simulate: { summary: 'Stream simulated devices, with faults if wanted.', load: async () => (await import('./simulate.ts')).simulate },
};
