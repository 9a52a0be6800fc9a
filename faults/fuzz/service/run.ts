/** `npm run fuzz -- --service`: rounds of mutated packets against the whole service until the time is over. The first round that fails is
 *  cut down, mutation by mutation, and kept as a file that can be played again. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shrinkList } from '../../../histories/shrink.ts';
import { FuzzStage } from '../stage.ts';
import { makeCases } from './cases.ts';
import type { Case } from './cases.ts';
import { playRound, witnessAlone } from './round.ts';
import type { Complaint } from './round.ts';

export type LongOptions = Readonly<{
  minutes: number;
  seed: number;
  /** A server on which a database may be made; '': the embedded PostgreSQL. */
  database: string;
  /** Cases or requests of a round. */
  size: number;
  /** Of one that failed before. */
  file: string | undefined;
  keepGoing: boolean;
  out: string;
}>;

/** Of a shrinking: each takes half a minute. */
const PLAYS_MAX = 40;

/** @returns how many rounds failed */
export async function fuzzService(options: LongOptions): Promise<number> {
  let stage = await FuzzStage.start(options.database);
  let failedCount = 0;
  try {
    let wanted = await witnessAlone(stage);
    console.log(`the witness alone: ${wanted.size} beats and values`);
    const play = async (cases: readonly Case[], exports: boolean): Promise<readonly Complaint[]> => {
      if (!stage.service.running) {
        await stage.close();
        stage = await FuzzStage.start(options.database);
        wanted = await witnessAlone(stage);
      }
      return await playRound(stage, { cases, wanted, exports });
    };
    const given =
      options.file === undefined ? null : (JSON.parse(readFileSync(options.file, 'utf8')) as { seed: number; cases: readonly Case[] });
    const deadlineMs = performance.now() + options.minutes * 60_000;
    for (let i = 0; i === 0 || performance.now() < deadlineMs; i++) {
      const seed = given?.seed ?? options.seed + i;
      const cases = given?.cases ?? makeCases(seed, options.size);
      const startedMs = performance.now();
      const complaints = await play(cases, true);
      print(stage, seed, cases, complaints, performance.now() - startedMs);
      if (complaints.length > 0) {
        failedCount++;
        for (const { kind, text } of complaints.slice(0, 12)) console.log(`  ${kind}: ${text.slice(0, 1000)}`);
        if (!options.keepGoing) {
          if (given === null) await report(seed, cases, complaints, play, options.out);
          break;
        }
      }
      if (given !== null) break;
    }
  } finally {
    await stage.close();
  }
  return failedCount;
}

function print(stage: FuzzStage, seed: number, cases: readonly Case[], complaints: readonly Complaint[], ms: number): void {
  const mutations = cases.reduce((sum, one) => sum + one.mutations.length, 0);
  const verdict = complaints.length === 0 ? 'ok' : `FAILED: ${complaints.length} complaints`;
  const { rssMiBMax, turnMsMax } = stage;
  console.log(
    `seed ${seed}: ${cases.length} cases, ${mutations} mutations, ${(ms / 1000).toFixed(1)} s; ${Math.round(rssMiBMax)} MiB and turns of ${Math.max(0, Math.round(turnMsMax))} ms at most  ${verdict}`,
  );
}

/** First whole cases are left out, then single mutations of those that are left. */
async function report(
  seed: number,
  cases: readonly Case[],
  complaints: readonly Complaint[],
  play: (cases: readonly Case[], exports: boolean) => Promise<readonly Complaint[]>,
  folder: string,
): Promise<void> {
  const { kind } = complaints[0]!;
  const fails = async (candidate: readonly Case[]): Promise<boolean> =>
    (await play(candidate, kind === 'export')).some((one) => one.kind === kind);
  const few = await shrinkList(cases, fails, PLAYS_MAX);
  const all = few.flatMap((one, at) => one.mutations.map((mutation) => ({ at, mutation })));
  const withOnly = (kept: typeof all): readonly Case[] =>
    few.map((one, at) => ({ ...one, mutations: kept.filter((item) => item.at === at).map(({ mutation }) => mutation) }));
  const isPlain = await fails(withOnly([])); // what is sent as it should be fails, too
  const least = withOnly(isPlain ? [] : await shrinkList(all, (kept) => fails(withOnly(kept)), PLAYS_MAX));
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `service-${seed}.json`);
  writeFileSync(path, `{"seed":${seed},"cases":[\n${least.map((one) => `  ${JSON.stringify(one)}`).join(',\n')}\n]}\n`);
  console.log(readFileSync(path, 'utf8').slice(0, 6000));
  console.log(`  again: npm run fuzz -- --service --file ${path}`);
}
