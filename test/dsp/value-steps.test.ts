/** Every value is a whole number of the steps of its method, through the engine: of recordings, where they are there, and of a made-up
 *  stream with every kind of channel. That the service stores them so is held by reprocess.int.test.ts. */
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { streamRows } from '../../accuracy/hrv-stream.ts';
import type { PhysicalChannel, StreamRows } from '../../accuracy/hrv-stream.ts';
import { beatMethods, featureMethods } from '../../src/dsp/rows/methods.ts';
import { fixtureChannels, madeUpStream } from '../../src/dsp/testing/fixture.ts';
import { readBidmc, readE4, readSpc } from '../../src/formats/datasets.ts';
import { recording } from '../helpers/annotated-recordings.ts';

const steps = new Map(featureMethods.map(({ feature, step }) => [feature, step]));

/** Values that are not the decimal which a person would write with as many places as the step has, and how many were looked at. */
function look({ beats, features }: StreamRows): { seen: ReadonlySet<string>; offGrid: string[] } {
  const isDecimal = (value: number, step: number): boolean => value === Number(value.toFixed(Math.round(-Math.log10(step))));
  const offGrid = [...features.values()]
    .flat()
    .filter(({ feature, value }) => !isDecimal(value, steps.get(feature)!) || Object.is(value, -0))
    .map(({ feature, value }) => `${feature} ${value}`);
  const offBeats = beats
    .filter(({ ibiMs }) => !Number.isNaN(ibiMs) && !isDecimal(ibiMs, beatMethods.ecg.step))
    .map(({ method, ibiMs }) => `${method} ${ibiMs}`);
  return { seen: new Set(features.keys()), offGrid: [...offGrid, ...offBeats] };
}

const physical = (code: string, kind: PhysicalChannel['kind'], fs: number, unit: string, samples: Float64Array): PhysicalChannel => ({
  code,
  kind,
  fs,
  unit,
  samples,
});
const axes = (acc: readonly Float64Array[], fs: number): PhysicalChannel[] =>
  acc.map((samples, i) => physical(`acc.${'xyz'[i]}`, 'acc', fs, 'g', samples));

/** Five minutes and a half of every kind, breathing from a channel of its own or from the beats. */
function madeUp(hasBreath: boolean): PhysicalChannel[] {
  const channels = fixtureChannels.filter(({ kind }) => hasBreath || kind !== 'resp');
  const runs = madeUpStream(5, 0, 330, channels);
  const light = ['ppg.red', 'ppg.ir'].map((code, no) => {
    const samples = Float64Array.from({ length: 3300 }, (_, i) => 1e5 * (1 + (0.01 + 0.01 * no) * Math.sin((2 * Math.PI * 1.2 * i) / 100)));
    return physical(code, 'ppg', 100, '1', samples);
  });
  const others = channels.map(({ code, kind, rateNanoHz, unit, baseline, gain }, no) =>
    physical(
      code === 'ppg.ir' ? 'ppg.green' : code,
      kind,
      rateNanoHz / 1e9,
      unit,
      Float64Array.from(runs[no]!.samples, (x) => (x - baseline) / gain),
    ),
  );
  return [...others, ...light];
}

describe('values are whole steps', () => {
  it('of every feature, in a made-up stream', () => {
    const found = [true, false].map((hasBreath) => look(streamRows(madeUp(hasBreath))));
    expect(found.flatMap(({ offGrid }) => offGrid).slice(0, 10)).toEqual([]);
    const seen = new Set(found.flatMap((one) => [...one.seen]));
    expect([...steps.keys()].filter((feature) => !seen.has(feature))).toEqual([]);
  });

  const files = ['bidmc/bidmc_01_Signals.csv.gz', 'ieee_spc2015/DATA_01_TYPE01.csv.gz', 'stress_predict/S01/BVP.csv.gz'].map(recording);
  const [bidmc, spc, e4] = files;

  it.skipIf(bidmc == null)('of a patient: ECG, pulse and breath', () => {
    const { fs, signals } = readBidmc(dirname(bidmc!), 'bidmc_01');
    const found = look(
      streamRows([
        physical('ecg.ii', 'ecg', fs, 'mV', signals.get('II')!),
        physical('ppg.ir', 'ppg', fs, '1', signals.get('PLETH')!),
        physical('resp', 'resp', fs, '1', signals.get('RESP')!),
      ]),
    );
    expect(found.offGrid.slice(0, 10)).toEqual([]);
    for (const feature of ['hr_ecg', 'hr_ppg', 'sqi_ecg', 'sqi_ppg', 'resp_rate', 'hrv_sdnn_300s', 'prv_rmssd_60s'])
      expect(found.seen).toContain(feature);
  });

  it.skipIf(spc == null)('of a runner: pulse and acceleration', () => {
    const { fs, ppg, acc } = readSpc(dirname(spc!), 'DATA_01_TYPE01');
    const found = look(streamRows([...ppg.map((samples, i) => physical(`ppg.${i}`, 'ppg', fs, '1', samples)), ...axes(acc, fs)]));
    expect(found.offGrid.slice(0, 10)).toEqual([]);
    for (const feature of ['hr_ppg_motion', 'activity', 'steps', 'resp_rate_ppg']) expect(found.seen).toContain(feature);
  });

  it.skipIf(e4 == null)('of a wrist: skin conductance, temperature, acceleration', () => {
    const { eda, temp, acc } = readE4(dirname(dirname(e4!)), 'S01');
    const found = look(
      streamRows([
        physical('eda', 'eda', eda.fs, 'uS', eda.columns[0]!),
        physical('temp.skin', 'temp', temp.fs, 'Cel', temp.columns[0]!),
        ...axes(acc.columns, acc.fs),
      ]),
    );
    expect(found.offGrid.slice(0, 10)).toEqual([]);
    for (const feature of ['eda_tonic', 'scr_rate', 'temp_mean', 'activity']) expect(found.seen).toContain(feature);
  });
});
