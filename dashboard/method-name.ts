/** Names of computed values, each its own: several methods share a title and differ in their window, or in what the beats are of. */
import { named, t } from './language.ts';

/** @param method its name, title and window, s  @returns e.g. "HRV: Root mean square of successive differences, 60 s" */
export function methodName({ name, title, window_sec: sec }: Readonly<{ name: string; title: string; window_sec: number | null }>): string {
  const of = title.startsWith('HRV') ? undefined : /^(hrv|prv)_/.exec(name)?.[1];
  const beats = of === undefined ? undefined : of === 'hrv' ? t('HRV') : t('PRV');
  const isOfWindow = /_\d+s$/.test(name) && sec !== null && !/\d (s|min)$/.test(title);
  const window = isOfWindow ? `, ${sec % 60 === 0 && sec > 60 ? `${sec / 60} min` : `${sec} s`}` : '';
  return `${beats === undefined ? '' : `${beats}: `}${named(title || name)}${window}`;
}
