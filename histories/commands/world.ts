/** What befalls the service, its database and the connections between. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorldCommand } from '../commands.ts';
import type { Stage } from '../stage.ts';

export async function runWorldCommand(stage: Stage, command: WorldCommand): Promise<void> {
  await sleep(command.afterMs);
  await stage.disturb(() => happen(stage, command));
}

async function happen(stage: Stage, command: WorldCommand): Promise<void> {
  switch (command.do) {
    case 'killService':
      await stage.service.kill();
      stage.service.start();
      return;
    case 'stopService': {
      const code = await stage.service.terminate();
      if (code !== 0) throw new Error(`the service ended with ${code}:\n${stage.service.log.slice(-2000)}`);
      stage.service.start();
      return;
    }
    case 'killPostgres':
      await stage.postgres.kill();
      await stage.postgres.restart();
      return;
    case 'standby':
      await stage.takeOver();
      return;
    case 'cutDevices':
      await cut(stage.front, command.ms);
      return;
    case 'cutDatabase':
      await cut(stage.back, command.ms);
      return;
    case 'freezeService':
      await freeze(stage.service, command.ms);
      return;
    case 'freezePostgres':
      await freeze(stage.postgres, command.ms);
      return;
    default: {
      const never: never = command;
      throw new TypeError(JSON.stringify(never));
    }
  }
}

async function cut(proxy: Stage['front'], ms: number): Promise<void> {
  proxy.mode = 'refuse';
  await sleep(ms);
  proxy.mode = 'pass';
}

async function freeze(what: Readonly<{ pause: (paused: boolean) => void }>, ms: number): Promise<void> {
  what.pause(true);
  await sleep(ms);
  what.pause(false);
}
