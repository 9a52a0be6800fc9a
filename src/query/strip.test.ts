/** Checks what a strip says above its trace. */
import { expect, it } from 'vitest';
import type { SampleSegment } from './samples.ts';
import { formatTime } from '../../widgets/shared/format.ts';
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
    method: 'derived:r_peaks_v19',
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

it('writes its time as the pages of its language do, and names the clock, which of UTC is that', () => {
  const of = { segments: [], durationSec: 10, person: '', channel: 'ecg.ii', beats: [], method: '' };
  const at = (timeZone: string, language: 'en' | 'de' | 'fr' | 'es' = 'en', fromNs = 1_767_600_000_000_000_000n): string =>
    layOutStrip({ ...of, fromNs, timeZone, language }).header[1]!;
  expect(at('UTC')).toBe('Jan 5, 2026, 8:00:00 AM UTC, 10 s');
  expect(at('Europe/London')).toContain('8:00:00 AM UTC,');
  expect(at('Asia/Kolkata')).toContain('1:30:00 PM GMT+05:30,');
  expect(at('UTC', 'en', 1_767_600_000_250_000_000n)).toContain('8:00:00.250 AM UTC,');
  expect(at('Europe/Berlin', 'de', 1_767_600_000_250_000_000n)).toBe('05.01.2026, 09:00:00,250 GMT+01:00, 10 s');
  const french = layOutStrip({ ...of, fromNs: 0n, timeZone: 'UTC', method: 'derived:r_peaks_v19', language: 'fr' });
  expect(french.header[2]).toMatch(/, battements : derived:r_peaks_v19$/);
  for (const language of ['en', 'de', 'fr', 'es'] as const) {
    const page = formatTime(language, 1_767_600_000_000, 'UTC', 'seconds').replaceAll('\u202f', ' ');
    expect(at('UTC', language)).toBe(`${page} UTC, 10 s`);
  }
});
