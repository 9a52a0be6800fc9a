/** Both sockets: the handshake, in-band messages, frames of 100 ms, settled packets, and how they close. */
import { decodeFrame } from '../../../../sdk/frame.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { need } from '../checks.ts';
import { readReply } from '../messages.ts';
import type { Reply } from '../messages.ts';
import type { Run } from '../run.ts';
import { block, encoded, heartbeat, newBoot, nowNs, packet } from '../signals.ts';
import { checkBrief } from './ends.ts';
import { openSocket } from './websocket.ts';

export async function checkSockets(run: Run): Promise<void> {
  await checkHandshakes(run);
  await checkInBand(run);
  await checkFrames(run);
  await checkEnds(run);
  await checkIngestSocket(run);
}

const secretOf = (headers: Readonly<Record<string, string>>): string => (headers['authorization'] ?? '').replace('Bearer ', '');

/** Checks refused handshakes over plain HTTP, because a WebSocket client does not report the reason. */
async function checkHandshakes(run: Run): Promise<void> {
  const { checks, raw, stage, ada, ben } = run;
  const { read, ingest } = stage.byScope;
  const offer = (secret: string): string => `Sec-WebSocket-Protocol: bio.v1, bio.bearer.${Buffer.from(secret).toString('base64url')}\r\n`;
  const upgrade = (path: string, headers: string, changes: Readonly<{ version?: string; upgrade?: string }> = {}): string =>
    `GET ${path} HTTP/1.1\r\nHost: ${raw.host}\r\nConnection: Upgrade\r\nUpgrade: ${changes.upgrade ?? 'websocket'}\r\n` +
    `Sec-WebSocket-Version: ${changes.version ?? '13'}\r\nSec-WebSocket-Key: Y29uZm9ybS1jb25mb3JtIQ==\r\n${headers}\r\n`;
  const cases: readonly (readonly [string, string, string | null, string, readonly number[]])[] = [
    ['without a credential', `/ws?subject=${ada.id}`, 'Sec-WebSocket-Protocol: bio.v1\r\n', '', [401]],
    ['with a project key', `/ws?subject=${ada.id}`, offer(stage.project.key), '', [401]],
    ['with a key of scope ingest', `/ws?subject=${ada.id}`, typeof ingest === 'string' ? null : offer(secretOf(ingest.headers)), '', [403]],
    ['without a subject', '/ws', offer(ada.token), '', [422]],
    ['with a parameter that is not known', `/ws?subject=${ada.id}&colour=red`, offer(ada.token), '', [422]],
    ['with the token in the address', `/ws?subject=${ada.id}&token=${ada.token}`, '', '', [401, 422]],
    ['without the protocol', `/ws?subject=${ada.id}`, offer(ada.token).replace('bio.v1, ', 'bio.v9, '), '', [400]],
    ['of another version', `/ws?subject=${ada.id}`, offer(ada.token), 'version', [400, 426]],
    ['that is no upgrade', `/ws?subject=${ada.id}`, offer(ada.token), 'plain', [400, 426]],
    [
      'with a key from a page',
      `/ws?subject=${ada.id}`,
      typeof read === 'string' ? null : `${offer(secretOf(read.headers))}Origin: https://conform.invalid\r\n`,
      '',
      [403],
    ],
    ['of a device, without a credential', '/ingest/stream', 'Sec-WebSocket-Protocol: bio.v1\r\n', '', [401]],
    ['of a device, with a key of scope read', '/ingest/stream', typeof read === 'string' ? null : offer(secretOf(read.headers)), '', [403]],
  ];
  for (const [what, path, headers, change, statuses] of cases) {
    const name = `A handshake ${what}`;
    if (headers === null) {
      checks.skip(name, 'the given key lacks the scope');
      continue;
    }
    await checks.claim(name, `GET ${path.split('?')[0]} with Upgrade`, `${statuses.join(' or ')}, and no socket`, async () => {
      const bytes =
        change === 'plain'
          ? upgrade(path, headers).replace('Connection: Upgrade\r\nUpgrade: websocket\r\n', '')
          : upgrade(path, headers, change === 'version' ? { version: '8' } : {});
      const { statuses: got, text } = await raw.exchange([bytes], { answers: 1 });
      need(
        got.length === 1 && statuses.includes(got[0] ?? 0),
        `${got.join(', ') || 'no answer'} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`,
      );
      return `${got[0]} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`;
    });
  }
  await checks.claim('The service echoes bio.v1 and never the credential', '/ws with a token in the subprotocols', 'bio.v1', async () => {
    const socket = await openSocket(run, `/ws?subject=${ada.id}`, ada.token);
    socket.close();
    need(socket.protocol === 'bio.v1', socket.protocol);
    return socket.protocol;
  });
  await checks.claim("Another person's feed", `/ws?subject= of ada with ben's token`, 'refused, or closed with 4507', async () => {
    const socket = await openSocket(run, `/ws?subject=${ada.id}`, ben.token).catch(() => null);
    if (socket === null) return 'refused';
    const code = await socket.closed(5000);
    need(code === 4507 && socket.binary.length === 0, `closed with ${code}, ${socket.binary.length} frames`);
    return '4507';
  });
  await checks.claim(
    'A feed of another project',
    '/ws?subject= of ada with a key of another project',
    'refused, or closed with 4507',
    async () => {
      const { otherFull } = stage;
      if (typeof otherFull === 'string') return otherFull;
      const socket = await openSocket(run, `/ws?subject=${ada.id}`, secretOf(otherFull.headers)).catch(() => null);
      if (socket === null) return 'refused';
      const code = await socket.closed(5000);
      need(code === 4507, `closed with ${code}`);
      return '4507';
    },
  );
}

