/** The speed goals, by name: what each is, the figure to reach and which way is better. Benches report against them. */
export type Goal = Readonly<{ what: string; unit: string; target: number; better: 'higher' | 'lower' }>;

export const goals = {
  P1: { what: 'devices with a viewer each, per core', unit: 'devices/core', target: 8000, better: 'higher' },
  P2: { what: 'devices per core, ingest only', unit: 'devices/core', target: 14_000, better: 'higher' },
  P3: { what: 'samples per core and second in packets of 1 s, stored and filtered', unit: 'M samples/s', target: 80, better: 'higher' },
  P4: { what: 'HTTP POST, CPU per packet over a bare handler', unit: 'ratio', target: 1.25, better: 'lower' },
  P5: { what: 'PostgreSQL CPU per sample', unit: 'ns', target: 8, better: 'lower' },
  'P6 MIMIC-like': { what: 'bytes per sample on disk, 125 Hz', unit: 'bytes', target: 1.2, better: 'lower' },
  'P6 16 bit': { what: 'bytes per sample on disk, 16 bit at 1 kHz', unit: 'bytes', target: 1.6, better: 'lower' },
  'P7 peaks': { what: 'R peaks alone, packets of 90', unit: 'M samples/s', target: 120, better: 'higher' },
  'P7 chain': { what: 'the whole chain of one ECG channel', unit: 'M samples/s', target: 40, better: 'higher' },
  'P8 p50': { what: '24 h at 1-minute buckets under ingest, median', unit: 'ms', target: 5, better: 'lower' },
  'P8 p99': { what: '24 h at 1-minute buckets under ingest, p99', unit: 'ms', target: 20, better: 'lower' },
  P9: { what: 'raw 5 minutes x 4 channels', unit: 'ms', target: 4, better: 'lower' },
  'P10 p50': { what: 'packet received to frame delivered at 80 % load, median', unit: 'ms', target: 2, better: 'lower' },
  'P10 p99': { what: 'packet received to frame delivered at 80 % load, p99', unit: 'ms', target: 20, better: 'lower' },
  P11: { what: 'packet acknowledged to queryable, p99', unit: 'ms', target: 1000, better: 'lower' },
  'P12 viewer': { what: 'memory of an idle viewer', unit: 'kB', target: 1.5, better: 'lower' },
  'P12 device': { what: 'memory of a streaming device', unit: 'kB', target: 12, better: 'lower' },
  P13: { what: 'decode with validation over protobufjs static', unit: 'times', target: 3, better: 'higher' },
  P14: { what: 'tick jitter with a peer that never stops sending, p99', unit: 'ms', target: 20, better: 'lower' },
  'U2 core': { what: 'bio-core.js, brotli', unit: 'B', target: 14_000, better: 'lower' },
  'U2 all': { what: 'bio-widgets.js with charts and live traces, brotli', unit: 'B', target: 45_000, better: 'lower' },
  'U2 viewer': { what: 'bio-recording.js, brotli', unit: 'B', target: 60_000, better: 'lower' },
  U4: { what: 'a step in the viewer of a recording of a day, p95', unit: 'ms', target: 200, better: 'lower' },
  R4: { what: 'frame p99 of 100 viewers with 100 slow ones, over alone', unit: 'times', target: 1.2, better: 'lower' },
} as const satisfies Readonly<Record<string, Goal>>;

export type GoalName = keyof typeof goals;

export function reached(goal: Goal, value: number): boolean {
  return goal.better === 'higher' ? value >= goal.target : value <= goal.target;
}
