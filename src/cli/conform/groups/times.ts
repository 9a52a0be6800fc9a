/** Times to the nanosecond, from 1900 on, in every zone; 64-bit numbers to the digit; late recordings in the windows of their own time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { need } from '../checks.ts';
import type { Run } from '../run.ts';
import { block, encoded, isoOf, newBoot, packet, SECOND_NS, staircase } from '../signals.ts';
import { lastYearNs, streamOf } from './ingest.ts';

const WEIGHT = 67;

export async function checkTimes(run: Run): Promise<void> {
  const { checks, stage, ada } = run;
  const as = stage.byScope.read;
  const id = await streamOf(run, stage.name('lastyear'));
  stage.ids.stream = id;
  const get = (path: string) => ({ method: 'GET', path, as });
  await checks.ask('epoch_ns to the digit', get(`/api/v1/streams/${id}`), {
    status: 200,
    says: `epoch_ns ${lastYearNs}, time_source stated`,
    test: ({ text }) => !(text.includes(`"epoch_ns":${lastYearNs}`) && text.includes('"time_source":"stated"')) && text.slice(0, 300),
  });
  const samples = (from: bigint, to: bigint) => get(`/api/v1/streams/${id}/samples?raw=true&since=${isoOf(from)}&until=${isoOf(to)}`);
  const first = (text: string): string => /"t0_ns":(-?\d+)/.exec(text)?.[1] ?? 'nothing';
  await checks.ask('t0_ns to the digit', samples(lastYearNs, lastYearNs + SECOND_NS), {
    status: 200,
    says: `t0_ns ${lastYearNs}, 250 samples`,
    test: ({ text, json }) => {
      const [segment] = json as { samples: number[] }[];
      return (
        (first(text) !== String(lastYearNs) || segment?.samples.length !== 250) &&
        `t0_ns ${first(text)}, ${segment?.samples.length} samples`
      );
    },
  });
  await checks.ask('since counts nanoseconds', samples(lastYearNs + 1n, lastYearNs + SECOND_NS), {
    status: 200,
    says: 'begins with the second sample',
    test: ({ text }) => first(text) !== String(lastYearNs + 4_000_000n) && `begins at ${first(text)}`,
  });
  await checks.ask('until is exclusive', samples(lastYearNs, lastYearNs + 4_000_000n), {
    status: 200,
    says: 'one sample',
    test: ({ json }) => (json as { samples: number[] }[])[0]?.samples.length !== 1 && 'not one',
  });
  await checks.ask('until may lie a nanosecond later', samples(lastYearNs, lastYearNs + 4_000_001n), {
    status: 200,
    says: 'two samples',
    test: ({ json }) => (json as { samples: number[] }[])[0]?.samples.length !== 2 && 'not two',
  });
  await checks.ask('until before since', samples(lastYearNs, lastYearNs - 1n), { status: 422, code: 'validation_failed' });

  const listed = (since: string, until: string) => get(`/api/v1/streams?subject_id=${ada.id}&since=${since}&until=${until}&limit=1000`);
  const holds = (wanted: boolean) => ({
    status: 200,
    says: wanted ? 'the recording is listed' : 'the recording is not listed',
    test: ({ json }: { json: unknown }) =>
      (json as { id: string }[]).some((one) => one.id === id) !== wanted && (wanted ? 'it is not' : 'it is'),
  });
  const windows: readonly (readonly [string, string, string, boolean])[] = [
    ['the minute around it', '2025-03-03T08:00:00Z', '2025-03-03T08:01:00Z', true],
    ['a second within it', '2025-03-03T08:00:05Z', '2025-03-03T08:00:06Z', true],
    ['its day, in another offset', '2025-03-03T00:00:00%2B05:30', '2025-03-04T00:00:00%2B05:30', true],
    ['the hour before', '2025-03-03T07:00:00Z', '2025-03-03T08:00:00Z', false],
    ['the hour after', '2025-03-03T08:01:00Z', '2025-03-03T09:00:00Z', false],
    ['today, when it came', new Date(Date.now() - 3_600_000).toISOString(), '2199-01-01T00:00:00Z', false],
  ];
  for (const [what, since, until, wanted] of windows)
    await checks.ask(`A recording of last year, ${what}`, listed(since, until), holds(wanted));

  await checkInstants(run);
  await checkFarTimes(run);
  await checkDays(run);
}

/** Times in requests. */
async function checkInstants({ checks, stage, ben }: Run): Promise<void> {
  const measured = (time: string, value: number) => ({
    method: 'POST',
    path: '/api/v1/measurements',
    as: stage.byScope.write,
    body: { subject_id: ben.id, measurements: [{ biosignal_id: WEIGHT, value, time }] },
  });
  const good: readonly (readonly [string, string, string])[] = [
    ['UTC', '2025-05-01T10:00:00Z', '2025-05-01T10:00:00'],
    ['an offset of a half hour', '2025-05-02T15:30:00+05:30', '2025-05-02T10:00:00'],
    ['an offset to the west', '2025-05-03T00:30:00-09:30', '2025-05-03T10:00:00'],
    ['fractions of a second', '2025-05-04T10:00:00.123456Z', '2025-05-04T10:00:00.123456'],
    ['the leap day', '2024-02-29T10:00:00Z', '2024-02-29T10:00:00'],
    ['the year 1900', '1900-01-01T00:00:00Z', '1900-01-01T00:00:00'],
    ['before the epoch', '1969-12-31T23:59:59Z', '1969-12-31T23:59:59'],
  ];
  for (const [index, [what, time, utc]] of good.entries()) {
    await checks.claim(
      `A time is the same moment: ${what}`,
      `POST /api/v1/measurements, ${time}`,
      `an observation at ${utc}Z`,
      async () => {
        await checks.within(measured(time, 70 + index), { status: 201 });
        const atMs = Date.parse(`${utc.slice(0, 19)}Z`);
        const [since, until] = [atMs, atMs + 1000].map((ms) => new Date(ms).toISOString());
        const path = `/api/v1/observations?biosignal_id=${WEIGHT}&subject_id=${ben.id}&since=${since}&until=${until}`;
        const { json } = await checks.within({ method: 'GET', path, as: stage.byScope.read }, { status: 200 });
        const found = json as { effective_time: string; value: number }[];
        need(found.length === 1 && found[0]?.value === 70 + index, `${found.length} observations in that second`);
        const got = found[0].effective_time;
        need(Date.parse(got) === Date.parse(`${utc}Z`), got);
        need((/\.(\d+)/.exec(got)?.[1] ?? '').replace(/0+$/, '') === (utc.split('.')[1] ?? ''), `${got}: the fraction`);
        return got;
      },
    );
  }
  const bad: Readonly<Record<string, string>> = {
    'no offset': '2025-05-01T10:00:00',
    'a day only': '2025-05-01',
    '30 February': '2025-02-30T10:00:00Z',
    '29 February of a common year': '2025-02-29T10:00:00Z',
    'the month 13': '2025-13-01T10:00:00Z',
    '25 o\u2019clock': '2025-05-01T25:00:00Z',
    'the year 1899': '1899-12-31T23:59:59Z',
    'the year 2200': '2200-01-01T00:00:00Z',
    'a week from now': new Date(Date.now() + 7 * 86_400_000).toISOString(),
    'a number': '1746093600',
    'an offset of 25 hours': '2025-05-01T10:00:00+25:00',
  };
  for (const [what, time] of Object.entries(bad))
    await checks.ask(`No time of a measurement: ${what}`, measured(time, 80), { status: 422, code: 'validation_failed' });
}

