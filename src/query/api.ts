/** Every route of src/query. */
import type { Pool } from 'pg';
import type { Config } from '../config.ts';
import type { Cursors } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { biosignalRoutes } from './biosignal-routes.ts';
import type { MethodDescription } from './biosignal-routes.ts';
import { chartRoutes } from './chart-routes.ts';
import { correctionRoutes } from './correction-routes.ts';
import type { OnDamaged } from './damaged-minutes.ts';
import { dayVariabilityRoutes } from './day-variability-routes.ts';
import { deviceRoutes } from './device-routes.ts';
import { eventRoutes } from './event-routes.ts';
import { exportRoutes } from './export-routes.ts';
import type { OpenJournal } from './export-routes.ts';
import { observationRoutes } from './observation-routes.ts';
import type { ObservationDeps } from './observation-routes.ts';
import { overviewRoutes } from './overview-routes.ts';
import { sampleRoutes } from './sample-routes.ts';
import type { RecentSamples } from './samples.ts';
import { searchRoutes } from './search-routes.ts';
import { seriesRoutes } from './series-routes.ts';
import { streamRoutes } from './stream-routes.ts';
import { stripRoutes } from './strip-routes.ts';
import type { Turns } from './turns.ts';
import { variabilityRoutes } from './variability-routes.ts';
import { waveRoutes } from './wave-routes.ts';

export type QueryApiDeps = ObservationDeps &
  Readonly<{
    db: Pool;
    cursors: Cursors;
    /** Internal numbers of the streams from which this process received packets in the last 10 s. */
    flowingStreams?: () => readonly number[];
    config: Pick<Config, 'chartRowsMax' | 'publicUrl'>;
    /** Turns for reads of signals; shared by all organizations. */
    turns: Turns;
    /** Turns for exports. */
    exports: Turns;
    /** Acknowledged samples of this process not yet stored as rows; absent: samples can be read a second and a half later. */
    recentSamples?: RecentSamples;
    /** Told of stored minutes that cannot be unpacked. */
    onDamaged?: OnDamaged;
    methods?: readonly MethodDescription[];
    /** Opens journals in exports that a person requests. */
    openJournal?: OpenJournal;
  }>;

export function queryApi(deps: QueryApiDeps): readonly Route[] {
  return [
    ...biosignalRoutes(deps),
    ...streamRoutes(deps),
    ...seriesRoutes(deps),
    ...correctionRoutes(deps),
    ...variabilityRoutes(deps),
    ...waveRoutes(deps),
    ...eventRoutes(deps),
    ...sampleRoutes(deps),
    ...overviewRoutes(deps),
    ...stripRoutes(deps),
    ...observationRoutes(deps),
    ...dayVariabilityRoutes(deps),
    ...chartRoutes(deps),
    ...exportRoutes({ ...deps, pool: deps.db }),
    ...deviceRoutes(deps),
    ...searchRoutes(deps),
  ];
}
