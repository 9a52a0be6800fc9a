/** `npm run fuzz -- --api`: random requests of every operation by every kind of credential until the time is over, in rounds with a world
 *  of their own each. The first request that fails is cut down and kept as a file that can be asked again. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shrinkList } from '../../../histories/shrink.ts';
import { createRandom } from '../../../src/cli/simulator/random.ts';
import type { Operation } from '../description.ts';
import type { LongOptions } from '../service/run.ts';
import { FuzzStage, wordsOf } from '../stage.ts';
import { measureBounds } from './bounds.ts';
import type { Bounds } from './bounds.ts';
import { judge } from './judge.ts';
import { Requests, wireOf } from './requests.ts';
import type { Request, Wire } from './requests.ts';
import { compareAnswers } from './same-answers.ts';
import { makeWorld } from './world.ts';
import type { World } from './world.ts';

/** What is too slow must be so every time: the machine may have looked away. */
const SLOW_TRIES = 3;
const PLAYS_MAX = 12;

type Failure = Readonly<{ request: Request; wire: Wire; complaints: readonly string[] }>;

/** @returns how many kinds of failures there were */
export async function fuzzApi(options: LongOptions): Promise<number> {
  const stage = await FuzzStage.start(options.database);
  const served = { baseUrl: stage.service.url, pool: stage.database.pool };
  const byId = new Map(stage.description.operations.map((one) => [one.operationId, one]));
  const seen = new Set<string>();
  try {
    const first = await makeWorld(served);
    const bounds = await measureBounds(stage, stage.description.operations, first);
    const ask = (request: Request, world: World): Promise<Failure | null> =>
      askOne(stage, byId.get(request.operationId)!, request, world, bounds);
    if (options.file !== undefined) {
      const { requests } = JSON.parse(readFileSync(options.file, 'utf8')) as { requests: readonly Request[] };
      const failures = await Promise.all(requests.map((request) => ask(request, first)));
      for (const failure of failures) print(failure, '');
      return failures.filter((failure) => failure !== null).length;
    }
    const made = new Requests(stage.description.operations, Object.keys(first.credentials));
    const deadlineMs = performance.now() + options.minutes * 60_000;
    for (let round = 0; round === 0 || performance.now() < deadlineMs; round++) {
      const seed = options.seed + round;
      const random = createRandom(seed, 'api fuzz');
      const world = await makeWorld(served);
      for (let i = 0; i < options.size && stage.service.running; i++) {
        const request = made.make(random);
        const failure = await ask(request, world);
        if (failure === null) continue;
        const kind = `${request.operationId} ${failure.complaints[0]!.replaceAll(/[0-9a-f-]{36}|\d+/g, '#').slice(0, 60)}`;
        if (seen.has(kind)) continue;
        seen.add(kind);
        print(failure, `seed ${seed}, request ${i}`);
        keep(options.out, `api-${seed}-${i}`, await least(failure, async (one) => await ask(one, world)));
      }
      const troubles = [...stage.takeTroubles(), ...(await compareAnswers(stage, world, random))];
      for (const text of troubles) {
        console.log(`  ${text.slice(0, 1200)}`);
        seen.add(text.replaceAll(/[0-9a-f-]{36}|\d+/g, '#').slice(0, 120));
      }
      console.log(
        `seed ${seed}: ${options.size} requests; ${Math.round(stage.rssMiBMax)} MiB and turns of ${Math.max(0, Math.round(stage.turnMsMax))} ms at most; ${seen.size} kinds of failures until now`,
      );
      if (!stage.service.running || (seen.size > 0 && !options.keepGoing)) break;
    }
    return seen.size;
  } finally {
    await stage.close();
  }
}

async function askOne(stage: FuzzStage, operation: Operation, request: Request, world: World, bounds: Bounds): Promise<Failure | null> {
  const wire = wireOf(request, operation, world);
  if (wire === null) return null;
  const { method, path, headers, body } = wire;
  try {
    const answer = await stage.ask(method, path, { headers, body });
    const complaints = judge(stage.description, operation, request, wire, world, answer);
    const bound = bounds.get(operation.operationId)!;
    let ms = answer.ms;
    for (let again = 0; ms > bound && again < SLOW_TRIES; again++) ms = Math.min(ms, (await stage.ask(method, path, { headers, body })).ms);
    if (ms > bound) complaints.push(`slow: ${Math.round(ms)} ms every time, bound ${Math.round(bound)}`);
    return complaints.length === 0 ? null : { request, wire, complaints };
  } catch (error) {
    // A header that no client can send is none of the service's.
    if (error instanceof TypeError && /header|ByteString|invalid/i.test(error.message)) return null;
    return { request, wire, complaints: [`no answer: ${wordsOf(error)}`] };
  }
}

/** Changes that the failure does not need are left out. */
async function least(failure: Failure, ask: (request: Request) => Promise<Failure | null>): Promise<Request> {
  const kind = failure.complaints[0]!.split(':')[0];
  const fails = async (changes: Request['changes']): Promise<boolean> =>
    ((await ask({ ...failure.request, changes }))?.complaints ?? []).some((text) => text.startsWith(`${kind}:`));
  if (await fails([])) return { ...failure.request, changes: [] };
  return { ...failure.request, changes: await shrinkList(failure.request.changes, fails, PLAYS_MAX) };
}

function print(failure: Failure | null, where: string): void {
  if (failure === null) return console.log('nothing is wrong');
  const { request, wire, complaints } = failure;
  console.log(`FAILED ${where}: ${request.credential} ${wire.method} ${wire.path.slice(0, 300)} ${(wire.body ?? '').slice(0, 300)}`);
  for (const text of complaints.slice(0, 5)) console.log(`  ${text.slice(0, 700)}`);
}

function keep(folder: string, name: string, request: Request): void {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.json`);
  writeFileSync(path, `${JSON.stringify({ requests: [request] })}\n`);
  console.log(`  again: npm run fuzz -- --api --file ${path}`);
}
