/** Makes a signal for one request of many. */

/** Ends the work with `ends`, or after `ms`. Not AbortSignal.any: a signal that lives as long as the command would leak a little per
 *  request. */
export async function within<T>(ends: AbortSignal, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const one = new AbortController();
  const end = (): void => one.abort(ends.reason);
  const timer = setTimeout(() => one.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
  if (ends.aborted) end();
  else ends.addEventListener('abort', end);
  try {
    return await work(one.signal);
  } finally {
    clearTimeout(timer);
    ends.removeEventListener('abort', end);
  }
}
