import { AssertionError } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` holds, by polling; for what happens in the background. @throws after timeoutMs */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(10)) if (await condition()) return;
  throw new AssertionError({ message: `not within ${timeoutMs} ms: ${condition.toString()}` });
}
