/** Faults of the service, its database and the connections between. */
import { setTimeout as sleep } from 'node:timers/promises';
import { DEVICES } from '../commands.ts';
import type { WorldCommand } from '../commands.ts';
import type { Oracle } from '../oracle.ts';
import type { ProxyMode } from '../../faults/lib/tcp-proxy.ts';
import { runDeviceCommand } from './devices.ts';

export async function runWorldCommand(oracle: Oracle, command: WorldCommand): Promise<void> {
  await sleep(command.afterMs);
  await oracle.stage.disturb(() => happen(oracle, command));
}

async function happen(oracle: Oracle, command: WorldCommand): Promise<void> {
  const { stage } = oracle;
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
    case 'takeBack':
      // A device that nobody else has: the others may be pausing.
      await stage.takeBack(command.ends, () => runDeviceCommand(oracle, { do: 'send', device: DEVICES, sec: command.sec, via: 'http' }));
      return;
    case 'databaseAway':
      await cut((mode) => (stage.backMode = mode), command.ms, command.how);
      return;
    case 'cutDevices':
      await cut((mode) => (stage.front.mode = mode), command.ms);
      return;
    case 'cutDatabase':
      await cut((mode) => (stage.backMode = mode), command.ms);
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

async function cut(set: (mode: ProxyMode) => void, ms: number, how: 'refuse' | 'hole' = 'refuse'): Promise<void> {
  set(how);
  await sleep(ms);
  set('pass');
}

async function freeze(what: Readonly<{ pause: (paused: boolean) => void }>, ms: number): Promise<void> {
  what.pause(true);
  await sleep(ms);
  what.pause(false);
}