/** The ends of the calendar, and a device that has been on for decades. */
async function checkFarTimes(run: Run): Promise<void> {
  const { checks, stage, ada } = run;
  const cases: readonly (readonly [string, bigint, bigint])[] = [
    ['1 January 1900', BigInt(Date.UTC(1900, 0, 1)) * 1_000_000n, 0n],
    ['a nanosecond before 1970', -1n, 0n],
    ['30 December 2199', BigInt(Date.UTC(2199, 11, 30)) * 1_000_000n + 999_999_999n, 0n],
    ['a device time beyond 2^61 ns', BigInt(Date.UTC(2025, 5, 6)) * 1_000_000n + 7n, (1n << 61n) + 8_000_000n - ((1n << 61n) % 4_000_000n)],
  ];
  for (const [index, [what, startNs, t0DeviceNs]] of cases.entries()) {
    await checks.claim(`To the nanosecond: ${what}`, `a recording that states ${isoOf(startNs)}`, `t0_ns ${startNs}`, async () => {
      const deviceId = stage.name(`far${index}`);
      const sent = packet(deviceId, newBoot(), 0, ada.externalId, {
        t0DeviceNs,
        t0UnixNs: 0n,
        recordedUnixNs: startNs,
        blocks: [block(staircase(250))],
      });
      await checks.within({ method: 'POST', path: '/ingest/raw-packet', as: stage.byScope.ingest, bytes: encoded(sent) }, { status: 202 });
      const stream = await streamOf(run, deviceId);
      const path = `/api/v1/streams/${stream}/samples?raw=true&since=${isoOf(startNs)}&until=${isoOf(startNs + SECOND_NS)}`;
      const { text } = await checks.within({ method: 'GET', path, as: stage.byScope.read }, { status: 200 });
      const got = /"t0_ns":(-?\d+)/.exec(text)?.[1] ?? 'no samples';
      need(got === String(startNs), got);
      return got;
    });
  }
}