async function checkInBand(run: Run): Promise<void> {
  const { checks, ada, ben } = run;
  const socket = await openSocket(run, `/ws?subject=${ada.id}`, ada.token);
  const said = (type: string) => socket.texts.filter((text) => text['type'] === type);
  const talk = (name: string, message: unknown, expected: string, test: () => string | Promise<string>): Promise<boolean> =>
    checks.claim(
      name,
      `/ws: ${typeof message === 'string' ? message : JSON.stringify(message).replaceAll(/eyJ[\w.-]+/g, '…')}`,
      expected,
      async () => {
        if (message !== '') await socket.send(typeof message === 'string' ? message : JSON.stringify(message));
        return await test();
      },
    );
  const errors = (): number => said('error').length;
  const refused = async (count: number, code: string): Promise<string> => {
    await socket.until('an error', () => errors() >= count);
    const got = String(said('error').at(-1)?.['code']);
    need(got === code, got);
    return got;
  };
  await talk('It greets', '', 'ready with the subject and window_ms 100', async () => {
    await socket.until('ready', () => said('ready').length > 0);
    const [ready] = said('ready');
    need(ready?.['subject'] === ada.id && ready['window_ms'] === 100, JSON.stringify(ready));
    return JSON.stringify({ ...ready, subject: '…' });
  });
  await talk('ping', { type: 'ping', id: 7 }, 'pong with the id and the time', async () => {
    await socket.until('pong', () => said('pong').length > 0);
    const [pong] = said('pong');
    need(pong?.['id'] === 7 && Math.abs(Number(pong['time_ms']) - Date.now()) < 120_000, JSON.stringify(pong));
    return JSON.stringify(pong);
  });
  await talk('subscribe', { type: 'subscribe', channels: ['ppg', 'ecg'], max_rate_hz: 5 }, 'subscribed to ecg, ppg at 5 Hz', async () => {
    await socket.until('subscribed', () => said('subscribed').length > 0);
    const [subscribed] = said('subscribed');
    need(JSON.stringify(subscribed?.['channels']) === '["ecg","ppg"]' && subscribed?.['max_rate_hz'] === 5, JSON.stringify(subscribed));
    return JSON.stringify(subscribed);
  });
  await talk('A channel that is none', { type: 'subscribe', channels: ['ECG II'] }, 'error validation_failed', () =>
    refused(1, 'validation_failed'),
  );
  await talk('What is no JSON', '{', 'error bad_request', () => refused(2, 'bad_request'));
  await talk('What nobody knows', { type: 'conform' }, 'error bad_request', () => refused(3, 'bad_request'));
  await talk('A replay of what is long gone', { type: 'replay', after: 1 }, 'replay too_old with replay_too_old', async () => {
    await socket.until('replay', () => said('replay').length > 0);
    const [replay] = said('replay');
    need(replay?.['status'] === 'too_old' && replay['code'] === 'replay_too_old', JSON.stringify(replay));
    return JSON.stringify(replay);
  });
  await talk('A token that is none', { type: 'auth', token: 'conform' }, 'error credential_invalid, and the socket lives', async () => {
    const got = await refused(4, 'credential_invalid');
    need((await socket.closed(300)) === 0, 'it was closed');
    return got;
  });
  await talk('A new token of the same person', { type: 'auth', token: ada.token }, 'auth with its end', async () => {
    await socket.until('auth', () => said('auth').length > 0);
    const endMs = Number(said('auth')[0]?.['expires_at_ms']);
    need(endMs > Date.now() && endMs < Date.now() + 3_660_000, String(endMs));
    return 'auth';
  });
  await talk('A token of another person', { type: 'auth', token: ben.token }, 'closed with 4503', async () => {
    const code = await socket.closed(5000);
    need(code === 4503, `closed with ${code}`);
    return String(code);
  });
  socket.close();
}

