/** Decides which addresses a webhook may call. The right to register one must not give access to the service's own network, so only the
 *  public internet is allowed, over HTTPS; and the networks that the operator lists (BIO_WEBHOOK_NETWORKS), also over plain HTTP. Checked
 *  twice: at registration, for an early answer, and on the address that a connection is opened to, which is what counts. */
import { BlockList, isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { HostNames } from './host-names.ts';
import type { Address } from './host-names.ts';

/** Addresses outside the public internet. IPv4 in IPv6 form (::ffff:10.0.0.1) is checked against the IPv4 rules by BlockList itself. */
const notPublic = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  notPublic.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  notPublic.addSubnet(net, prefix, 'ipv6');

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

export function isPublicAddress(address: string): boolean {
  return isIP(address) !== 0 && !notPublic.check(address, familyOf(address));
}

export class WebhookNetworks {
  readonly #inside = new BlockList();
  readonly #names: HostNames;

  /** @param inside networks in CIDR form that may be called although they are not public */
  constructor(inside: readonly string[] = [], names = new HostNames()) {
    this.#names = names;
    for (const network of inside) {
      const [net = '', prefix = ''] = network.split('/');
      this.#inside.addSubnet(net, Number(prefix), familyOf(net));
    }
  }

  /** The reason why an address would never be called; null: it would, as far as is known now. */
  async refusal(text: string): Promise<string | null> {
    if (!URL.canParse(text)) return 'is not an address';
    const url = new URL(text);
    // The address is listed, logged and shown to every administrator.
    if (url.username !== '' || url.password !== '') return 'holds a name or a password: what proves a delivery is its signature';
    const host = hostOf(url);
    const found = isIP(host) === 0 ? await this.#names.resolve(host).catch(() => []) : [{ address: host }];
    // A name without addresses now may get some later; one called over HTTP must already have one inside.
    if (found.length === 0) return url.protocol === 'https:' ? null : notHttps;
    return firstRefusal(found.map(({ address }) => this.#refusalOf(address, url.protocol === 'https:')));
  }

  /** For node:http(s): resolves a name to addresses that may be called, and to nothing when one of them may not be. */
  lookupFor(secure: boolean): LookupFunction {
    const allowed = callbackify((hostname: string) => this.#allowed(hostname, secure));
    return (hostname, options, callback) =>
      allowed(hostname, (error, addresses) => {
        if (error !== null) callback(error, '', 0);
        else if (options.all === true) (callback as (error: null, addresses: readonly Address[]) => void)(null, addresses);
        else callback(null, addresses[0]!.address, addresses[0]!.family);
      });
  }

  /** @throws Error when there is none, or one of them may not be called */
  async #allowed(hostname: string, secure: boolean): Promise<readonly Address[]> {
    const addresses = await this.#names.resolve(hostname);
    const refused = firstRefusal(addresses.map(({ address }) => this.#refusalOf(address, secure)));
    if (refused !== null) throw new Error(`${hostname} ${refused}`);
    return addresses;
  }

  /** The reason why a connection to a numeric address is refused; null: it is not, or the host is a name (see lookupFor). */
  refusalOfLiteral(url: URL): string | null {
    const host = hostOf(url);
    return isIP(host) === 0 ? null : this.#refusalOf(host, url.protocol === 'https:');
  }

  #refusalOf(address: string, secure: boolean): string | null {
    if (this.#inside.check(address, familyOf(address))) return null;
    if (!isPublicAddress(address)) return `is not an address of the public internet (${address}), nor of BIO_WEBHOOK_NETWORKS`;
    return secure ? null : notHttps;
  }
}

const notHttps = 'is not https; plain HTTP is for networks of BIO_WEBHOOK_NETWORKS only';

function firstRefusal(refusals: readonly (string | null)[]): string | null {
  return refusals.find((refusal) => refusal !== null) ?? null;
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}
