/** Fetches what moves a chart when it is first needed. Applications that bundle the widgets get a chunk of their own from their bundler;
 *  scripts/build-web.ts puts load-moves-cdn.ts in the place of this for the scripts of the CDN. */
import type { MovesModule } from './moves-host.ts';

export const loadMoves = (): Promise<MovesModule> => import('./moves/moves.ts');
