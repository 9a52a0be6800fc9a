/** Plays one history: commands one after the other, each device in a lane of its own, and events of the world in parallel to them all. */
import { isOfDevice, isOfPerson, isOfWorld } from './commands.ts';
import type { Command, History } from './commands.ts';
import { runDeviceCommand } from './commands/devices.ts';
import { runOperatorCommand } from './commands/operators.ts';
import { runPersonCommand } from './commands/people.ts';
import { runWorldCommand } from './commands/world.ts';
import { judge } from './compare.ts';
import { Oracle } from './oracle.ts';
import type { Complaint } from './oracle.ts';
import type { Clean } from './clean.ts';
import type { Stage } from './stage.ts';

/** `rows`: beats and values that were compared, by the name of their method. */
export type Outcome = Readonly<{ complaints: readonly Complaint[]; packets: number; rows: ReadonlyMap<string, number>; ms: number }>;

/** Lanes in which something is being done at the same time. */
const BUSY_MAX = 3;

/** @returns what is not as it must be; nothing: all is well */
export async function play(history: History, stage: Stage, clean: Clean): Promise<Outcome> {
  const sinceMs = performance.now();
  await stage.untilServing();
  const oracle = new Oracle(history.seed, stage, await stage.newOrganization(`history ${history.seed}`));
  const lanes = new Lanes();
  let rows: ReadonlyMap<string, number> = new Map();
  try {
    for (const [index, command] of history.commands.entries()) {
      const run = async (): Promise<void> => {
        oracle.told.push(index);
        try {
          await runCommand(oracle, command);
        } catch (error) {
          oracle.complain(
            'trouble',
            `${index} ${JSON.stringify(command)}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
          );
        }
      };
      if (isOfDevice(command)) await lanes.add(`device ${command.device}`, run);
      else if (isOfWorld(command)) await lanes.add('world', run);
      else if (isOfPerson(command)) await lanes.add('people', run);
      else {
        await lanes.idle(); // what an operator changes holds for what comes after, and not for what came before
        await run();
      }
    }
    await lanes.idle();
    rows = await judge(oracle, clean);
  } catch (error) {
    oracle.complain('trouble', error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await lanes.idle();
    await oracle.receiver?.close();
  }
  return { complaints: oracle.complaints, packets: oracle.packetCount, rows, ms: performance.now() - sinceMs };
}

async function runCommand(oracle: Oracle, command: Command): Promise<void> {
  if (isOfDevice(command)) await runDeviceCommand(oracle, command);
  else if (isOfWorld(command)) await runWorldCommand(oracle, command);
  else if (isOfPerson(command)) await runPersonCommand(oracle, command);
  else await runOperatorCommand(oracle, command);
}

class Lanes {
  readonly #lanes = new Map<string, Promise<void>>();
  #busy = 0;
  #freed: (() => void)[] = [];

  /** Waits for a place when too many are at work; the world always has one. */
  async add(name: string, run: () => Promise<void>): Promise<void> {
    while (name !== 'world' && this.#busy >= BUSY_MAX) await new Promise<void>((resolve) => this.#freed.push(resolve));
    this.#busy++;
    const before = this.#lanes.get(name) ?? Promise.resolve();
    const ends = before.then(run).finally(() => {
      this.#busy--;
      for (const tell of this.#freed.splice(0)) tell();
    });
    this.#lanes.set(name, ends);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#lanes.values());
  }
}
