import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import { chooseEpochNs, ClockFitter } from './clock-fit.ts';

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
    for (let i = 0; i < 50; i++) fitter.add(BigInt(i) * 20_000_000n, NOW + BigInt(i) * 20_000_000n);
    expect(fitter.fit()).toBeNull();
  });
});

describe('chooseEpochNs', () => {
  const device = 100n * SEC;
  it('takes a synchronised wall clock as it is', () => {
    const packet = { t0DeviceNs: device, t0UnixNs: NOW - 5n * SEC, sentUnixNs: NOW - SEC };
    expect(chooseEpochNs(packet, device + SEC, NOW)).toBe(NOW - 5n * SEC - device);
  });
  it('takes the age from a wall clock that is wrong', () => {
    const packet = { t0DeviceNs: device, t0UnixNs: 1000n * SEC, sentUnixNs: 1030n * SEC };
    expect(chooseEpochNs(packet, device + SEC, NOW)).toBe(NOW - 30n * SEC - device);
  });
  it('lets a packet without a wall clock end now', () => {
    expect(chooseEpochNs({ t0DeviceNs: device, t0UnixNs: 0n, sentUnixNs: 0n }, device + SEC, NOW)).toBe(NOW - device - SEC);
    expect(chooseEpochNs({ t0DeviceNs: device, t0UnixNs: 5n, sentUnixNs: 0n }, device + SEC, NOW)).toBe(NOW - device - SEC);
  });
});
