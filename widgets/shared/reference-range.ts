/** Reference ranges come from the page, not from the service: what is normal depends on who is looked at.
 *  Written `HR:60-100 RMSSD:20-`, or `60-100` where there is one biosignal. An open end is left out. */

export type ReferenceRange = Readonly<{ low: number; high: number }>;

export function parseReference(text: string | null, key: string): ReferenceRange | null {
  for (const part of (text ?? '').split(/[\s,;]+/)) {
    const match = /^(?:([^:]+):)?(-?\d+(?:\.\d+)?)?-(-?\d+(?:\.\d+)?)?$/.exec(part);
    if (match === null || (match[1] !== undefined && match[1].toLowerCase() !== key.toLowerCase())) continue;
    const low = match[2] === undefined ? -Infinity : Number(match[2]);
    const high = match[3] === undefined ? Infinity : Number(match[3]);
    if (low < high && (Number.isFinite(low) || Number.isFinite(high))) return { low, high };
  }
  return null;
}
