/** Runs the rounds of a fault and puts the outcome in numbers. */
import type { Random } from '../src/cli/simulator/random.ts';
import type { Scenario } from './scenarios.ts';
import { World } from './lib/world.ts';
import type { Verdict } from './lib/world.ts';

export type RunOptions = Readonly<{ rounds: number; seed: number; random: Random; log?: (line: string) => void }>;

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
  refused: number;
  /** Until the service served again, ms. */
  recoveryMsP50: number;
  recoveryMsMax: number;
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

export async function runScenario(scenario: Scenario | Runnable, options: RunOptions): Promise<FaultResult> {
  if ('run' in scenario) return await scenario.run(options);
  const startedMs = performance.now();
  const { rounds, seed, random, log = () => undefined } = options;
  const world = await World.start({ name: scenario.name, seed, ...scenario.world });
  const recoveryMs: number[] = [];
  const complaints: string[] = [];
  let verdict: Verdict | null = null;
  try {
    for (let round = 1; round <= rounds; round++) {
      recoveryMs.push(await scenario.round(world, random));
      if (round % 10 === 0 || recoveryMs.at(-1)! > 5000)
        log(`${scenario.name}: round ${round} of ${rounds}, away ${Math.round(recoveryMs.at(-1)!)} ms`);
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
  await world.close();
  return resultOf(scenario, seed, verdict, recoveryMs, complaints, startedMs);
}

export function resultOf(
  { name, about }: Readonly<{ name: string; about: string }>,
  seed: number,
  verdict: Verdict | null,
  recoveryMs: readonly number[],
  complaints: readonly string[],
  startedMs: number,
): FaultResult {
  const sorted = recoveryMs.toSorted((a, b) => a - b);
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
    otherSamples: (verdict?.different_samples ?? Number.NaN) + (verdict?.strange_samples ?? Number.NaN),
    refused: verdict?.refused ?? 0,
    recoveryMsP50: Math.round(sorted[sorted.length >> 1] ?? Number.NaN),
    recoveryMsMax: Math.round(sorted.at(-1) ?? Number.NaN),
    elapsedSec: Math.round((performance.now() - startedMs) / 1000),
    complaints,
  };
}

export function tableOf(results: readonly FaultResult[]): string {
  const head = ['fault', 'rounds', 'acknowledged', 'lost', 'doubled', 'other', 'refused', 'away p50', 'max ms', 'sec', ''];
  const rows = results.map((r) => [
    r.name,
    ...[r.rounds, r.acknowledged, r.lostPackets + r.lostSamples, r.doubledSamples, r.otherSamples, r.refused].map(String),
    ...[r.recoveryMsP50, r.recoveryMsMax, r.elapsedSec].map(String),
    r.ok ? 'ok' : 'FAILED',
  ]);
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  const complaints = results.flatMap(({ name, complaints: all }) => all.map((text) => `${name}: ${text}`));
  return [line(head), ...rows.map(line), ...complaints].join('\n');
}
