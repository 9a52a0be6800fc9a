/** Runs the rounds of a fault and puts the outcome in numbers. */
import type { Random } from '../src/cli/simulator/random.ts';
import type { Scenario } from './scenarios.ts';
import { World } from './lib/world.ts';
import type { Verdict } from './lib/world.ts';

export type RunOptions = Readonly<{
  rounds: number;
  seed: number;
  random: Random;
  log?: (line: string) => void;
  /** Rounds between two verdicts: the devices stop, the ledger is held against the database, and others begin on the same database. */
  legRounds: number;
  /** Called at the end of every leg, so that a run that is cut short counts as far as it got. */
  onLeg?: (leg: FaultResult) => void;
}>;

export type FaultResult = Readonly<{
  name: string;
  about: string;
  seed: number;
  /** Rounds that came to their end. */
  rounds: number;
  ok: boolean;
  /** Packets; the rest of the counts are of packets and samples among them. */
  acknowledged: number;
  lostPackets: number;
  lostSamples: number;
  doubledSamples: number;
  otherSamples: number;
  /** Beats and values of a clean run of the same packets, and those that differ from it. */
  derivedRows: number;
  otherRows: number;
  refused: number;
  /** Until the service served again, ms; NaN where nothing was away. */
  recoveryMsP50: number;
  recoveryMsMax: number;
  /** Of each round, ms. */
  recoveryMs: readonly number[];
  elapsedSec: number;
  /** What went wrong, if anything. */
  complaints: readonly string[];
}>;

export type Runnable = Readonly<{
  name: string;
  about: string;
  rounds?: number;
  run: (options: RunOptions) => Promise<FaultResult>;
}>;

/** Rounds in legs. What a leg found stays found; a leg that broke off is followed by one on a new database. */
export async function runScenario(scenario: Scenario | Runnable, options: RunOptions): Promise<FaultResult> {
  const legs: FaultResult[] = [];
  let world: World | null = null;
  for (let done = 0; done < options.rounds;) {
    const rounds = Math.min(options.legRounds, options.rounds - done);
    const legOptions = { ...options, rounds, seed: options.seed + done };
    let leg: FaultResult;
    if ('run' in scenario) leg = await scenario.run(legOptions);
    else {
      world ??= await World.start({ name: scenario.name, seed: options.seed, ...scenario.world });
      leg = await runLeg(world, scenario, legOptions);
      if (leg.ok && done + rounds < options.rounds) await world.nextFleet(legOptions.seed + rounds);
      else {
        await world.close();
        world = null;
      }
    }
    done += rounds;
    legs.push(leg);
    options.onLeg?.(leg);
  }
  return merged(legs);
}

async function runLeg(world: World, scenario: Scenario, { rounds, seed, random, log = () => undefined }: RunOptions): Promise<FaultResult> {
  const startedMs = performance.now();
  const recoveryMs: number[] = [];
  const complaints: string[] = [];
  let verdict: Verdict | null = null;
  try {
    for (let round = 1; round <= rounds; round++) {
      recoveryMs.push(await scenario.round(world, random));
      if (recoveryMs.at(-1)! > 5000) log(`${scenario.name}: round ${round} of this leg, away ${Math.round(recoveryMs.at(-1)!)} ms`);
    }
  } catch (error) {
    complaints.push(`round ${recoveryMs.length + 1}: ${(error instanceof Error ? error.message : String(error)).slice(0, 1500)}`);
  }
  try {
    verdict = await world.verdict();
    for (const { deviceId, firstFault } of verdict.faulty.slice(0, 5)) complaints.push(`${deviceId}: ${firstFault}`);
    complaints.push(...((await scenario.after?.(world)) ?? []));
  } catch (error) {
    complaints.push(error instanceof Error ? error.message : String(error));
  }
  const refusals = world.fleet.refusals;
  if (Object.keys(refusals).length > 0) log(`${scenario.name}: refused ${JSON.stringify(refusals)}`);
  return resultOf(scenario, seed, verdict, recoveryMs, complaints, startedMs);
}

