/** Histories from a seed. The same seed gives the same commands on every machine. */
import { createRandom } from '../src/cli/simulator/random.ts';
import type { Random } from '../src/cli/simulator/random.ts';
import { DEVICES, oddities, PERSONS, refusals } from './commands.ts';
import type { Command, History, Purpose, WallClock } from './commands.ts';

const DAY_SEC = 86_400;
/** How long ago recordings begin: now, in the morning, weeks ago (synced late), a year ago (imported). */
const starts = [700, 700, 6 * 3600, 16 * DAY_SEC, 400 * DAY_SEC, 400 * DAY_SEC];
const wallClocks: readonly WallClock[] = [0, 0, 0, 0, -9 * 365 * DAY_SEC, 3 * 365 * DAY_SEC, 47, 'none'];
export const wrist = ['ppg.ir', 'acc.x', 'acc.y', 'acc.z'];
const channelSets = [['ecg.ii'], wrist, ['ecg.ii', 'ppg.ir', 'acc.x'], ['ecg.ii', 'eda', 'temp.skin'], ['ppg.ir', 'ppg.red']];
const words = [
  'good',
  'tired; slept badly',
  'Grüße – 你好 – שלום – 🫀',
  "Robert'); drop table mood;--",
  'two\nlines\tand a tab',
  'x'.repeat(999),
  ' ',
];

type Maker = (random: Random) => Command;

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
const whole = (random: Random, min: number, max: number): number => Math.floor(random.between(min, max + 1));
const device = (random: Random): number => whole(random, 0, DEVICES - 1);
const person = (random: Random): number => whole(random, 0, PERSONS - 1);
const via = (random: Random): 'http' | 'socket' => pick(random, ['http', 'socket']);
const afterMs = (random: Random): number => whole(random, 0, 600);

/** By actor: what they do, and how often at the same time. */
const makers: Readonly<Record<'devices' | 'people' | 'operators' | 'world', readonly (readonly [weight: number, Maker])[]>> = {
  devices: [
    [9, (r) => ({ do: 'send', device: device(r), sec: pick(r, [4, 8, 20, 45, 330]), via: via(r) })],
    [4, (r) => ({ do: 'record', device: device(r), sec: pick(r, [3, 15, 40]) })],
    [4, (r) => ({ do: 'upload', device: device(r), order: pick(r, ['in order', 'newest first', 'shuffled']), via: via(r) })],
    [2, (r) => ({ do: 'skip', device: device(r), sec: pick(r, [0.5, 7, 90, 4000]) })],
    [4, (r) => ({ do: 'pause', device: device(r), ms: pick(r, [200, 1600, 2500]) })],
    [2, (r) => ({ do: 'resend', device: device(r), count: whole(r, 1, 80) })],
    [2, (r) => ({ do: 'contradict', device: device(r), back: whole(r, 0, 90) })],
    [3, boot],
    [1, (r) => ({ do: 'addChannel', device: device(r), channel: pick(r, ['ecg.ii', 'ppg.ir', 'eda', 'resp', 'acc.y']) })],
    [1, (r) => ({ do: 'setClock', device: device(r), wallClock: pick(r, wallClocks) })],
    [3, (r) => ({ do: 'odd', device: device(r), what: pick(r, oddities) })],
    [2, (r) => ({ do: 'illegal', device: device(r), what: pick(r, Object.keys(refusals) as (keyof typeof refusals)[]) })],
    [1, (r) => ({ do: 'live', device: whole(r, 2, DEVICES - 1), sec: pick(r, [1.5, 3]) })],
  ],
  people: [
    [3, (r) => ({ do: 'mood', person: person(r), score: whole(r, 1, 5), note: pick(r, words) })],
    [2, (r) => ({ do: 'journal', person: person(r), text: pick(r, words) })],
    [1, (r) => ({ do: 'answer', person: person(r), points: Array.from({ length: 5 }, () => whole(r, 0, 5)) })],
    [3, (r) => ({ do: 'look', person: person(r) })],
    [2, (r) => ({ do: 'measure', person: person(r), value: whole(r, 400, 1200) / 10, unit: pick(r, ['kg', '[lb_av]']) })],
    [2, (r) => ({ do: 'episode', person: person(r), kind: pick(r, ['exercise', 'sleep', 'alert']), closes: r.next() < 0.5 })],
  ],
  operators: [
    [2, () => ({ do: 'rotateKey' })],
    [2, () => ({ do: 'revokeKey' })],
    [2, (r) => ({ do: 'requireConsent', purposes: pick(r, [[], ['recording'], ['sharing'], ['recording', 'sharing']] as const) })],
    [3, (r) => ({ do: 'consent', person: person(r), purpose: pick(r, ['recording', 'sharing']), granted: r.next() < 0.7 })],
    [2, (r) => ({ do: 'erase', person: person(r) })],
    [3, (r) => ({ do: 'retention', days: pick(r, [null, 10, 30, 300]) })],
    [2, () => ({ do: 'webhook' })],
    [2, (r) => ({ do: 'signIn', role: pick(r, ['admin', 'viewer']) })],
  ],
  world: [
    [3, (r) => ({ do: 'killService', afterMs: afterMs(r) })],
    [1, (r) => ({ do: 'stopService', afterMs: afterMs(r) })],
    [2, (r) => ({ do: 'killPostgres', afterMs: afterMs(r) })],
    [1, (r) => ({ do: 'standby', afterMs: afterMs(r) })],
    [3, (r) => ({ do: 'takeBack', afterMs: afterMs(r), ends: pick(r, ['kill', 'stop']), sec: whole(r, 2, 6) })],
    [1, (r) => ({ do: 'databaseAway', afterMs: afterMs(r), how: pick(r, ['refuse', 'hole']), ms: whole(r, 2500, 9500) })],
    [2, (r) => ({ do: 'cutDevices', afterMs: afterMs(r), ms: whole(r, 50, 800) })],
    [2, (r) => ({ do: 'cutDatabase', afterMs: afterMs(r), ms: whole(r, 50, 1500) })],
    [2, (r) => ({ do: 'freezeService', afterMs: afterMs(r), ms: whole(r, 50, 1500) })],
    [2, (r) => ({ do: 'freezePostgres', afterMs: afterMs(r), ms: whole(r, 50, 1500) })],
  ],
};
export type Actor = keyof typeof makers;
export const actors = Object.keys(makers) as readonly Actor[];
/** What `--only` may name: actors, and commands. */
export const takesPart: readonly string[] = [
  ...actors,
  ...actors.flatMap((actor) => makers[actor].map(([, make]) => make(createRandom(0, 'name')).do)),
];
const shares: Readonly<Record<Actor, number>> = { devices: 24, people: 6, operators: 5, world: 2 };
/** A restart costs seconds: so many of those to a history. */
const WORLD_MAX = 3;
/** These cost tens of seconds: one to a history. */
const longOnes: readonly string[] = ['takeBack', 'databaseAway'];

