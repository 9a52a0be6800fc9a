/** Cuts long work on the main thread into slices, so that sockets and frames do not wait for all of it. */

/** Yields to everything else that is due. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Writes the JSON of an array, `sliceLength` elements at a time. */
export async function jsonInSlices(length: number, sliceLength: number, element: (index: number) => unknown): Promise<string> {
  const slices: string[] = [];
  for (let from = 0; from < length; from += sliceLength) {
    if (from > 0) await breathe();
    const slice = Array.from({ length: Math.min(sliceLength, length - from) }, (_, i) => element(from + i));
    slices.push(JSON.stringify(slice).slice(1, -1));
  }
  return `[${slices.join(',')}]`;
}
