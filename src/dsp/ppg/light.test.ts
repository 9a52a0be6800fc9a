import { describe, expect, test } from 'vitest';
import { BAD, GOOD, SUSPECT } from '../../signal.ts';
import { emptyValues } from '../kernels/block-values.ts';
import { seeded } from '../testing/fixture.ts';
import { PulseLight } from './light.ts';

/** Noise with a standard deviation of 1. */
const white = (random: () => number): number => Math.sqrt(12) * (random() - 0.5);

type Block = Readonly<{ endSec: number; perfusion: number; flag: number }>;

function blocksOf(x: Float64Array, fs: number, startK = 0, cut: () => number = () => 97): Block[] {
  const light = new PulseLight(fs);
  const out = emptyValues();
  light.reset(startK);
  for (let at = 0; at < x.length;) {
    const to = Math.min(x.length, at + cut());
    light.push(x, at, to, out);
    at = to;
  }
  return Array.from({ length: out.count }, (_, i) => ({ endSec: out.endSec[i]!, perfusion: out.value[i]!, flag: out.flag[i]! }));
}

/** Light of `level`, of which `swing` pulses with a steep upstroke, and a quarter of that breathes. */
function lightOf(fs: number, seconds: number, level: number, swing: number, perMin: number): Float64Array {
  const at = (phase: number): number =>
    phase < 0.15 ? (1 - Math.cos((Math.PI * phase) / 0.15)) / 2 : (1 + Math.cos((Math.PI * (phase - 0.15)) / 0.85)) / 2;
  return Float64Array.from({ length: fs * seconds }, (_, i) => {
    const t = i / fs;
    return level + swing * at(((t * perMin) / 60) % 1) + (swing / 4) * Math.sin(2 * Math.PI * 0.2 * t);
  });
}

describe('PulseLight', () => {
  test.each([25, 64, 100, 400])('gives the pulse as a share of its level, at %i Hz', (fs) => {
    for (const perMin of [45, 70, 110])
      for (const [level, swing] of [
        [50, 1],
        [-8000, 16],
        [3, 0.3],
      ] as const) {
        const blocks = blocksOf(lightOf(fs, 48, level, swing, perMin), fs).slice(1);
        expect(blocks).toHaveLength(5);
        for (const { perfusion, flag } of blocks) {
          expect(perfusion / ((100 * swing) / Math.abs(level + swing / 2))).toBeGreaterThan(0.88);
          expect(perfusion / ((100 * swing) / Math.abs(level + swing / 2))).toBeLessThan(1.12);
          expect(flag).toBe(GOOD);
        }
      }
  });

  test('is the pulse, also where breathing moves the level by as much', () => {
    for (const hz of [0.1, 0.2, 0.3]) {
      const x = lightOf(64, 64, 50, 1, 70).map((value, i) => value + 0.5 * Math.sin((2 * Math.PI * hz * i) / 64));
      const blocks = blocksOf(x, 64).slice(1);
      for (const { perfusion } of blocks) {
        expect(perfusion / 2).toBeGreaterThan(0.85);
        expect(perfusion / 2).toBeLessThan(1.15);
      }
    }
  });

  test('doubts the perfusion of light at a rail', () => {
    const flags = (rail: number): number[] =>
      blocksOf(
        lightOf(64, 32, 50, 1, 70).map((value) => Math.min(value, rail)),
        64,
      ).map(({ flag }) => flag);
    expect(flags(50.5)).toEqual([SUSPECT, SUSPECT, SUSPECT, SUSPECT]);
    expect(flags(60)).toEqual([GOOD, GOOD, GOOD, GOOD]);
  });

  test('knows no perfusion of light that comes without its level', () => {
    for (const level of [0, 0.5, -2])
      expect(blocksOf(lightOf(64, 32, level, 1, 70), 64).map(({ perfusion }) => Number.isNaN(perfusion))).toEqual([true, true, true, true]);
  });

  test('is moved little by one artefact', () => {
    const x = lightOf(100, 40, 50, 1, 70);
    const clean = blocksOf(x, 100)[2]!.perfusion;
    for (let i = 1900; i < 1960; i++) x[i]! += 10;
    expect(Math.abs(blocksOf(x, 100)[2]!.perfusion / clean - 1)).toBeLessThan(0.12);
  });

  test('says of light that stands still, of noise and of the last digit of a converter that nothing is worn', () => {
    const random = seeded(5);
    const dark = {
      still: () => 7,
      noise: () => 50 + 0.02 * white(random),
      digit: () => 50 + Math.round(random()),
      drift: (i: number) => i / 6400 + 0.05 * white(random),
    };
    for (const [name, make] of Object.entries(dark))
      expect(
        blocksOf(
          Float64Array.from({ length: 3200 }, (_, i) => make(i)),
          100,
        ).map(({ flag }) => flag),
        name,
      ).toEqual([BAD, BAD, BAD, BAD]);
  });

  test('takes a pulse with as much noise as pulse for one that is worn', () => {
    const random = seeded(9);
    const x = lightOf(100, 32, 50, 1, 70).map((value) => value + 0.35 * white(random));
    expect(blocksOf(x, 100).map(({ flag }) => flag)).toEqual([GOOD, GOOD, GOOD, GOOD]);
  });

  test('gives the same however the samples are cut, in whole blocks of the grid, and none of which more than half is missing', () => {
    const x = lightOf(100, 40, 50, 1, 70);
    x.fill(Number.NaN, 700, 1300);
    const whole = blocksOf(x, 100, 300);
    expect(whole.map(({ endSec }) => endSec)).toEqual([8, 24, 32, 40]);
    for (const size of [1, 33, 4000]) expect(blocksOf(x, 100, 300, () => size)).toEqual(whole);
  });
});
