/** Describes every method version. Not part of methods.ts, because the kernels read that table and this file reads the kernels. */
import type { MethodDetails } from './method-parameters.ts';
import { methodDetails } from './method-parameters.ts';
import type { Method } from '../rows/methods.ts';
import { beatMethods, featureMethods } from '../rows/methods.ts';
import { retiredBeatMethods, retiredMethods } from '../rows/methods-retired.ts';

/** For GET /api/v1/methods. Parameters and limits are those of this release: empty for what is computed no longer. */
export type DescribedMethod = Method & MethodDetails & Readonly<{ kind: 'feature' | 'beat'; current: boolean }>;

export function methodDescriptions(): DescribedMethod[] {
  const current = (kind: 'feature' | 'beat') => (m: Method) => ({ ...m, ...methodDetails(m), kind, current: true });
  const retired = (kind: 'feature' | 'beat') => (m: Method) => ({ ...m, parameters: [], limits: [], kind, current: false });
  return [
    ...Object.values(beatMethods).map(current('beat')),
    ...featureMethods.map(current('feature')),
    ...retiredBeatMethods.map(retired('beat')),
    ...retiredMethods.map(retired('feature')),
  ];
}
