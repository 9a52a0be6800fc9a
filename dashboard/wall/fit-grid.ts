/** Columns and rows of a wall: those that give the largest tiles in a given room. */

/** A tile that shows everything comfortably, CSS px. */
const TILE_WIDTH = 260;
const TILE_HEIGHT = 120;

export type Grid = Readonly<{ columns: number; rows: number }>;

/** @param count of tiles, at least 1
 *  @param width of the room in CSS px, as `height` */
export function fitGrid(count: number, width: number, height: number): Grid {
  let best: Grid = { columns: 1, rows: count };
  let bestScale = 0;
  for (let columns = 1; columns <= count; columns++) {
    const rows = Math.ceil(count / columns);
    const scale = Math.min(width / columns / TILE_WIDTH, height / rows / TILE_HEIGHT);
    if (scale > bestScale) {
      bestScale = scale;
      best = { columns, rows };
    }
  }
  return best;
}
