/** Methods as the service describes them, and as live pages have them, without a service. */
import { liveValue } from '../../dashboard/live-values.ts';
import type { LiveValue } from '../../dashboard/live-values.ts';
import type { MethodOfValue } from '../../dashboard/service.ts';
import { catalogRows } from './catalog-rows.ts';
import { methodDescriptions } from '../../src/dsp/catalog/method-descriptions.ts';

const biosignalOf = (wanted: string) => catalogRows.find(({ feature }) => feature === wanted);

export const describedMethods: readonly MethodOfValue[] = methodDescriptions().map(
  ({ feature, cadenceSec, windowSec, coverageMin, ...method }) =>
    ({
      ...method,
      name: feature,
      title: biosignalOf(feature)?.name ?? method.title,
      abbreviation: biosignalOf(feature)?.abbreviation ?? '',
      cadence_hz: cadenceSec > 0 ? 1 / cadenceSec : null,
      window_sec: windowSec,
      coverage_min: coverageMin,
    }) as unknown as MethodOfValue,
);

export const everyLiveValue = (): LiveValue[] =>
  describedMethods.filter(({ kind, current }) => kind === 'feature' && current).map(liveValue);
