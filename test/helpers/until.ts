import { AssertionError } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` holds, by polling; for what happens in the background. Between looks it rests three times as long as the look
 *  took, 10 ms to a second: a condition that reads thousands of rows would keep the machine from what is waited for.
 *  @throws after timeoutMs */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 10_000): Promise<void> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline;) {
    const beginMs = performance.now();
    if (await condition()) return;
    await sleep(Math.min(1000, Math.max(10, 3 * (performance.now() - beginMs))));
  }
  throw new AssertionError({ message: `not within ${timeoutMs} ms: ${condition.toString()}` });
}
