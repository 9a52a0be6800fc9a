/** Connections: where a request ends, and what comes after it. A proxy in front answers some of these itself, but must never let one
 *  request become two. */
import { need } from '../checks.ts';
import type { RawAnswer } from '../raw.ts';
import type { Run } from '../run.ts';

const last = (host: string): string =>
  `GET /api-docs/errors HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n`;

/** A request that must never be answered: the name of its path is looked for. */
const SMUGGLED = '/conform-smuggled';

export async function checkHygiene(run: Run): Promise<void> {
  const { checks, raw, proxy } = run;
  const { host } = raw;
  const preflight = `OPTIONS /api/v1/moods HTTP/1.1\r\nHost: ${host}\r\nOrigin: https://conform.invalid\r\nAccess-Control-Request-Method: GET\r\n\r\n`;
  const head = `HEAD /api-docs/errors HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: identity\r\n\r\n`;
  const get = (path: string, headers = ''): string =>
    `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept-Encoding: identity\r\n${headers}\r\n`;
  const inOrder = (name: string, pieces: readonly string[], expected: readonly number[], inTurn = true): Promise<boolean> =>
    checks.claim(
      name,
      pieces.map((piece) => piece.split(' HTTP')[0]).join(', '),
      `${expected.join(', ')} on one connection, then its end`,
      async () => {
        const answer = await raw.exchange(inTurn ? pieces : [pieces.join('')], { inTurn });
        need(
          answer.statuses.join() === expected.join(),
          `${answer.statuses.join(', ') || 'nothing'}${answer.closed ? '' : ', and the connection hangs'}`,
        );
        need(/<\/html>\s*$/.test(answer.text), 'the last answer is not whole');
        return answer.statuses.join(', ');
      },
    );

  await inOrder('A request after 204', [preflight, last(host)], [204, 200]);
  await inOrder('A request after HEAD', [head, last(host)], [200, 200]);
  const tag = (
    await run.client.send({
      method: 'GET',
      path: '/api-docs/errors',
      as: { name: 'nobody', headers: {} },
      headers: { 'accept-encoding': 'identity' },
    })
  ).headers.get('etag');
  const unchanged = get('/api-docs/errors', `If-None-Match: ${tag ?? ''}\r\n`);
  await inOrder('A request after 304', [unchanged, last(host)], [304, 200]);
  await inOrder('A request after 404', [get('/conform-none'), last(host)], [404, 200]);
  await inOrder('A request after 401', [get('/api/v1/bootstrap'), last(host)], [401, 200]);
  await inOrder(
    'Requests written at once, in order',
    [preflight, unchanged, head, preflight, head, last(host)],
    [204, 304, 200, 204, 200, 200],
    false,
  );
  await inOrder(
    'Twenty answers without a body and then one with',
    [...Array.from({ length: 10 }, () => [preflight, head]).flat(), last(host)],
    [...Array.from({ length: 10 }, () => [204, 200]).flat(), 200],
    false,
  );
  await checks.claim(
    'Requests written at once behind one that takes its time',
    'GET /readyz, GET /conform-none, GET /api-docs/errors',
    '200, 404, 200 in this order, or an end of the connection after any of them',
    async () => {
      const answer = await raw.exchange([get('/readyz') + get('/conform-none') + last(host)]);
      need(['200,404,200', '200,404', '200', ''].includes(answer.statuses.join()) && answer.closed, seen(answer));
      return seen(answer);
    },
  );
  await checks.claim('Connection: close is obeyed after 204', 'OPTIONS with Connection: close', '204 and the end', async () => {
    const answer = await raw.exchange([preflight.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')]);
    need(answer.statuses.join() === '204' && answer.closed, seen(answer));
    return seen(answer);
  });
  await checks.claim('A request in single bytes', 'GET /healthz, a byte at a time', '200', async () => {
    const answer = await raw.exchange([...get('/healthz', 'Connection: close\r\n')], { pauseMs: 1 });
    need(answer.statuses.join() === '200', seen(answer));
    return seen(answer);
  });
  await checks.claim('A body in two pieces with a pause', 'POST /api/v1/xusers as nobody', '401 credential_missing', async () => {
    const answer = await raw.exchange(
      [`POST /api/v1/xusers HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"a"`, ':"bcd"}'],
      { pauseMs: 150, answers: 1 },
    );
    need(answer.statuses.join() === '401', seen(answer));
    return seen(answer);
  });
  await checks.claim(
    'A chunked body with an extension',
    'POST /api/v1/xusers as nobody, chunk 2;a=b',
    '401, or refused; never 5xx',
    async () => {
      const answer = await raw.exchange(
        [
          `POST /api/v1/xusers HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n`,
        ],
        { answers: 1 },
      );
      need(answer.statuses.length <= 1 && (answer.statuses[0] ?? 400) < 500, seen(answer));
      return seen(answer);
    },
  );
  await checks.claim('Expect: 100-continue', 'POST /api/v1/xusers as nobody with Expect', '100 and 401, or 401, or 417', async () => {
    const answer = await raw.exchange(
      [
        `POST /api/v1/xusers HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`,
        '{}',
      ],
      { pauseMs: 200, answers: 1 },
    );
    const final = answer.statuses.filter((status) => status !== 100);
    need(final.length === 1 && [401, 417].includes(final[0] ?? 0), seen(answer));
    return seen(answer);
  });
  await checks.claim(
    'A body that never comes',
    'POST /api/v1/xusers with a length and no body, held for 0.8 s',
    'no 5xx; other requests are answered meanwhile',
    async () => {
      const slow = raw.exchange(
        [`POST /api/v1/xusers HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`],
        { timeoutMs: 800 },
      );
      const neighbour = await raw.exchange([last(host)]);
      const answer = await slow;
      need(neighbour.statuses.join() === '200', `next to it: ${seen(neighbour)}`);
      need((answer.statuses[0] ?? 0) < 500, seen(answer));
      return `${seen(answer)}; next to it 200`;
    },
  );

  // A request whose end is stated in two ways. The part meant as its body must not be answered as a request.
  const inner = `GET ${SMUGGLED} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const chunked = `${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`;
  const post = (headers: string, body: string): string =>
    `POST /api/v1/xusers HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
  const ambiguous: Readonly<Record<string, string>> = {
    'Content-Length and Transfer-Encoding': post('Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', chunked),
    'Transfer-Encoding and Content-Length': post('Transfer-Encoding: chunked\r\nContent-Length: 4\r\n', chunked),
    'two lengths': post(`Content-Length: 0\r\nContent-Length: ${inner.length}\r\n`, inner),
    'two lengths in one line': post(`Content-Length: 0, ${inner.length}\r\n`, inner),
    'a length with a sign': post(`Content-Length: +${inner.length}\r\n`, inner),
    'a negative length': post('Content-Length: -1\r\n', inner),
    'a length in hexadecimal': post('Content-Length: 0x10\r\n', inner),
    'a length of letters': post('Content-Length: ten\r\n', inner),
    'Transfer-Encoding: xchunked': post('Transfer-Encoding: xchunked\r\n', inner),
    'Transfer-Encoding: identity': post(`Transfer-Encoding: identity\r\nContent-Length: ${inner.length}\r\n`, inner),
    'Transfer-Encoding twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', chunked),
    'Transfer-Encoding: chunked, gzip': post('Transfer-Encoding: chunked, gzip\r\n', chunked),
    'a blank before the colon': post(`Content-Length : ${inner.length}\r\n`, inner),
    'a header folded over two lines': post('X-A: b\r\n Content-Length: 0\r\nContent-Length: 0\r\n', ''),
    'a chunk with a wrong length': post('Transfer-Encoding: chunked\r\n', `z\r\n${inner}`),
    'a chunk with a negative length': post('Transfer-Encoding: chunked\r\n', `-1\r\n${inner}`),
    'a chunk of 2^64 bytes': post('Transfer-Encoding: chunked\r\n', `ffffffffffffffffff\r\n${inner}`),
    'a body of GET, by its length': `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    'a body of GET, in chunks': `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
    'a body of OPTIONS': `OPTIONS /healthz HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  };
  for (const [what, bytes] of Object.entries(ambiguous)) {
    const expected =
      proxy === '' ? '400, 501 or the end of the connection' : 'one answer below 500, 501 or 502, of the service or of the proxy';
    await checks.claim(
      `One request stays one: ${what}`,
      bytes.split('\r\n\r\n')[0] ?? '',
      `${expected}; nothing for ${SMUGGLED}`,
      async () => {
        const answer = await raw.exchange([bytes], { answers: 1, quietMs: 250, timeoutMs: 2500 });
        need(!answer.text.includes(SMUGGLED) && answer.statuses.length <= 1, `${seen(answer)}: the body was answered as a request`);
        const [status = 400] = answer.statuses;
        need(status < 500 || status === 501 || (proxy !== '' && status === 502), seen(answer));
        if (proxy === '') need(status === 400 || status === 501, seen(answer));
        return seen(answer);
      },
    );
  }

  const odd: Readonly<Record<string, readonly [string, readonly number[]]>> = {
    'no Host': ['GET /healthz HTTP/1.1\r\n\r\n', [400]],
    'two Hosts': [`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nHost: evil.invalid\r\n\r\n`, [400]],
    'a Host with a path': [`GET /healthz HTTP/1.1\r\nHost: ${host}/x\r\n\r\n`, [400, 404]],
    'an absolute address of another host': [
      `GET http://evil.invalid/healthz HTTP/1.1\r\nHost: evil.invalid\r\n\r\n`,
      [400, 404, 421, 308, 505],
    ],
    'the address *': [`OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`, [200, 204, 400, 404, 505]],
    CONNECT: [`CONNECT evil.invalid:443 HTTP/1.1\r\nHost: evil.invalid:443\r\n\r\n`, [400, 404, 405, 421, 501, 308, 505]],
    TRACE: [`TRACE /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`, [400, 404, 405, 501]],
    'a method that nobody has': [`CONFORM /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`, [400, 404, 405, 501]],
    'HTTP/1.0': [`GET /healthz HTTP/1.0\r\nHost: ${host}\r\n\r\n`, [200, 400, 426, 505]],
    'HTTP/9.9': [`GET /healthz HTTP/9.9\r\nHost: ${host}\r\n\r\n`, [400, 505]],
    'a path above the root': [`GET /api-docs/../../etc/passwd HTTP/1.1\r\nHost: ${host}\r\n\r\n`, [400, 404, 308]],
    'a file of the service, by an escaped path': [`GET /cdn/v1/..%2f..%2fpackage.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`, [400, 404]],
    'a NUL in a header': [`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nX-A: a\u0000b\r\n\r\n`, [400]],
    'a header of 64 KiB': [`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nX-A: ${'a'.repeat(65_536)}\r\n\r\n`, [400, 413, 431]],
    '200 headers': [
      `GET /healthz HTTP/1.1\r\nHost: ${host}\r\n${Array.from({ length: 200 }, (_, i) => `X-${i}: a\r\n`).join('')}\r\n`,
      [400, 431],
    ],
    'a path of 64 KiB': [`GET /${'a'.repeat(65_536)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`, [400, 404, 414, 431]],
    'bytes that are no request': ['\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003\r\n\r\n', [400, 505]],
  };
  // A proxy has an empty 200 for hosts that are not its own, and 502 when the service ends a connection in the middle of a request.
  const accepted = (statuses: readonly number[]): readonly number[] => (proxy === '' ? statuses : [...statuses, 200, 502]);
  for (const [what, [bytes, statuses]] of Object.entries(odd)) {
    await checks.claim(
      `Odd requests: ${what}`,
      (bytes.split('\r\n')[0] ?? '').slice(0, 100),
      `${accepted(statuses).join(' or ')}, or the end of the connection`,
      async () => {
        const answer = await raw.exchange([bytes], { answers: 1, timeoutMs: 2500 });
        const [status] = answer.statuses;
        need(answer.statuses.length <= 1 && (status === undefined ? answer.closed : accepted(statuses).includes(status)), seen(answer));
        need(!/root:x:0|"dependencies"/.test(answer.text), 'a file of the machine was answered');
        return seen(answer);
      },
    );
  }
  await checks.claim('It is well after all of this', 'GET /healthz', '200', async () => {
    const answer = await raw.exchange([get('/healthz', 'Connection: close\r\n')]);
    need(answer.statuses.join() === '200', seen(answer));
    return '200';
  });
}

function seen({ statuses, closed }: RawAnswer): string {
  return `${statuses.length === 0 ? 'no answer' : statuses.join(', ')}${closed ? ', closed' : ', kept open'}`;
}
