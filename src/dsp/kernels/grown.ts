/** Columns that are replaced by longer ones. */

/** @returns `to`, which now begins with what `from` holds */
export function grown<T extends Float64Array | Float32Array | Uint8Array | Int8Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
