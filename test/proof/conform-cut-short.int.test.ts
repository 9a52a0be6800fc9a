/** `biosignal conform` against a service that answers a single thing wrong, one that is away for a while, and interrupted. However it ends,
 *  nothing of it is left but empty projects, keys that are revoked, and the audit log; what a killed run left, a later one takes away. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RUN_MS_MAX, conform, rowsOf, whatIsLeft } from '../helpers/conform.ts';
import type { Summary } from '../helpers/conform.ts';
import { until } from '../helpers/database.ts';
import { runService } from '../helpers/running-service.ts';
import type { RunningService } from '../helpers/running-service.ts';

let running: RunningService;
beforeAll(async () => {
  running = await runService({ BIO_DSP_IDLE_FLUSH_MS: '1000' });
});
afterAll(() => running.close());

it(
  'finds an answer that is wrong, and cleans up',
  async () => {
    const proxy = await conflictsAsDuplicates(running.service.port);
    try {
      const { code, out } = await conform(running, [proxy.baseUrl, '--new-project', '--only', 'Ingest', '--json']);
      const { checks, left } = JSON.parse(out) as Summary;
      const failed = checks.filter(({ result }) => result === 'failed').map(({ name }) => name);
      expect(failed).toEqual(['Its number with other samples', 'Its number at another device time', 'Its number with one event more']);
      expect({ code, left }).toEqual({ code: 1, left: [] });
    } finally {
      await proxy.stop();
    }
    expect(await whatIsLeft(running)).toEqual({});
  },
  RUN_MS_MAX,
);

it(
  'cleans up when it is interrupted',
  async () => {
    const { code } = await conform(running, [running.service.baseUrl, '--new-project'], (stop) => {
      void until(async () => (await rowsOf(running, 'select count(*) from stream')) > 0, RUN_MS_MAX).then(() => stop());
    });
    expect(code).toBe(130);
    expect(await whatIsLeft(running)).toEqual({});
  },
  RUN_MS_MAX,
);

it(
  'takes away what a killed run has left, when it must be over',
  async () => {
    const url = running.service.baseUrl;
    await conform(running, [url, '--new-project'], (stop) => {
      void until(async () => (await rowsOf(running, 'select count(*) from stream')) > 0, RUN_MS_MAX).then(() => stop('SIGKILL'));
    });
    const left = await whatIsLeft(running);
    expect(Object.keys(left)).toEqual(expect.arrayContaining(['xuser', 'stream', 'api_key']));

    const soon = JSON.parse((await conform(running, [url, '--new-project', '--only', 'Description', '--json'])).out) as Summary;
    expect(soon.earlier).toContain('one is under way or was killed');
    expect(await whatIsLeft(running)).toMatchObject({ xuser: left['xuser'], api_key: left['api_key'] });

    await running.database.pool.query(`update api_key set expires_at = now() where name like 'conform-%'`); // the time has passed
    const later = JSON.parse((await conform(running, [url, '--new-project', '--only', 'Description', '--json'])).out) as Summary;
    expect(later.earlier).toContain('taken away:');
    expect(await whatIsLeft(running)).toEqual({});
  },
  RUN_MS_MAX,
);

it(
  'ends when the service is away, and cleans up when it is back',
  async () => {
    const proxy = await conflictsAsDuplicates(running.service.port);
    const { code, out } = await conform(running, [proxy.baseUrl, '--new-project', '--json'], () => {
      void until(async () => (await rowsOf(running, 'select count(*) from stream')) > 0, RUN_MS_MAX).then(async () => {
        await proxy.stop();
        setTimeout(() => void proxy.start(), 2000);
      });
    });
    await proxy.stop();
    const { cut, left } = JSON.parse(out) as Summary;
    expect(cut).toContain('the service is away');
    expect({ code, left }).toEqual({ code: 1, left: [] });
    expect(await whatIsLeft(running)).toEqual({});
  },
  RUN_MS_MAX,
);

/** A proxy that answers 409 of a device as if its packet had been stored before. */
async function conflictsAsDuplicates(
  servicePort: number,
): Promise<{ baseUrl: string; start: () => Promise<void>; stop: () => Promise<void> }> {
  const server = createServer((req, res) => {
    const { method, url: path, headers } = req;
    // A connection of its own for each: one that was kept may end at the moment in which it is used again.
    const onward = request({ host: '127.0.0.1', port: servicePort, method, path, headers, agent: false }, (answer) => {
      if (answer.statusCode !== 409 || req.url !== '/ingest/raw-packet') {
        res.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(res);
        return;
      }
      answer.resume();
      const reply = { accepted: 0, duplicates: 1, unverified: 0, rejected: [], high_seq: 0, server_time_ns: 0 };
      res.writeHead(202, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    });
    onward.on('error', () => res.destroy());
    req.pipe(onward);
  });
  const listen = (port: number): Promise<void> => new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const stop = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { baseUrl: `http://127.0.0.1:${port}`, start: () => listen(port), stop };
}
