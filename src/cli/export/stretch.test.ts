import { expect, it } from 'vitest';
import type { SampleSegment } from '../../query/samples.ts';
import { UsageError } from '../command.ts';
import { MISSING } from '../client/recording.ts';
import { joinSegments } from './stretch.ts';

const segment = (over: Partial<SampleSegment>): SampleSegment =>
  ({
    channelNo: 0,
    code: 'ecg.ii',
    kind: 'ecg',
    unit: 'mV',
    lead: '',
    rateNanoHz: 4e9,
    t0Ns: 0n,
    k0: 0,
    gain: 1,
    baseline: 0,
    samples: new Int32Array(0),
    qmask: null,
    ...over,
  }) as SampleSegment;

it('one infinite sample leaves the others of a float channel as they are', () => {
  const [column] = joinSegments([segment({ samples: Float32Array.of(1, Infinity, NaN, -2.5) })], 0n);
  const { config, samples } = column!;
  expect([samples[1], samples[2]]).toEqual([MISSING, MISSING]);
  expect([samples[0]! / config.gain, samples[3]! / config.gain]).toEqual([1, -2.5]);
});

it('counts the places of a gap: two samples a day apart at 1 MHz are more than one file may hold', () => {
  const apart = [
    segment({ rateNanoHz: 1e15, samples: Int32Array.of(1) }),
    segment({ rateNanoHz: 1e15, k0: 86_400_000_000, samples: Int32Array.of(2) }),
  ];
  expect(() => joinSegments(apart, 0n)).toThrow(UsageError);
});
