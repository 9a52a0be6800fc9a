/** Checks the promises of a live feed over many random arrivals: no frame twice, none out of order, no sample twice, none invented. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../bench/lib/packets.ts';
import type { LiveFrame } from '../proto/frame-codec.ts';
import { decodeFrame } from '../proto/frame-codec.ts';
import type { ChannelConfig, ChannelNo, SampleRun, StreamId } from '../signal.ts';
import { gridCeil, gridTimeNs } from '../signal.ts';
import type { LiveStream } from './frame-clock.ts';
import { FrameClock } from './frame-clock.ts';
import { encodeWindow } from './window-encoder.ts';

const START_MS = 1_790_000_000_000;
const DEADLINE_MS = 250;

function channel(code: string, fs: number, kind: ChannelConfig['kind'] = 'ecg'): ChannelConfig {
  return { code, kind, rateNanoHz: Math.round(fs * 1e9), gain: 1, baseline: 0, unit: 'mV', lead: '' };
}

function stream(id: number, epochMs: number, channels: ChannelConfig[]): LiveStream {
  return { streamId: id as StreamId, epochNs: BigInt(epochMs) * 1_000_000n, channels };
}

/** Samples of device time [fromMs, toMs): the value is the grid index, so that every sample can be recognised. */
function runs(s: LiveStream, fromMs: number, toMs: number, skip: readonly number[] = []): SampleRun[] {
  return s.channels.flatMap((config, channelNo) => {
    const k0 = gridCeil(BigInt(Math.round(fromMs * 1e6)), config.rateNanoHz);
    const k1 = gridCeil(BigInt(Math.round(toMs * 1e6)), config.rateNanoHz);
    if (k1 <= k0 || skip.includes(channelNo)) return [];
    return [
      { channelNo: channelNo as ChannelNo, k0, samples: Int32Array.from({ length: k1 - k0 }, (_, i) => (k0 + i) % 100_000), qmask: null },
    ];
  });
}

class Feed {
  readonly clock: FrameClock;
  readonly frames: LiveFrame[] = [];
  nowMs = 0;

  constructor(fromNs: bigint | null = null) {
    this.clock = new FrameClock(DEADLINE_MS, fromNs);
  }

  push(s: LiveStream, pushed: readonly SampleRun[]): void {
    this.clock.push(s, pushed, this.nowMs, START_MS + this.nowMs);
    this.#advance();
  }

  wait(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.clock.dueMs <= untilMs) {
      this.nowMs = Math.max(this.nowMs, this.clock.dueMs);
      this.#advance();
    }
    this.nowMs = untilMs;
  }

  #advance(): void {
    this.clock.advance(this.nowMs, (incomplete) => {
      this.frames.push(decodeFrame(encodeWindow(this.clock, 'subject', incomplete, [], null).slice()));
    });
  }
}

/** Checks the promises against the streams, and counts the delivered samples per source and channel. */
function check(frames: readonly LiveFrame[], streams: readonly LiveStream[]): Map<string, Set<number>> {
  const seen = new Map<string, Set<number>>();
  let last = { seq: -1, t0Ns: -1n };
  for (const frame of frames) {
    expect(frame.seq).toBeGreaterThan(last.seq);
    expect(frame.t0Ns - last.t0Ns).toBeGreaterThanOrEqual(100_000_000n);
    expect(frame.seq).toBe(Number(frame.t0Ns / 100_000_000n));
    last = frame;
    let any = false;
    for (const c of frame.channels) {
      const s = streams[c.source]!;
      const config = s.channels.find((other) => other.code === c.code)!;
      const key = `${c.source}/${c.code}`;
      const delivered = seen.get(key) ?? new Set();
      seen.set(key, delivered);
      const firstNs = frame.t0Ns + BigInt(c.tOffsetNs) - s.epochNs;
      for (let i = 0; i < c.samples.length; i++) {
        if (Number.isNaN(c.samples[i])) {
          expect(c.qmask?.[i]).toBe(2);
          continue;
        }
        any = true;
        const k = Math.round((Number(firstNs) / 1e18) * config.rateNanoHz) + i;
        expect(c.samples[i]).toBe(k % 100_000);
        const offNs = Number(gridTimeNs(k, config.rateNanoHz) - firstNs) - (i / config.rateNanoHz) * 1e18;
        expect(Math.abs(offNs)).toBeLessThan(1000);
        expect(delivered.has(k), `${key} sample ${k} twice`).toBe(false);
        delivered.add(k);
        // In its own window, or late.
        const inFrameNs = c.tOffsetNs + (i / config.rateNanoHz) * 1e18;
        expect(inFrameNs).toBeLessThan(100_000_000);
      }
    }
    expect(any, 'a frame without a sample').toBe(true);
  }
  return seen;
}

