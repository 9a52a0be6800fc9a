/** Finds the peer: its address behind trusted proxies, and whether the connection to it is encrypted. */
import { isLoopbackAddress } from '../config.ts';
import { PipelineError } from '../errors.ts';
import type { Headers } from './hygiene.ts';

export type PeerRules = Readonly<{
  tls: boolean;
  trustProxy: readonly string[];
  /** The only address that peers can have, when the service listens on loopback. Otherwise the library is asked on each request, which took
   *  a tenth of the request's time. */
  onlyPeer?: string | null;
}>;
export type Peer = Readonly<{ address: string; secure: boolean }>;

/** Addresses already normalised; a device usually sends from the same one. */
const known = new Map<string, string>();
const KNOWN_MAX = 10_000;

/** uWS writes IPv6 in full and IPv4-mapped addresses as IPv6; both are normalised. */
export function normalAddress(text: string): string {
  let address = known.get(text);
  if (address === undefined) {
    address = usualForm(text);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(text, address);
  }
  return address;
}

function usualForm(text: string): string {
  const mapped = /^(?:0000:){5}ffff:([0-9a-f]{2})([0-9a-f]{2}):([0-9a-f]{2})([0-9a-f]{2})$/.exec(text);
  if (mapped !== null)
    return mapped
      .slice(1)
      .map((hex) => Number.parseInt(hex, 16))
      .join('.');
  if (text === '0000:0000:0000:0000:0000:0000:0000:0001') return '::1';
  return text;
}

/** Of a service that listens on a loopback address, the address of every peer; null when it listens elsewhere, or when an address within
 *  127.0.0.0/8 stands for a proxy of its own. @param host as configured: an address, not a name */
export function onlyPeerOf(host: string, trustProxy: readonly string[]): string | null {
  if (host !== '127.0.0.1' && host !== '::1') return null;
  return trustProxy.some((proxy) => isLoopbackAddress(proxy) && proxy !== host) ? null : host;
}

/** Plain HTTP is served on loopback only; elsewhere native TLS or a trusted proxy that says https. A proxy is trusted only when its address
 *  is listed, because any client can send X-Forwarded-Proto.
 *  @throws PipelineError https_required */
export function peerOf(socketAddress: string, headers: Headers, rules: PeerRules): Peer {
  const direct = normalAddress(socketAddress);
  if (rules.trustProxy.includes(direct)) {
    const secure = headers.get('x-forwarded-proto')?.toLowerCase() === 'https';
    const forwarded = (headers.get('x-forwarded-for') ?? '').split(',').map((item) => item.trim());
    const client = forwarded.findLast((item) => item !== '' && !rules.trustProxy.includes(item)) ?? direct;
    if (!secure && !isLoopbackAddress(client))
      throw new PipelineError('https_required', 'The proxy received this request over plain HTTP.');
    return { address: client.slice(0, 64), secure };
  }
  if (!rules.tls && !isLoopbackAddress(direct)) throw new PipelineError('https_required', 'Plain HTTP is served on loopback only.');
  return { address: direct, secure: rules.tls };
}
