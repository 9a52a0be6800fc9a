/** Opens a socket for live frames: its address, and the subprotocols that carry the credentials, which never travel in an address. What to
 *  do when it breaks is up to the caller: LiveClient (live-client.ts) or the feed of the widgets (widgets/shared/live-feed.ts), which also
 *  tells a silent device from a lost service. */
import { addressOf } from './request.ts';

/** A browser throws at a subprotocol with other characters. */
const sdkKeyPattern = /^sdk_[0-9A-Za-z]+$/;

export type LiveSocketOptions = Readonly<{
  /** http, https, ws or wss. */
  baseUrl: string;
  subject: string;
  /** '': the browser's cookie is sent instead. */
  token: string;
  /** Public key of the page; '' for none. */
  sdkKey?: string | undefined;
  channels?: readonly string[] | undefined;
  /** Replays the frames after this number. */
  after?: number | undefined;
}>;

/** @throws SyntaxError or DOMException when the address or the token cannot be used */
export function openLiveSocket(options: LiveSocketOptions, WebSocket = globalThis.WebSocket): WebSocket {
  const { baseUrl, token, sdkKey = '', ...query } = options;
  const protocols = ['bio.v1'];
  if (token !== '') protocols.push(`bio.bearer.${base64url(token)}`);
  if (sdkKeyPattern.test(sdkKey)) protocols.push(`bio.sdk.${sdkKey}`);
  const socket = new WebSocket(new URL(addressOf('/ws', { query }), baseUrl.replace(/^http/, 'ws')), protocols);
  socket.binaryType = 'arraybuffer';
  return socket;
}

function base64url(text: string): string {
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
