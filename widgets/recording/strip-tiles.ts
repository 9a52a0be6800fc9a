/** Tiles of a strip that are here, and the parts of it that are still read or could not be. */
import { TILE_MS } from './recording-source.ts';
import type { RecordingSource, Tile } from './recording-source.ts';

export type Absent = Readonly<{ fromMs: number; toMs: number; why: 'loading' | 'failed' }>;

/** Farther beyond the edges of a strip no sample is looked for, ms. */
const REACH_MS_MAX = 300_000;

/** Asks for what is missing; once it is here, for what is likely to be wanted next. Forgets what is far away.
 *  @param span from and to, Unix ms
 *  @param everyMs between two samples: the next one beyond an edge is wanted, too */
export function tilesOf(
  source: RecordingSource,
  [fromMs, toMs]: readonly [number, number],
  everyMs = 0,
): Readonly<{ tiles: readonly Tile[]; absent: readonly Absent[] }> {
  const reachMs = Math.min(REACH_MS_MAX, everyMs);
  source.forgetOutside(fromMs - reachMs - 2 * TILE_MS, toMs + reachMs + 2 * TILE_MS);
  const tiles: Tile[] = [];
  const absent: Absent[] = [];
  for (let ms = Math.floor((fromMs - reachMs) / TILE_MS) * TILE_MS; ms < toMs + reachMs; ms += TILE_MS) {
    if (ms + TILE_MS <= source.startMs || ms > source.endMs + 1000) continue;
    const tile = source.tileAt(ms);
    if (typeof tile === 'object') tiles.push(tile);
    else if (ms + TILE_MS > fromMs && ms < toMs) absent.push({ fromMs: ms, toMs: ms + TILE_MS, why: tile });
  }
  if (absent.some(({ why }) => why === 'loading')) return { tiles, absent };
  const lastMs = Math.max(source.startMs, source.endMs);
  for (const ms of [toMs + reachMs + TILE_MS, fromMs - reachMs - TILE_MS]) source.tileAt(Math.min(lastMs, Math.max(source.startMs, ms)));
  return { tiles, absent };
}