async function checkFrames(run: Run): Promise<void> {
  const { checks, client, stage, ada } = run;
  const socket = await openSocket(run, `/ws?subject=${ada.id}`, ada.token);
  const device = stage.name('live');
  const boot = newBoot();
  const startNs = nowNs();
  const as = stage.byScope.ingest;
  const frames = () => socket.binary.map((bytes) => decodeFrame(bytes));
  await checks.claim(
    'Frames of 100 ms',
    '24 packets of 100 ms, ten a second; /ws meanwhile',
    'frames of 100 ms with ecg, seq ascending, t0_ns 100 ms apart',
    async () => {
      await socket.until('ready', () => socket.texts.length > 0);
      for (let seq = 0; seq < 24; seq++) {
        const t0DeviceNs = BigInt(seq) * 100_000_000n;
        const t0UnixNs = startNs + t0DeviceNs;
        const sent = packet(device, boot, seq, ada.externalId, {
          t0DeviceNs,
          t0UnixNs,
          sentUnixNs: nowNs(),
          blocks: [block(heartbeat(25, 25 * seq))],
        });
        await checks.within({ method: 'POST', path: '/ingest/raw-packet', as, bytes: encoded(sent) }, { status: 202 });
        const aheadMs = Number(startNs / 1_000_000n) + 100 * (seq + 1) - Date.now();
        if (aheadMs > 0) await sleep(aheadMs, undefined, { signal: client.signal });
      }
      await socket.until('frames', () => socket.binary.length >= 16);
      const got = frames();
      const wrong = got.find((frame) => frame.durationMs !== 100 || frame.subject !== ada.id);
      need(wrong === undefined, `duration ${wrong?.durationMs}`);
      need(
        got.every((frame, i) => i === 0 || frame.seq > (got[i - 1]?.seq ?? 0)),
        'seq does not ascend',
      );
      need(
        got.every((frame, i) => i === 0 || (frame.t0Ns - (got[i - 1]?.t0Ns ?? 0n)) % 100_000_000n === 0n),
        't0_ns is not on the grid of 100 ms',
      );
      const full = got.filter(({ ecg }) => ecg.length === 25).length;
      need(full >= 12, `${full} of ${got.length} frames have 25 samples of ECG`);
      return `${got.length} frames, ${full} with 25 samples`;
    },
  );
  await checks.claim('Frames hold what was sent, in millivolts', 'the frames above', 'the samples that were sent, gain 200', async () => {
    const sent = Array.from(heartbeat(750), (lsb) => Math.fround(lsb / 200));
    const got = frames()
      .flatMap(({ ecg }) => Array.from(ecg))
      .filter((value) => !Number.isNaN(value));
    const first = sent.findIndex((_, i) => got.slice(0, 30).every((value, k) => Math.abs(value - (sent[i + k] ?? Infinity)) < 1e-6));
    need(got.length > 280 && first >= 0, `${got.length} samples, not found among those sent`);
    const other = got.findIndex((value, k) => Math.abs(value - (sent[first + k] ?? Infinity)) > 1e-6);
    need(other < 0, `sample ${other} differs`);
    return `${got.length} samples, the same`;
  });
  await checks.claim(
    'A replay of what was just seen',
    '{"type":"replay","after":…}',
    'the frames after it, marked as replayed',
    async () => {
      const before = frames();
      const after = before.at(-10)?.seq ?? 0;
      await socket.send(JSON.stringify({ type: 'replay', after }));
      await socket.until('replay', () => socket.texts.some((text) => text['type'] === 'replay'));
      const reply = socket.texts.find((text) => text['type'] === 'replay');
      need(reply?.['status'] === 'ok' && Number(reply['frames']) >= 9, JSON.stringify(reply));
      await socket.until('replayed frames', () => frames().filter(({ replayed }) => replayed).length >= 9);
      const replayed = frames().filter((frame) => frame.replayed);
      need(
        replayed.every(({ seq }) => seq > after),
        'older ones came, too',
      );
      return `${replayed.length} frames`;
    },
  );
  socket.close();
}

