/** Channels as the attribute names them and as the label shows them. */
import { expect, it } from 'vitest';
import type { LiveChannel } from '../shared/live-frame.ts';
import { channelName } from '../../src/signal.ts';
import { matches } from './live-trace.ts';

const channel = (code: string, kind: string, lead = '', id = code) => ({ code, kind, lead, id }) as LiveChannel;

it('a channel is wanted by code, by id or by kind, and by nothing else', () => {
  const second = channel('ecg.ii', 'ecg', 'II', 'ecg.ii@2');
  const wanted = ['ecg', 'ecg.ii', 'ecg.ii@2', 'ecg.i', 'ecg.ii@1', 'e', ''];
  expect(wanted.filter((name) => matches(second, name))).toEqual(['ecg', 'ecg.ii', 'ecg.ii@2']);
});

it.each([
  [channel('ecg.avr', 'ecg', 'AVR'), 'ECG aVR'],
  [channel('ecg.avl', 'ecg', 'avL'), 'ECG aVL'],
  [channel('ecg.v1', 'ecg', 'V1'), 'ECG V1'],
  // of a table that was imported
  [channel('ecg.iii', 'ecg'), 'ECG III'],
  [channel('ecg.avf', 'ecg'), 'ECG aVF'],
  [channel('ecg.v6', 'ecg'), 'ECG V6'],
  [channel('ecg', 'ecg'), 'ECG'],
  [channel('ecg.mlii', 'ecg'), 'ECG MLII'],
  [channel('ecg.ml2', 'ecg', 'mlii'), 'ECG MLII'],
  [channel('ecg.ii.1', 'ecg'), 'ECG II 1'],
  [channel('ecg.ii-2', 'ecg'), 'ECG II 2'],
  [channel('ecg.v1.2', 'ecg'), 'ECG V1 2'],
  [channel('ecg.mcl1', 'ecg'), 'ECG MCL1'],
  [channel('ecg.chest-left', 'ecg'), 'ECG chest-left'],
  [channel('acc.x', 'acc'), 'ACC x'],
  [channel('ppg.ir', 'ppg', 'finger'), 'PPG finger'],
  [channel('glucose.raw', 'other'), 'glucose.raw'],
])('%o is called %s', (one, name) => {
  expect(channelName(one)).toBe(name);
});
