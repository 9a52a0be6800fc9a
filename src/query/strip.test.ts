/** Checks what a strip says above its trace. */
import { expect, it } from 'vitest';
import type { SampleSegment } from './samples.ts';
import { layOutStrip, stripSvg } from './strip.ts';

it('marks an early beat by where it began, and explains the marks that it has', () => {
  const beat = { qmask: 0, kind: 'ectopic' } as const;
  const strip = layOutStrip({
    segments: [],
    fromNs: 0n,
    durationSec: 10,
    person: 'Eve',
    timeZone: 'UTC',
    channel: 'ecg.ii',
    method: 'derived:r_peaks_v16',
    beats: [
      { ...beat, tsNs: 1_000_000_000n, kind: 'normal', aami: 'N' },
      { ...beat, tsNs: 2_000_000_000n, aami: 'V' },
      { ...beat, tsNs: 3_000_000_000n, aami: 'S' },
      { ...beat, tsNs: 4_000_000_000n, aami: 'N' },
    ],
  });
  expect(strip.marks.map(({ letter }) => letter)).toEqual(['', 'V', 'S', 'E']);
  expect(strip.footer).toBe('V: ventricular, S: supraventricular, E: early; hatched: suspect; dashed: unusable');
});

it('does not let a name turn the direction of the lead and the scale behind it', () => {
  const samples = Int32Array.from([0, 200]);
  const segment: SampleSegment = {
    code: 'ecg.ii',
    channelNo: 0,
    kind: 'ecg',
    unit: 'mV',
    lead: '\u2067II',
    gain: 200,
    baseline: 0,
    rateNanoHz: 250e9,
    t0Ns: 0n,
    k0: 0,
    samples,
    qmask: null,
  };
  const of = { segments: [segment], fromNs: 0n, durationSec: 1, timeZone: 'UTC', channel: 'ecg.ii', beats: [], method: '' };
  const strip = layOutStrip({ ...of, person: 'Eve \u202e\u200f(1)' });
  expect(strip.header[0]).toBe('Eve (1), ECG II (ecg.ii)');
  expect(stripSvg(layOutStrip({ ...of, person: 'Eve \uffff\ufffe<&' }))).toMatch(/Eve \ufffd\ufffd&lt;&amp;, ECG/); // else it is no XML
  expect(stripSvg(strip)).not.toMatch(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
});

it('names the clock of a time, which of UTC is that', () => {
  const of = { segments: [], fromNs: 1_767_600_000_000_000_000n, durationSec: 10, person: '', channel: 'ecg.ii', beats: [], method: '' };
  const at = (timeZone: string): string => layOutStrip({ ...of, timeZone }).header.join();
  expect(at('UTC')).toContain('2026-01-05 08:00:00.000 UTC,');
  expect(at('Europe/London')).toContain('08:00:00.000 UTC,');
  expect(at('Asia/Kolkata')).toContain('13:30:00.000 GMT+05:30,');
});
