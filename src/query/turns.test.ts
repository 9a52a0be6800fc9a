import { describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { poolSizes } from '../storage/database/roles.ts';
import { serviceTurns, Turns } from './turns.ts';

const never = new AbortController().signal;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Reads that end on command. */
function reads(turns: Turns) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (caller: string, name: string, large = false, signal = never): Promise<void> =>
    turns.run(caller, large, signal, () => {
      started.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await tick();
  };
  return { started, ask, end };
}

describe('turns', () => {
  it('are taken by callers one after the other, however many reads each has', async () => {
    const { started, ask, end } = reads(new Turns({ atOnce: 1, perCaller: 1, largeAtOnce: 1, waitingMax: 10, waitMsMax: 5000 }));
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void ask(name[0]!, name);
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'b2']) {
      await tick();
      expect(started.at(-1)).toBe(name);
      await end(name);
    }
  });

  it('bound what one caller runs at once, and leave the rest to others', async () => {
    const { started, ask, end } = reads(new Turns({ atOnce: 3, perCaller: 2, largeAtOnce: 3, waitingMax: 10, waitMsMax: 5000 }));
    for (const name of ['a1', 'a2', 'a3', 'b1']) void ask(name[0]!, name);
    await tick();
    expect(started).toEqual(['a1', 'a2', 'b1']);
    await end('a2');
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('have few places for large reads and one for a caller; small ones pass those that wait', async () => {
    const { started, ask, end } = reads(new Turns({ atOnce: 6, perCaller: 3, largeAtOnce: 2, waitingMax: 10, waitMsMax: 5000 }));
    for (const name of ['a1', 'a2', 'b1', 'c1']) void ask(name[0]!, name, true);
    void ask('d', 'd1');
    void ask('a', 'a3');
    await tick();
    expect(started).toEqual(['a1', 'b1', 'd1', 'a3']);
    await end('b1');
    expect(started.at(-1)).toBe('c1');
    await end('a1');
    expect(started.at(-1)).toBe('a2');
  });

  it('are refused to a caller with too many waiting, and given up with the peer', async () => {
    const { started, ask, end } = reads(new Turns({ atOnce: 1, perCaller: 1, largeAtOnce: 1, waitingMax: 1, waitMsMax: 5000 }));
    void ask('a', 'a1');
    const leaving = new AbortController();
    const left = ask('a', 'a2', false, leaving.signal);
    await expect(ask('a', 'a3')).rejects.toMatchObject({ code: 'rate_limited' });
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: 'bad_request' });
    void ask('a', 'a4');
    await end('a1');
    expect(started).toEqual(['a1', 'a4']);
  });

  it('are neither started nor awaited for a peer that has already gone', async () => {
    const { started, ask } = reads(new Turns({ atOnce: 1, perCaller: 1, largeAtOnce: 1, waitingMax: 1, waitMsMax: 5000 }));
    const away = AbortSignal.abort();
    await expect(ask('a', 'a1', false, away)).rejects.toMatchObject({ code: 'bad_request' });
    void ask('a', 'a2');
    await expect(ask('a', 'a3', false, away)).rejects.toMatchObject({ code: 'bad_request' });
    expect(started).toEqual(['a2']);
  });

  it('of reads and exports together leave a connection free', () => {
    const places = (turns: Turns): number => {
      for (let taken = 0; ; taken++) {
        try {
          turns.take(`caller ${taken}`, `organization ${taken}`);
        } catch {
          return taken;
        }
      }
    };
    const inAll = (connections: number, reads: number): number[] => {
      const env = { BIO_DB_CONNECTIONS_MAX: String(connections), BIO_READS_AT_ONCE_MAX: String(reads) };
      const { turns, exports } = serviceTurns(readConfig(env));
      return [places(turns), places(exports)];
    };
    expect(inAll(14, 1000)).toEqual([1, 1]); // of two connections
    for (const connections of [20, 25, 30, 100, 1000]) {
      const [reads = 0, exports = 0] = inAll(connections, 1000);
      expect(reads + exports).toBe(poolSizes(connections).api - 1);
    }
    const { turns, exports } = serviceTurns(readConfig({}));
    expect([places(turns), places(exports)]).toEqual([readConfig({}).readsAtOnceMax, 2]);
    expect(inAll(1000, 7)).toEqual([7, 2]);
  });

  it('are awaited no longer than the limit', async () => {
    const { ask, end } = reads(new Turns({ atOnce: 1, perCaller: 1, largeAtOnce: 1, waitingMax: 5, waitMsMax: 20 }));
    const first = ask('a', 'a1');
    await expect(ask('a', 'a2')).rejects.toMatchObject({ code: 'rate_limited', retryAfterSec: 5 });
    await end('a1');
    await first;
  });

  it('of exports leave a place to another organization', () => {
    const { exports } = serviceTurns(readConfig({}));
    const end = exports.take('a', 'one');
    expect(() => exports.take('b', 'one')).toThrow('This organization has an export under way; at most 1 at once, 2 for everybody.');
    exports.take('c', 'two');
    end();
    exports.take('b', 'one');
  });

  it('of a stream are given back once, and are not waited for', () => {
    const turns = new Turns({ atOnce: 2, perCaller: 1, largeAtOnce: 0, waitingMax: 0, waitMsMax: 5000 });
    const end = turns.take('a', 'one');
    expect(() => turns.take('a', 'one')).toThrow('This credential has an export under way; at most 1 at once, 2 for everybody.');
    turns.take('b', 'one');
    expect(() => turns.take('c', 'two')).toThrow(/at once/);
    end();
    end();
    turns.take('a', 'one');
    expect(() => turns.take('c', 'two')).toThrow(/at once/);
  });
});
