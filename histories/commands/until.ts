/** Waits for changes of rights: a verified credential is remembered for a second. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Oracle } from '../oracle.ts';

/** A change reaches every node within a second; on a busy machine later. */
export const REACHES_MS = 20_000;

/** @param otherwise the complaint when it does not hold in time */
export async function until(oracle: Oracle, otherwise: string, holds: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + REACHES_MS; performance.now() < deadline; await sleep(200)) if (await holds()) return;
  oracle.complain('visible', otherwise);
}
