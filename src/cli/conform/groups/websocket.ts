/** A WebSocket as the checks see it: messages received, and how it ended. */
import { need } from '../checks.ts';
import type { Run } from '../run.ts';
import { shown } from '../words.ts';
import { setTimeout as sleep } from 'node:timers/promises';

const HANDSHAKE_MS_MAX = 10_000;

export type Opened = Readonly<{
  protocol: string;
  binary: readonly Uint8Array[];
  texts: readonly Readonly<Record<string, unknown>>[];
  send: (message: string | Uint8Array) => Promise<void>;
  /** Waits until a condition is met.  @throws on timeout */
  until: (what: string, found: () => boolean, ms?: number) => Promise<void>;
  /** @returns the close code; 0 when it stays open */
  closed: (ms: number) => Promise<number>;
  close: () => void;
}>;

/** @param credential '' for none  @throws when the handshake is refused */
export async function openSocket(
  { client }: Run,
  path: string,
  credential: string,
  protocols: readonly string[] = ['bio.v1'],
): Promise<Opened> {
  await client.spend(0);
  client.keepSecret(credential);
  const url = new URL(path, client.base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const bearer = credential === '' ? [] : [`bio.bearer.${Buffer.from(credential).toString('base64url')}`];
  const socket = new WebSocket(url, [...protocols, ...bearer]);
  socket.binaryType = 'arraybuffer';
  const binary: Uint8Array[] = [];
  const texts: Record<string, unknown>[] = [];
  let code = 0;
  socket.addEventListener('message', ({ data }) => {
    if (data instanceof ArrayBuffer) binary.push(new Uint8Array(data));
    else texts.push(messageOf(String(data)));
  });
  socket.addEventListener('close', (event) => void (code = event.code));
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      socket.close();
      reject(new Error(`the handshake was not answered within ${HANDSHAKE_MS_MAX} ms`));
    }, HANDSHAKE_MS_MAX);
    const end = (how: () => void): void => {
      clearTimeout(timer);
      how();
    };
    socket.addEventListener('open', () => end(resolve));
    socket.addEventListener('error', () => end(() => reject(new Error('the handshake was refused'))));
  });
  const wait = async (found: () => boolean, ms: number): Promise<boolean> => {
    const endMs = performance.now() + ms;
    while (!found() && performance.now() < endMs) {
      client.signal.throwIfAborted();
      await sleep(15);
    }
    return found();
  };
  return {
    protocol: socket.protocol,
    binary,
    texts,
    send: async (message) => {
      await client.spend(message.length);
      socket.send(typeof message === 'string' ? message : Buffer.from(message));
    },
    until: async (what, found, ms = 10_000) => {
      const came = await wait(() => found() || code !== 0, ms);
      need(came && found(), code === 0 ? `${what} did not come` : `closed with ${code} before ${what} came`);
    },
    closed: async (ms) => {
      await wait(() => code !== 0, ms);
      return code;
    },
    close: () => socket.close(),
  };
}

/** Parses a message; text that is not one becomes a message that no check waits for. */
function messageOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const message: unknown = JSON.parse(text);
    if (typeof message === 'object' && message !== null) return message as Record<string, unknown>;
  } catch {
    // as below
  }
  return { type: 'no message', text: shown(text) };
}