/** Legs of one fault as one. */
export function merged(legs: readonly FaultResult[]): FaultResult {
  const sum = (pick: (leg: FaultResult) => number): number => legs.reduce((total, leg) => total + pick(leg), 0);
  return {
    ...legs[0]!,
    rounds: sum((leg) => leg.rounds),
    ok: legs.every((leg) => leg.ok),
    acknowledged: sum((leg) => leg.acknowledged),
    lostPackets: sum((leg) => leg.lostPackets),
    lostSamples: sum((leg) => leg.lostSamples),
    doubledSamples: sum((leg) => leg.doubledSamples),
    otherSamples: sum((leg) => leg.otherSamples),
    // NaN where a leg is older than this comparison
    derivedRows: sum((leg) => leg.derivedRows ?? Number.NaN),
    otherRows: sum((leg) => leg.otherRows ?? Number.NaN),
    refused: sum((leg) => leg.refused),
    ...recoveryOf(legs.flatMap((leg) => leg.recoveryMs)),
    elapsedSec: sum((leg) => leg.elapsedSec),
    complaints: legs.flatMap((leg) => leg.complaints),
  };
}

/** Of a fault after which nothing has to come back. */
export const withoutRecovery = { recoveryMs: [], recoveryMsP50: Number.NaN, recoveryMsMax: Number.NaN } as const;

function recoveryOf(recoveryMs: readonly number[]): Pick<FaultResult, 'recoveryMs' | 'recoveryMsP50' | 'recoveryMsMax'> {
  const sorted = recoveryMs.map((ms) => Math.round(ms)).sort((a, b) => a - b);
  return { recoveryMs: sorted, recoveryMsP50: sorted[sorted.length >> 1] ?? Number.NaN, recoveryMsMax: sorted.at(-1) ?? Number.NaN };
}

export function resultOf(
  { name, about }: Readonly<{ name: string; about: string }>,
  seed: number,
  verdict: Verdict | null,
  recoveryMs: readonly number[],
  complaints: readonly string[],
  startedMs: number,
): FaultResult {
  return {
    name,
    about,
    seed,
    rounds: recoveryMs.length,
    ok: verdict?.ok === true && complaints.length === 0,
    acknowledged: verdict?.accepted ?? 0,
    lostPackets: verdict?.missing_packets ?? Number.NaN,
    lostSamples: verdict?.missing_samples ?? Number.NaN,
    doubledSamples: verdict?.doubled_samples ?? Number.NaN,
    otherSamples: (verdict?.different_samples ?? Number.NaN) + (verdict?.unexpected_samples ?? Number.NaN),
    derivedRows: verdict?.derived.rows ?? Number.NaN,
    otherRows: verdict?.derived.otherRows ?? Number.NaN,
    refused: verdict?.refused ?? 0,
    ...recoveryOf(recoveryMs),
    elapsedSec: Math.round((performance.now() - startedMs) / 1000),
    complaints: [...complaints, ...(verdict?.derived.complaints ?? [])],
  };
}

export function tableOf(results: readonly FaultResult[]): string {
  const head = ['fault', 'rounds', 'acknowledged', 'lost', 'doubled', 'other', 'rows', 'other', 'refused', 'away p50', 'max ms', 'sec', ''];
  const rows = results.map((r) => [
    r.name,
    ...[r.rounds, r.acknowledged, r.lostPackets + r.lostSamples, r.doubledSamples, r.otherSamples].map(String),
    ...[r.derivedRows, r.otherRows].map((count) => (Number.isFinite(count) ? String(count) : '-')),
    String(r.refused),
    ...[r.recoveryMsP50, r.recoveryMsMax, r.elapsedSec].map((value) => (Number.isFinite(value) ? String(value) : '-')),
    r.ok ? 'ok' : 'FAILED',
  ]);
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  const complaints = results.flatMap(({ name, complaints: all }) => all.map((text) => `${name}: ${text}`));
  return [line(head), ...rows.map(line), ...complaints].join('\n');
}
