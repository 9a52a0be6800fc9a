import { describe, expect, test } from 'vitest';
import { PpgMotionHeartRate, emptyRates } from './motion-hr.ts';
import type { FoundRates } from './motion-hr.ts';

const FS = 125;

/** A pulse of a slowly rising rate under a stronger motion artefact that the accelerometer shares. */
function running(seconds: number): { ppg: Float64Array; acc: Float64Array[]; bpmAt: (t: number) => number } {
  const bpmAt = (t: number): number => 110 + 0.3 * t;
  const pulsePhase = (t: number): number => (2 * Math.PI * (110 * t + 0.15 * t * t)) / 60;
  const stride = (t: number): number => Math.sin(2 * Math.PI * 2.6 * t) + 0.6 * Math.sin(2 * Math.PI * 1.3 * t + 1);
  const ppg = Float64Array.from({ length: seconds * FS }, (_, i) => {
    const t = i / FS;
    return 400 + 3 * Math.sin(pulsePhase(t)) + Math.sin(2 * pulsePhase(t)) + 6 * stride(t) + 0.2 * Math.sin(i * i);
  });
  const acc = [1, 0.5, -0.7].map((gain) => Float64Array.from({ length: seconds * FS }, (_, i) => gain * stride(i / FS)));
  return { ppg, acc, bpmAt };
}

function rates(out: FoundRates): number[][] {
  return Array.from({ length: out.count }, (_, i) => [out.endSec[i]!, out.bpm[i]!, out.confidence[i]!, out.motion[i]!]);
}

describe('PpgMotionHeartRate', () => {
  test('follows the pulse, not the twice stronger stride', () => {
    const { ppg, acc, bpmAt } = running(80);
    const kernel = new PpgMotionHeartRate(FS, 1, 3);
    const out = emptyRates();
    kernel.pushPpg([ppg], 0, ppg.length, out);
    kernel.pushAcc(acc, 0, acc[0]!.length, out);
    kernel.flush(out);
    expect(out.count).toBe((80 - 8) / 2 + 1);
    for (const [endSec, bpm] of rates(out)) expect(Math.abs(bpm! - bpmAt(endSec! - 4))).toBeLessThan(3);
  });

  test('follows the pulse that two wavelengths share under a motion that they do not, and that no accelerometer saw', () => {
    const { ppg, bpmAt } = running(80);
    // the same light with the pulse alone, and a swing at 95 /min that pulls one wavelength up where it pulls the other down
    const swing = (i: number): number => 5 * Math.sin((2 * Math.PI * 95 * i) / 60 / FS);
    const stride = (i: number): number => 6 * (Math.sin((2 * Math.PI * 2.6 * i) / FS) + 0.6 * Math.sin((2 * Math.PI * 1.3 * i) / FS + 1));
    const leads = [1, -0.8].map((gain) => ppg.map((value, i) => value - stride(i) + gain * swing(i)));
    const kernel = new PpgMotionHeartRate(FS, 2);
    const out = emptyRates();
    kernel.pushPpg(leads, 0, ppg.length, out);
    kernel.flush(out);
    expect(out.count).toBe((80 - 8) / 2 + 1);
    for (const [endSec, bpm] of rates(out)) expect(Math.abs(bpm! - bpmAt(endSec! - 4))).toBeLessThan(3);
  });

  test('does not take half the rate for a pulse because its second harmonic is strong', () => {
    const pulse = Float64Array.from({ length: 60 * FS }, (_, i) => Math.sin((2 * Math.PI * 2.4 * i) / FS) + 0.05 * Math.sin(i * i));
    const kernel = new PpgMotionHeartRate(FS, 1);
    const out = emptyRates();
    kernel.pushPpg([pulse], 0, pulse.length, out);
    kernel.flush(out);
    for (const [, bpm] of rates(out)) expect(Math.abs(bpm! - 144)).toBeLessThan(1);
  });

  test('gives the same rates with a dead wavelength next to a live one, and none where all are dead', () => {
    const { ppg } = running(30);
    const found = [[ppg], [ppg, new Float64Array(ppg.length).fill(7)], [ppg, new Float64Array(ppg.length).fill(Number.NaN)]].map(
      (leads) => {
        const kernel = new PpgMotionHeartRate(FS, leads.length);
        const out = emptyRates();
        kernel.pushPpg(leads, 0, ppg.length, out);
        kernel.flush(out);
        return rates(out);
      },
    );
    expect(found[1]).toEqual(found[0]);
    expect(found[2]).toEqual(found[0]);
  });

  test('gives the same numbers, bit for bit, however the two inputs are cut and interleaved', () => {
    const { ppg, acc } = running(40);
    const whole = new PpgMotionHeartRate(FS, 1, 3);
    const expected = emptyRates();
    whole.pushAcc(acc, 0, ppg.length, expected);
    whole.pushPpg([ppg], 0, ppg.length, expected);
    whole.flush(expected);
    for (const [ppgStep, accStep] of [
      [1, 13],
      [18, 125],
      [500, 3],
    ] as const) {
      const kernel = new PpgMotionHeartRate(FS, 1, 3);
      const out = emptyRates();
      let a = 0;
      for (let p = 0; p < ppg.length; p += ppgStep) {
        kernel.pushPpg([ppg], p, Math.min(ppg.length, p + ppgStep), out);
        for (; a < p; a += accStep) kernel.pushAcc(acc, a, Math.min(ppg.length, a + accStep), out);
      }
      for (; a < ppg.length; a += accStep) kernel.pushAcc(acc, a, Math.min(ppg.length, a + accStep), out);
      kernel.flush(out);
      expect(rates(out)).toEqual(rates(expected));
    }
  });

  test('says NaN with confidence 0 where the signal is missing or flat', () => {
    const { ppg } = running(60);
    ppg.fill(Number.NaN, 20 * FS, 40 * FS);
    const kernel = new PpgMotionHeartRate(FS, 1);
    const out = emptyRates();
    kernel.pushPpg([ppg], 0, ppg.length, out);
    kernel.flush(out);
    const inside = rates(out).filter(([endSec]) => endSec! >= 28 && endSec! <= 40);
    expect(inside.length).toBeGreaterThan(5);
    for (const [, bpm, confidence] of inside) {
      expect(bpm).toBeNaN();
      expect(confidence).toBe(0);
    }
    const flat = emptyRates();
    const other = new PpgMotionHeartRate(FS, 1);
    other.pushPpg([new Float64Array(30 * FS).fill(7)], 0, 30 * FS, flat);
    other.flush(flat);
    for (const [, bpm] of rates(flat)) expect(bpm).toBeNaN();
  });

  test('starts again after reset as if new', () => {
    const { ppg, acc } = running(30);
    const kernel = new PpgMotionHeartRate(FS, 1, 3);
    const first = emptyRates();
    kernel.pushPpg([ppg], 0, ppg.length, first);
    kernel.pushAcc(acc, 0, ppg.length, first);
    kernel.flush(first);
    kernel.reset();
    kernel.pushPpg([new Float64Array(1234).fill(9)], 0, 1234, emptyRates());
    kernel.reset();
    const second = emptyRates();
    kernel.pushPpg([ppg], 0, ppg.length, second);
    kernel.pushAcc(acc, 0, ppg.length, second);
    kernel.flush(second);
    expect(rates(second)).toEqual(rates(first));
  });
});
