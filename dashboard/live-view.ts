/** Choices of the live traces, kept in the address: speed, gain, traces and their order, rows or the twelve leads as on paper. */
import type { LiveChannel } from '../widgets/shared/live-frame.ts';

/** mm/s and mm/mV on a CSS screen. */
export const speeds = [12.5, 25, 50] as const;
export const gains = [5, 10, 20] as const;
/** Traces that are shown while nobody has chosen; motion is not among them. */
const TRACES_MAX = 8;

export type LiveView = Readonly<{
  speed: (typeof speeds)[number];
  gain: (typeof gains)[number];
  /** null: the twelve leads where there are twelve. */
  layout: 'rows' | 'leads' | null;
  /** Ids of channels, in order; null: nobody has chosen. */
  traces: readonly string[] | null;
  /** Names of features, in order; null: nobody has chosen. */
  values: readonly string[] | null;
}>;

/** Kinds in the order of a bedside monitor; others follow as they come. */
const kindOrder: readonly string[] = ['ecg', 'ppg', 'resp'];
const placeOf = ({ kind }: LiveChannel): number => (kindOrder.includes(kind) ? kindOrder.indexOf(kind) : kindOrder.length);

/** The leads by columns, as they are printed; below them the second one goes on as the rhythm strip. */
export const leadColumns = [
  ['ecg.i', 'ecg.ii', 'ecg.iii'],
  ['ecg.avr', 'ecg.avl', 'ecg.avf'],
  ['ecg.v1', 'ecg.v2', 'ecg.v3'],
  ['ecg.v4', 'ecg.v5', 'ecg.v6'],
] as const;
export const RHYTHM = 'ecg.ii';

/** Reads a view from an address; parts that are not valid are left out. */
export function viewOf(query: URLSearchParams): LiveView {
  const layout = query.get('layout');
  return {
    speed: speeds.find((one) => String(one) === query.get('speed')) ?? 25,
    gain: gains.find((one) => String(one) === query.get('gain')) ?? 10,
    layout: layout === 'rows' || layout === 'leads' ? layout : null,
    traces: namesOf(query.get('traces')),
    values: namesOf(query.get('values')),
  };
}

/** None in a list is as no list: nobody has chosen to see nothing. */
function namesOf(list: string | null): readonly string[] | null {
  const names = list?.split(',').filter((name) => name !== '') ?? [];
  return names.length === 0 ? null : names;
}

/** As filters of an address; '' is not one. */
export function filtersOf({ speed, gain, layout, traces, values }: LiveView): Record<keyof LiveView, string> {
  return {
    speed: speed === 25 ? '' : String(speed),
    gain: gain === 10 ? '' : String(gain),
    layout: layout ?? '',
    traces: traces?.join() ?? '',
    values: values?.join() ?? '',
  };
}

/** Traces in the order in which they are shown. A chosen one that does not come is left out until it does. */
export function shownTraces(channels: readonly LiveChannel[], { traces }: LiveView): readonly LiveChannel[] {
  if (traces === null) {
    const still = channels.filter(({ kind }) => kind !== 'acc' && kind !== 'gyro');
    return still.toSorted((a, b) => placeOf(a) - placeOf(b)).slice(0, TRACES_MAX);
  }
  return traces.flatMap((id) => channels.find((channel) => channel.id === id) ?? []);
}

/** The channels of the twelve leads, by columns; null: there are not all of them. */
export function twelveLeads(channels: readonly LiveChannel[]): readonly LiveChannel[] | null {
  const found = leadColumns.flat().flatMap((code) => channels.find((channel) => channel.code === code) ?? []);
  return found.length === 12 ? found : null;
}

/** Shows or hides a trace, or a value; a new one comes last. The last one that is shown stays. */
export function withTrace(shown: readonly string[], id: string, isShown: boolean): readonly string[] {
  const others = shown.filter((one) => one !== id);
  if (isShown) return [...others, id];
  return others.length === 0 ? shown : others;
}

/** @param by -1: up, 1: down */
export function movedTrace(shown: readonly string[], id: string, by: -1 | 1): readonly string[] {
  const at = shown.indexOf(id);
  const to = at + by;
  if (at < 0 || to < 0 || to >= shown.length) return shown;
  return shown.with(at, shown[to]!).with(to, id);
}
