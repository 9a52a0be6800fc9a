import { expect, it } from 'vitest';
import type { SampleSegment } from '../../query/samples.ts';
import { UsageError } from '../command.ts';
import { MISSING } from '../client/recording.ts';
import { fileStem, joinSegments } from './stretch.ts';
import type { StreamRow } from './stretch.ts';

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

it('names the files of two recordings apart, however long the id of their person is', () => {
  const stems = ['11111111-0000', '22222222-0000'].map((uuid) =>
    fileStem({ subject: `${'long '.repeat(50)}id`, uuid } as StreamRow, 1_767_225_600_000_000_000n),
  );
  expect(stems.map((stem) => stem.slice(-29))).toEqual(['-2026-01-01T00_00_00-11111111', '-2026-01-01T00_00_00-22222222']);
  expect(Math.max(...stems.map((stem) => stem.length))).toBeLessThanOrEqual(100);
});
