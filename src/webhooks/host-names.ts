/** Finds the addresses of a host without the operating system's resolver, which blocks a thread of the process for as long as a name server
 *  is silent: with four such names, every file access, hash and look-up of the service waits. The order is the usual one: the machine's own
 *  names, the hosts file, name servers. Names from other sources (mDNS, search domains) are not found. */
import { promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { isLoopbackHost } from '../config.ts';

/** Timeout of one query to one name server, ms, and number of tries. */
const ANSWER_MS = 700;
const TRIES = 2;
/** Timeout per host over all queries, ms. */
const HOST_MS = 3000;
/** How long the hosts file is cached, ms. */
const HOSTS_KEPT_MS = 10_000;
const HOSTS_FILE = '/etc/hosts';

export type Address = Readonly<{ address: string; family: 4 | 6 }>;

export class HostNames {
  readonly #servers: readonly string[];
  readonly #hostsFile: string;
  #hosts: ReadonlyMap<string, readonly Address[]> = new Map();
  #hostsMs = -Infinity;

  /** @param servers name servers, as address or address:port. Default: those of the system */
  constructor({ servers = [], hostsFile = HOSTS_FILE }: Readonly<{ servers?: readonly string[]; hostsFile?: string }> = {}) {
    this.#servers = servers;
    this.#hostsFile = hostsFile;
  }

  /** @returns within HOST_MS; IPv4 first.  @throws Error when there is none, or no server answers */
  async resolve(host: string): Promise<readonly Address[]> {
    const name = host.toLowerCase().replace(/\.$/, '');
    const known = (await this.#hostsNow()).get(name);
    if (known !== undefined) return known;
    // RFC 6761: loopback names never go to a name server.
    if (isLoopbackHost(name)) return [addressOf('127.0.0.1'), addressOf('::1')];
    return await this.#ask(name);
  }

  async #ask(name: string): Promise<readonly Address[]> {
    const resolver = new dns.Resolver({ timeout: ANSWER_MS, tries: TRIES });
    if (this.#servers.length > 0) resolver.setServers(this.#servers);
    const timer = setTimeout(() => resolver.cancel(), HOST_MS);
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    clearTimeout(timer);
    const addresses = found.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value.map(addressOf) : []));
    const failed = found.find((answer) => answer.status === 'rejected');
    if (addresses.length === 0) throw new Error(`${name} has no address`, { cause: failed?.reason });
    return addresses;
  }

  async #hostsNow(): Promise<ReadonlyMap<string, readonly Address[]>> {
    if (performance.now() - this.#hostsMs < HOSTS_KEPT_MS) return this.#hosts;
    this.#hostsMs = performance.now();
    this.#hosts = readHosts(await readFile(this.#hostsFile, 'utf8').catch(() => ''));
    return this.#hosts;
  }
}

function addressOf(address: string): Address {
  return { address, family: isIP(address) === 6 ? 6 : 4 };
}

/** hosts(5): one address with its names per line, `#` begins a comment. */
function readHosts(text: string): ReadonlyMap<string, readonly Address[]> {
  const hosts = new Map<string, Address[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), addressOf(address)]);
  }
  for (const addresses of hosts.values()) addresses.sort((a, b) => a.family - b.family);
  return hosts;
}
