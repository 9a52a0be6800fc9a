import { expect, it } from 'vitest';
import type { LiveChannel } from '../../widgets/shared/live-frame.ts';
import { filtersOf, leadColumns, movedTrace, shownTraces, twelveLeads, viewOf, withTrace } from '../../dashboard/live-view.ts';

const channel = (code: string): LiveChannel => ({ id: code, code, kind: code.split('.')[0] }) as LiveChannel;
const ids = (channels: readonly LiveChannel[]): string[] => channels.map(({ id }) => id);

it('an address and a view say the same; what an address says wrongly is left out', () => {
  for (const address of [
    '',
    'speed=12.5&gain=20',
    'layout=rows&traces=ppg.ir%2Cecg.ii',
    'speed=50&layout=leads',
    'values=spo2%2Cqtc_hodges_60s',
  ]) {
    const filters = Object.entries(filtersOf(viewOf(new URLSearchParams(address)))).filter(([, value]) => value !== '');
    expect(new URLSearchParams(filters).toString()).toBe(new URLSearchParams(address).toString());
  }
  expect(viewOf(new URLSearchParams('speed=1000&gain=-1&layout=hexagon&values=&traces=,'))).toEqual(viewOf(new URLSearchParams()));
});

it('eight traces without motion are shown until some are chosen; then those that come, in their order', () => {
  const channels = ['acc.x', ...Array.from({ length: 10 }, (_, i) => `ppg.${i}`)].map(channel);
  const none = viewOf(new URLSearchParams());
  expect(ids(shownTraces(channels, none))).toEqual(channels.slice(1, 9).map(({ id }) => id));
  expect(ids(shownTraces(channels, { ...none, traces: ['ppg.9', 'gone', 'acc.x'] }))).toEqual(['ppg.9', 'acc.x']);
});

it('ECG comes first, then PPG and breathing, whatever the device sends first', () => {
  const channels = ['temp.skin', 'resp', 'ppg.ir', 'ecg.v', 'eda', 'ecg.ii'].map(channel);
  const shown = ids(shownTraces(channels, viewOf(new URLSearchParams())));
  expect(shown).toEqual(['ecg.v', 'ecg.ii', 'ppg.ir', 'resp', 'temp.skin', 'eda']);
});

it('twelve leads are found whatever their order, and only if there are twelve', () => {
  const channels = leadColumns.flat().toReversed().map(channel);
  expect(ids(twelveLeads([channel('ppg.ir'), ...channels])!)).toEqual(leadColumns.flat());
  expect(twelveLeads(channels.slice(1))).toBeNull();
});

it('a trace is moved by one place, is added last, and the last one cannot be hidden', () => {
  expect(movedTrace(['a', 'b', 'c'], 'b', -1)).toEqual(['b', 'a', 'c']);
  expect(movedTrace(['a', 'b', 'c'], 'b', 1)).toEqual(['a', 'c', 'b']);
  expect(movedTrace(['a', 'b'], 'a', -1)).toEqual(['a', 'b']);
  expect(movedTrace(['a', 'b'], 'x', 1)).toEqual(['a', 'b']);
  expect(withTrace(['a'], 'b', true)).toEqual(['a', 'b']);
  expect(withTrace(['a', 'b'], 'a', false)).toEqual(['b']);
  expect(withTrace(['b'], 'b', false)).toEqual(['b']);
});
