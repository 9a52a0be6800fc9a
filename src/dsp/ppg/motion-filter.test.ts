import { describe, expect, test } from 'vitest';
import { MotionFilter } from './motion-filter.ts';

const RATE = 25;
const SIZE = 200;
const taper = Float64Array.from({ length: SIZE }, (_, i) => 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / SIZE));
const tapered = (of: (t: number) => number, startSec: number): Float64Array => taper.map((w, i) => w * of(startSec + i / RATE));
const power = (x: Float64Array): number => x.reduce((sum, value) => sum + value * value, 0);

/** What is left of the pulse's window after six windows, 2 s apart. */
function left(pulse: (t: number) => number, axes: readonly ((t: number) => number)[]): Float64Array {
  const filter = new MotionFilter({ taper, rate: RATE }, 1, axes.length);
  const taken = new Float64Array(SIZE);
  let x: Float64Array = taken;
  for (let window = 0; window < 6; window++) {
    x = tapered(pulse, 2 * window);
    const moved = axes.map((axis) => tapered(axis, 2 * window));
    filter.fit([x], moved);
    filter.takeOff(0, x, moved, taken);
  }
  return x;
}

describe('MotionFilter', () => {
  const wave = (perMin: number, t: number): number => Math.sin((2 * Math.PI * perMin * t) / 60);

  test('takes off what the axes show, its half and three halves and delays too, and leaves the pulse', () => {
    const x = (t: number): number => wave(160, t);
    const y = (t: number): number => 0.5 * wave(80, t) + 0.3 * wave(240, t);
    const pulse = (t: number): number => 0.5 * wave(130, t);
    const motion = (t: number): number => 3 * x(t - 0.1) + 4 * y(t + 0.08);
    const rest = left((t) => pulse(t) + motion(t), [x, y]);
    const alone = tapered(pulse, 10);
    expect(power(rest.map((value, i) => value - alone[i]!)) / power(tapered(motion, 10))).toBeLessThan(0.05);
  });

  test('leaves a pulse that a hand at rest shows in its accelerometer', () => {
    const pulse = (t: number): number => wave(70, t);
    const alone = tapered(pulse, 10);
    expect(power(left(pulse, [(t) => 0.003 * pulse(t - 0.1)])) / power(alone)).toBeGreaterThan(0.9);
  });
});
