import { AssertionError } from 'node:assert';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` holds, by polling; for what happens in the background. Between looks it rests three times as long as the look
 *  took, 10 ms to a second: a condition that reads thousands of rows would keep the machine from what is waited for.
 *  @throws after timeoutMs; on a machine with more than two processes at work for each core up to four times later */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const startMs = performance.now();
  const busy = Math.min(4, Math.max(1, loadavg()[0]! / availableParallelism() / 2));
  for (let beginMs = startMs; beginMs - startMs < timeoutMs * busy; beginMs = performance.now()) {
    if (await condition()) return;
    await sleep(Math.min(1000, Math.max(10, 3 * (performance.now() - beginMs))));
  }
  throw new AssertionError({ message: `not within ${Math.round(timeoutMs * busy)} ms: ${condition.toString()}` });
}
