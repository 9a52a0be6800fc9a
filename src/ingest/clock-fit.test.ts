import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import { ClockFitter, placeInTime } from './clock-fit.ts';

const SEC = 1_000_000_000n;
const NOW = 1_790_000_000n * SEC;

describe('ClockFitter', () => {
  it('finds offset and skew through network jitter, and a third of the windows spoilt', () => {
    const random = seededRandom(3);
    const fitter = new ClockFitter();
    const skew = 40e-6;
    for (let i = 0; i < 20_000; i++) {
      const device = i * 0.2;
      const spoilt = Math.floor(device / 64) % 3 === 0 ? 0.8 : 0;
      const delay = 0.02 + 0.05 * random() + spoilt;
      fitter.add(BigInt(Math.round(device * 1e9)), NOW + BigInt(Math.round((device * (1 + skew) + delay) * 1e9)));
    }
    const fit = fitter.fit()!;
    expect(fit.skewPpm).toBeGreaterThan(30);
    expect(fit.skewPpm).toBeLessThan(50);
    const trueOffset = Number(NOW) + Number(fit.atDeviceNs) * skew + 0.02e9;
    expect(Math.abs(Number(fit.offsetNs) - trueOffset)).toBeLessThan(60e6);
    expect(fit.pairCount).toBeLessThanOrEqual(64);
  });

  it('says nothing before it has seen enough', () => {
    const fitter = new ClockFitter();
    for (let i = 0; i < 280; i++) fitter.add(BigInt(i) * SEC, NOW + BigInt(i) * SEC);
    expect(fitter.fit()).toBeNull();
    for (let i = 280; i < 310; i++) fitter.add(BigInt(i) * SEC, NOW + BigInt(i) * SEC);
    expect(fitter.fit()).toMatchObject({ offsetNs: NOW, skewPpm: 0 });
  });

  it('says nothing of stored data that are sent faster than they were recorded', () => {
    const fitter = new ClockFitter();
    for (let i = 0; i < 1000; i++) fitter.add(BigInt(i) * SEC, NOW + (BigInt(i) * SEC) / 50n);
    expect(fitter.fit()).toBeNull();
  });
});

describe('placeInTime', () => {
  const device = 100n * SEC;
  // promise: clock-rules
  it('takes a synchronised wall clock as it is', () => {
    const packet = { t0DeviceNs: device, t0UnixNs: NOW - 5n * SEC, sentUnixNs: NOW - SEC };
    expect(placeInTime(packet, device + SEC, NOW)).toEqual({ epochNs: NOW - 5n * SEC - device, timeSource: 'device' });
  });
  // promise: clock-rules
  it('takes the age from a wall clock that is wrong', () => {
    const packet = { t0DeviceNs: device, t0UnixNs: 1000n * SEC, sentUnixNs: 1030n * SEC };
    expect(placeInTime(packet, device + SEC, NOW)).toEqual({ epochNs: NOW - 30n * SEC - device, timeSource: 'age' });
  });
  // promise: clock-rules
  it('lets a packet without a wall clock end now', () => {
    for (const t0UnixNs of [0n, 5n])
      expect(placeInTime({ t0DeviceNs: device, t0UnixNs, sentUnixNs: 0n }, device + SEC, NOW)).toEqual({
        epochNs: NOW - device - SEC,
        timeSource: 'arrival',
      });
  });
  it('takes what a recording states of itself as it is, before 1970 and in the future too', () => {
    for (const recordedUnixNs of [-2_208_988_800n * SEC, 0n, 7_258_118_399n * SEC])
      expect(placeInTime({ t0DeviceNs: device, t0UnixNs: NOW, sentUnixNs: NOW, recordedUnixNs }, device + SEC, NOW)).toEqual({
        epochNs: recordedUnixNs - device,
        timeSource: 'stated',
      });
  });
});