/** Checks calendar days: of 23 and 25 hours, and in half-hour zones. */
async function checkDays({ checks, client, stage, ben }: Run): Promise<void> {
  const days: readonly (readonly [string, string, string, string, number])[] = [
    ['Berlin, the day of 23 hours', 'Europe/Berlin', '2025-03-29T23:00:00Z', '2025-03-30T22:00:00Z', 50],
    ['Berlin, the day of 25 hours', 'Europe/Berlin', '2025-10-25T22:00:00Z', '2025-10-26T23:00:00Z', 52],
    ['New York, the day of 23 hours', 'America/New_York', '2025-03-09T05:00:00Z', '2025-03-10T04:00:00Z', 54],
    ['Kathmandu', 'Asia/Kathmandu', '2025-06-14T18:15:00Z', '2025-06-15T18:15:00Z', 56],
    ['Lord Howe, where the clock moves by half an hour', 'Australia/Lord_Howe', '2025-10-04T13:30:00Z', '2025-10-05T13:00:00Z', 58],
  ];
  for (const [what, tz, start, end, value] of days) {
    await checks.claim(
      `A day is a day: ${what}`,
      `a weight in its first and last minute and outside; POST /api/v1/charts/query by days in ${tz}`,
      `one bucket from ${start} with the mean of the two inside`,
      async () => {
        const [startMs, endMs] = [Date.parse(start), Date.parse(end)];
        const at = (ms: number, kg: number) => ({ biosignal_id: WEIGHT, value: kg, time: new Date(ms).toISOString() });
        const measurements = [at(startMs - 60_000, value - 5), at(startMs, value), at(endMs - 60_000, value + 1), at(endMs, value + 9)];
        await checks.within(
          { method: 'POST', path: '/api/v1/measurements', as: stage.byScope.write, body: { subject_id: ben.id, measurements } },
          { status: 201 },
        );
        const from = new Date(startMs - 86_400_000).toISOString();
        const to = new Date(endMs + 86_400_000).toISOString();
        const body = { subject_id: ben.id, series: [{ biosignal_id: WEIGHT, agg: 'mean' }], range: { from, to }, resolution: '1d', tz };
        let got = '';
        // Late data is in the charts within seconds.
        for (let i = 0; i < 20; i++) {
          const { json } = await checks.within(
            { method: 'POST', path: '/api/v1/charts/query', as: stage.byScope.read, body },
            { status: 200 },
          );
          const { data } = json as { data: number[][] };
          got = data.map(([ts, mean]) => `${new Date(ts ?? 0).toISOString()} ${mean}`).join(', ');
          if (data.some(([ts, mean]) => ts === startMs && mean === value + 0.5)) return got;
          await sleep(500, undefined, { signal: client.signal });
        }
        throw new Error(got === '' ? 'no bucket' : got);
      },
    );
  }
}