async function checkEnds(run: Run): Promise<void> {
  const { checks, client, stage, ada } = run;
  await checkBrief(run);
  const doomed = await stage.key('a key to be revoked', ['read'], stage.project);
  const id = stage.lastKeyId;
  await checks.claim('A socket ends with its key', '/ws with a key that is revoked', 'closed with 4502 within two seconds', async () => {
    if (typeof doomed === 'string') throw new Error(doomed);
    const socket = await openSocket(run, `/ws?subject=${ada.id}`, secretOf(doomed.headers));
    await socket.until('ready', () => socket.texts.length > 0);
    await client.send({ method: 'DELETE', path: `/api/v1/api-keys/${id}`, as: stage.operator });
    const code = await socket.closed(2000);
    need(code === 4502, `closed with ${code}`);
    return String(code);
  });
  await checks.claim('Too many messages at once', '/ws: 120 pings', 'closed with 4010', async () => {
    const socket = await openSocket(run, `/ws?subject=${ada.id}`, ada.token);
    await socket.until('ready', () => socket.texts.length > 0);
    for (let i = 0; i < 120; i++) await socket.send('{"type":"ping"}');
    const code = await socket.closed(5000);
    need(code === 4010, `closed with ${code}`);
    return String(code);
  });
}

async function checkIngestSocket(run: Run): Promise<void> {
  const { checks, stage, ada } = run;
  const { ingest } = stage.byScope;
  if (typeof ingest === 'string') return checks.skip('Packets over a socket', ingest);
  const secret = secretOf(ingest.headers);
  const device = stage.name('socket');
  const boot = newBoot();
  const bytes = (seq: number): Uint8Array =>
    encoded(packet(device, boot, seq, ada.externalId, { t0UnixNs: startNs + BigInt(seq) * 1_000_000_000n }));
  const startNs = nowNs() - 100_000_000_000n;
  const socket = await openSocket(run, '/ingest/stream', secret);
  const replies = (): Reply[] => socket.binary.map((reply) => readReply(reply));
  const sum = (name: 'accepted' | 'duplicates'): number => replies().reduce((total, reply) => total + reply[name], 0);
  const settled = (): number => Math.max(0, ...replies().map((reply) => reply.settled));
  await checks.claim('The socket of a device greets', '/ingest/stream', 'a reply with settled 0 and a window', async () => {
    await socket.until('a reply', () => socket.binary.length > 0);
    const [first] = replies();
    need(first?.settled === 0 && first.window > 0, `settled ${first?.settled}, window ${first?.window}`);
    return `window ${first.window}`;
  });
  await checks.claim('Packets are settled', '20 packets', 'settled 20, accepted 20', async () => {
    for (let seq = 0; seq < 20; seq++) await socket.send(bytes(seq));
    await socket.until('settled 20', () => settled() >= 20);
    need(settled() === 20 && sum('accepted') === 20, `settled ${settled()}, accepted ${sum('accepted')}`);
    return 'settled 20';
  });
  await checks.claim(
    'A packet that is none is rejected, and settled',
    '3 bytes',
    'rejected packet_malformed, settled 21, the socket lives',
    async () => {
      await socket.send(Uint8Array.of(1, 2, 3));
      await socket.until('settled 21', () => settled() >= 21);
      const codes = replies().flatMap(({ rejected }) => rejected.map(({ code }) => code));
      need(codes.join() === 'packet_malformed', codes.join() || 'nothing was rejected');
      return 'packet_malformed';
    },
  );
  await checks.claim('ping of a device', '{"type":"ping"}', 'pong', async () => {
    await socket.send('{"type":"ping"}');
    await socket.until('pong', () => socket.texts.some((text) => text['type'] === 'pong'));
    return 'pong';
  });
  await checks.claim('auth of a device', '{"type":"auth"} with the same key', 'auth', async () => {
    await socket.send(JSON.stringify({ type: 'auth', token: secret }));
    await socket.until('auth', () => socket.texts.some((text) => text['type'] === 'auth'));
    return 'auth';
  });
  socket.close();
  await checks.claim(
    'After a new connection everything is sent again',
    'the same 20 packets and 5 more',
    'duplicates 20, accepted 5',
    async () => {
      const again = await openSocket(run, '/ingest/stream', secret);
      for (let seq = 0; seq < 25; seq++) await again.send(bytes(seq));
      const heard = (): Reply[] => again.binary.map((reply) => readReply(reply));
      await again.until('settled 25', () => heard().some((reply) => reply.settled === 25));
      const count = (name: 'accepted' | 'duplicates'): number => heard().reduce((total, reply) => total + reply[name], 0);
      again.close();
      need(count('duplicates') === 20 && count('accepted') === 5, `duplicates ${count('duplicates')}, accepted ${count('accepted')}`);
      return 'duplicates 20, accepted 5';
    },
  );
}
