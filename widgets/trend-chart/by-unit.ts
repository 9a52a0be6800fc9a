/** Which series share a plot. */
import type { Series } from '../shared/data.ts';

/** Series of one unit share a plot; different units never share an axis. */
export function byUnit(series: readonly Series[]): Series[][] {
  const groups = new Map<string, Series[]>();
  for (const item of series) {
    const group = groups.get(item.unit);
    if (group === undefined) groups.set(item.unit, [item]);
    else group.push(item);
  }
  return [...groups.values()];
}
