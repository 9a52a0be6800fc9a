/** Loaded before the service (`--import`) by the harness, never in production: lets the harness step its clock and break its workers.
 *
 *  Messages from the harness: { clockStepMs: number } moves Date.now by that much from now on; { worker: 'exit' | 'oom' | 'loop' } makes
 *  the next batch of a worker thread end that way. The worker reads the order from memory shared with the main thread. */
import { registerHooks } from 'node:module';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

const orders = ['none', 'exit', 'oom', 'loop'];
const KEY = 'biosignal-faults';

if (isMainThread) {
  const order = new Int32Array(new SharedArrayBuffer(4));
  setEnvironmentData(KEY, order.buffer as never);
  let stepMs = 0;
  const now = Date.now;
  Date.now = () => now() + stepMs;
  process.on('message', (message: { clockStepMs?: number; worker?: string }) => {
    stepMs += message.clockStepMs ?? 0;
    if (message.worker !== undefined) Atomics.store(order, 0, orders.indexOf(message.worker));
  });
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL')); // the harness is gone, however it went
  process.channel?.unref();
} else {
  const order = new Int32Array(getEnvironmentData(KEY) as unknown as SharedArrayBuffer);
  // The empty batch that loads a thread's code has minutes for it, not the watchdog's time.
  const fail = (recordCount: number): void => {
    if (recordCount === 0) return;
    const kind = orders[Atomics.exchange(order, 0, 0)];
    if (kind === 'exit') process.exit(7);
    if (kind === 'loop') for (;;);
    if (kind === 'oom') for (const kept: unknown[] = []; ;) kept.push(Array.from({ length: 1000 }, (_, i) => ({ i })));
  };
  (globalThis as { biosignalFault?: (recordCount: number) => void }).biosignalFault = fail;
  registerHooks({
    load: (url, context, next) => {
      const loaded = next(url, context);
      if (!url.endsWith('/src/dsp/pool/worker.ts') || loaded.source == null) return loaded;
      const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      const marked = text.replace(/(export function runBatch\([^)]*\)[^{]*\{)/, '$1 globalThis.biosignalFault(task.recordCount);');
      if (marked === text) throw new Error('faults: runBatch of src/dsp/pool/worker.ts was not found');
      return { ...loaded, source: marked };
    },
  });
}