describe('FrameClock', () => {
  // promise: frames-100ms
  it('sends a frame the moment its packet is there, one for each packet of 100 ms', () => {
    const s = stream(1, START_MS - 5000, [channel('ecg', 250), channel('ppg', 100, 'ppg'), channel('temp', 1, 'temp')]);
    const feed = new Feed();
    for (let i = 0; i < 50; i++) {
      feed.push(s, runs(s, 5000 + i * 100, 5100 + i * 100));
      feed.wait(100);
      expect(feed.frames.length).toBe(i + 1);
    }
    expect(feed.frames.every((frame) => !frame.incomplete && frame.ecg.length === 25 && frame.ppg.length === 10)).toBe(true);
    expect(feed.frames.filter((frame) => frame.temp.length === 1)).toHaveLength(5);
    expect(feed.frames[0]!.channels.map((c) => c.primary)).toEqual([true, true, true]);
    check(feed.frames, [s]);
  });

  // promise: frame-order
  it('delivers every sample in order for rates from 1 Hz to 1 kHz and packets of any length', () => {
    const random = seededRandom(11);
    for (const fs of [1, 4, 32, 125, 130.1, 250, 360, 1000]) {
      const s = stream(1, START_MS - 1000 - Math.round(random() * 1000), [channel('ecg', fs)]);
      const feed = new Feed();
      let atMs = 1234.5;
      while (atMs < 12_000) {
        const lengthMs = 20 + random() * 700;
        feed.push(s, runs(s, atMs, atMs + lengthMs));
        feed.wait(lengthMs);
        atMs += lengthMs;
      }
      feed.wait(3000);
      const seen = check(feed.frames, [s]);
      const sent = runs(s, 1234.5, atMs)[0]!;
      expect(seen.get('0/ecg')?.size).toBe(sent.samples.length);
      // Only the last window may be cut short by the end of the data.
      expect(feed.frames.slice(0, -1).every((frame) => frame.channels.every((c) => c.qmask === null))).toBe(true);
    }
  });

  // promise: frame-deadline, late-samples
  it('waits for a slower device until the deadline, says what is missing, and sends the rest late', () => {
    const a = stream(1, START_MS, [channel('ecg', 250)]);
    const b = stream(2, START_MS, [channel('ppg', 100, 'ppg')]);
    const feed = new Feed();
    for (let i = 0; i < 30; i++) {
      feed.push(a, runs(a, i * 100, i * 100 + 100));
      if (i < 10) feed.push(b, runs(b, i * 100, i * 100 + 100));
      feed.wait(100);
    }
    // b was silent from 1.0 s on and now sends 2 s at once.
    feed.push(b, runs(b, 1000, 3000));
    feed.push(a, runs(a, 3000, 3100));
    feed.wait(500);
    const seen = check(feed.frames, [a, b]);
    expect(feed.frames.some((frame) => frame.incomplete)).toBe(true);
    expect(seen.get('0/ecg')?.size).toBe(31 * 25);
    expect(seen.get('1/ppg')?.size).toBe(300);
    expect(feed.frames.some((frame) => frame.channels.some((c) => c.tOffsetNs < 0))).toBe(true);
  });

  // promise: frame-deadline, missed-five
  // job: frames
  it('holds a frame no longer than the deadline, and stops waiting for a channel that never comes in time', () => {
    const a = stream(1, START_MS, [channel('ecg', 250)]);
    const b = stream(2, START_MS, [channel('ppg', 100, 'ppg')]);
    const feed = new Feed();
    const lag: number[] = [];
    for (let i = 0; i < 40; i++) {
      feed.push(a, runs(a, i * 100, i * 100 + 100));
      if (i % 10 === 9) feed.push(b, runs(b, (i - 9) * 100, (i + 1) * 100));
      feed.wait(100);
      lag.push(i + 1 - feed.frames.length);
    }
    expect(Math.max(...lag)).toBeLessThanOrEqual(4);
    // While five frames wait for the channel others queue behind them; after that each leaves with its packet.
    expect(Math.min(...lag.slice(11, 16))).toBeGreaterThan(0);
    expect(Math.max(...lag.slice(16))).toBe(0);
    const seen = check(feed.frames, [a, b]);
    expect(seen.get('0/ecg')?.size).toBe(1000);
    // Its samples are not lost to viewers: they come late.
    expect(seen.get('1/ppg')!.size).toBeGreaterThanOrEqual(300);
  });

  it('sends five seconds that came at once as fifty frames in order', () => {
    const s = stream(1, START_MS - 5000, [channel('ecg', 250)]);
    const feed = new Feed();
    for (let i = 0; i < 4; i++) {
      feed.push(s, runs(s, i * 5000, i * 5000 + 5000));
      feed.wait(5000);
    }
    check(feed.frames, [s]);
    expect(feed.frames).toHaveLength(200);
  });

  // promise: empty-windows
  it('leaves out windows without samples and goes on after a gap', () => {
    const s = stream(1, START_MS, [channel('ecg', 250)]);
    const feed = new Feed();
    feed.push(s, runs(s, 0, 500));
    feed.wait(1500);
    feed.push(s, runs(s, 1500, 2000));
    feed.wait(1000);
    check(feed.frames, [s]);
    expect(feed.frames).toHaveLength(10);
  });

  // promise: clock-leaps
  it('goes on where another node has stopped, and sends no window again whatever comes again', () => {
    const s = stream(1, START_MS - 5000, [channel('ecg', 250), channel('ppg', 100, 'ppg')]);
    const former = new Feed();
    for (let i = 0; i < 20; i++) {
      former.push(s, runs(s, 5033 + i * 100, 5133 + i * 100));
      former.wait(100);
    }
    const last = former.frames.at(-1)!;
    const feed = new Feed(last.t0Ns + 100_000_000n);
    for (let i = 10; i < 40; i++) {
      feed.push(s, runs(s, 5033 + i * 100, 5133 + i * 100));
      feed.wait(100);
    }
    expect(feed.frames.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, i) => last.seq + 1 + i));
    expect(feed.frames[0]!.t0Ns - last.t0Ns).toBe(100_000_000n);
    check(feed.frames, [s]); // what the former owner was sent may come again as late: no node knows whether it was shown
  });

  it('does not follow one packet with a wild time, and follows a clock that has really leapt', () => {
    const s = stream(1, START_MS, [channel('ecg', 250)]);
    const feed = new Feed();
    const at = (ms: number): void => {
      feed.push(s, runs(s, ms, ms + 100));
      feed.wait(100);
    };
    for (let i = 0; i < 10; i++) at(i * 100);
    feed.push(s, runs(s, 400_000, 400_100));
    for (let i = 10; i < 20; i++) at(i * 100);
    expect(feed.frames).toHaveLength(20);
    for (let i = 0; i < 10; i++) at(500_000 + i * 100);
    expect(feed.frames.length).toBeGreaterThanOrEqual(27);
    for (let i = 20; i < 30; i++) at(i * 100); // back again: behind windows that have left
    feed.wait(3000);
    check(feed.frames, [s]);
  });

  // promise: history-not-live
  it('leaves out what a device catches up on, and shows a stream whose clock is simply wrong', () => {
    const s = stream(1, START_MS - 300_000, [channel('ecg', 250)]);
    const feed = new Feed();
    for (let ms = 0; ms < 300_000; ms += 1000) {
      feed.push(s, runs(s, ms, ms + 1000)); // five minutes within three seconds
      feed.wait(10);
    }
    feed.wait(3000);
    check(feed.frames, [s]);
    expect(Number(feed.frames[0]!.t0Ns / 1_000_000n)).toBeGreaterThan(START_MS - 61_000);
    const wrong = stream(2, START_MS - 120_000, [channel('ecg', 250)]);
    const other = new Feed();
    for (let ms = 0; ms < 20_000; ms += 100) {
      other.push(wrong, runs(wrong, ms, ms + 100));
      other.wait(100);
    }
    check(other.frames, [wrong]);
    expect(other.frames.length).toBeGreaterThan(90);
  });

  // promise: late-samples, devices-share
  it('keeps its promises for devices that come and go, late, shuffled and repeated packets', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = seededRandom(seed);
      const streams = [
        stream(1, START_MS - Math.floor(random() * 1000), [channel('ecg', 250), channel('eda', 4, 'eda')]),
        stream(2, START_MS - Math.floor(random() * 1000), [channel('ppg', 64, 'ppg'), channel('acc.x', 32, 'acc')]),
        stream(3, START_MS - Math.floor(random() * 1000), [channel('ecg', 130.1)]),
      ];
      const events: { atMs: number; s: LiveStream; part: SampleRun[] }[] = [];
      for (const s of streams) {
        const offMs = START_MS - Number(s.epochNs / 1_000_000n);
        const from = random() * 4000;
        const to = from + 2000 + random() * 6000;
        const lengthMs = 50 + random() * 400;
        for (let ms = from; ms < to; ms += lengthMs) {
          if (random() < 0.05) continue; // lost
          const part = runs(s, ms + offMs, ms + offMs + lengthMs);
          const delay = random() < 0.1 ? random() * 3000 : random() * 60;
          events.push({ atMs: ms + lengthMs + delay, s, part });
          if (random() < 0.05) events.push({ atMs: ms + lengthMs + delay + random() * 2000, s, part });
        }
      }
      events.sort((a, b) => a.atMs - b.atMs);
      const feed = new Feed();
      const order: LiveStream[] = [];
      for (const { atMs, s, part } of events) {
        if (atMs > feed.nowMs) feed.wait(atMs - feed.nowMs);
        if (!order.includes(s)) order.push(s);
        feed.push(s, part);
      }
      feed.wait(5000);
      check(feed.frames, order);
      expect(feed.frames.length).toBeGreaterThan(15);
    }
  });
});