/** What a fault needs is often several commands in one order, which is rare among all of them: five histories of seven have a theme, and
 *  more than half of their commands are of it; what is named twice is twice as likely. */
const themes: readonly (readonly string[])[] = [
  [],
  [],
  ['boot', 'send', 'pause'],
  ['boot', 'boot', 'send', 'retention', 'retention'],
  ['takeBack', 'databaseAway', 'send', 'record', 'upload'],
  ['odd', 'illegal', 'contradict', 'resend', 'look', 'send'],
  ['webhook', 'episode', 'measure', 'consent', 'erase', 'signIn'],
];
const THEME_SHARE = 0.6;

function boot(random: Random): Command {
  return {
    do: 'boot',
    device: device(random),
    agoSec: pick(random, starts),
    wallClock: pick(random, wallClocks),
    driftPpm: pick(random, [0, 0, 40, -300]),
    channels: pick(random, channelSets),
  };
}

/** Most people are asked before it is required: else there would be nothing more to see. */
function asked(random: Random, purposes: readonly Purpose[]): Command[] {
  const everybody = Array.from({ length: PERSONS }, (_, index) => index);
  return everybody.flatMap((index) =>
    random.next() < 0.75 ? purposes.map((purpose): Command => ({ do: 'consent', person: index, purpose, granted: true })) : [],
  );
}

/** @param only actors, and names of commands, that take part; empty: all  @param length commands */
export function generate(seed: number, only: readonly string[] = [], length = 30): History {
  const random = createRandom(seed, 'history');
  const taking = actors.flatMap((actor) => {
    const total = makers[actor].reduce((sum, [weight]) => sum + weight, 0);
    return makers[actor].flatMap(([weight, make]) => {
      const name = make(createRandom(seed, 'name')).do;
      const isIn = only.length === 0 || only.includes(actor) || only.includes(name);
      return isIn ? [{ actor, name, weight, share: (shares[actor] * weight) / total, make }] : [];
    });
  });
  const theme = pick(random, themes);
  const ofTheme = taking.flatMap((one) => theme.filter((name) => name === one.name).map(() => ({ ...one, share: one.weight })));
  const commands: Command[] = [];
  let worlds = 0;
  while (commands.length < length && taking.length > 0) {
    const from = ofTheme.length > 0 && random.next() < THEME_SHARE ? ofTheme : taking;
    const { actor, name, make } = oneOf(random, from);
    const isRare = longOnes.includes(name) && commands.some((command) => command.do === name);
    if (actor === 'world' && (worlds >= WORLD_MAX || isRare) && taking.some((one) => one.actor !== 'world')) continue;
    if (actor === 'world') worlds++;
    const command = make(random);
    if (command.do === 'requireConsent') commands.push(...asked(random, command.purposes));
    commands.push(command);
  }
  return { seed, commands };
}

function oneOf<T extends Readonly<{ share: number }>>(random: Random, from: readonly T[]): T {
  let at = random.next() * from.reduce((sum, { share }) => sum + share, 0);
  return from.find(({ share }) => (at -= share) < 0) ?? from.at(-1)!;
}
