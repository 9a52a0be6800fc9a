/** Checks the name under which a service on a loopback address is requested. To a browser, a page whose own name resolves to 127.0.0.1 (DNS
 *  rebinding) has the same origin as the service, and could read what is open to the machine itself; its requests carry that name in
 *  Host. */
import { PipelineError } from '../errors.ts';
import { isLoopbackHost } from '../config.ts';
import type { Config } from '../config.ts';

const HOST_SHOWN_MAX = 100;
/** A name of the DNS has at most 253 characters; its port five and a colon. */
const HOST_LENGTH_MAX = 259;

export type HostRule = (host: string) => void;

/** @returns a function that throws for names that are not this service's. Off loopback every name passes, because a page of another name
 *  has no certificate for it; likewise behind a proxy, which knows its own names, when BIO_PUBLIC_URL is not set. */
export function hostRule({ host, publicUrl, trustProxy }: Pick<Config, 'host' | 'publicUrl' | 'trustProxy'>): HostRule {
  const loopback = isLoopbackHost(nameOf(host.includes(':') ? `[${host}]` : host));
  if (!loopback || (publicUrl === '' && trustProxy.length > 0)) return () => undefined;
  const publicName = URL.canParse(publicUrl) ? new URL(publicUrl).hostname : '';
  return (given) => {
    const name = nameOf(given);
    if (isLoopbackHost(name) || (name !== '' && name === publicName)) return;
    throw new PipelineError(
      'bad_request',
      `This service does not answer for the host '${shown(given)}'; set BIO_PUBLIC_URL to the address that clients use.`,
    );
  };
}

/** Address by which a request came, without a slash at its end. Off loopback the client says its name as it likes: good for links in the
 *  answer to this request, which nobody keeps for another, and for nothing that is stored.
 *  @throws PipelineError bad_request for a Host that is neither a name nor an address */
export function requestedAddress(host: string, secure: boolean): string {
  const address = `${secure ? 'https' : 'http'}://${host.toLowerCase()}`;
  if (nameOf(host) === '' || !URL.canParse(address))
    throw new PipelineError('bad_request', `The Host header '${shown(host)}' is neither a name nor an address.`);
  return new URL(address).origin;
}

/** The given name, limited to what may stand between quotes. */
function shown(host: string): string {
  const text = host.slice(0, HOST_SHOWN_MAX).replaceAll(/[^\w.:[\]-]/g, '?');
  return host.length > HOST_SHOWN_MAX ? `${text}…` : text;
}

/** Parts of a name, at most 63 characters each, between single dots. Not only what the DNS takes: containers are called `my_service`. */
const HOST = /^(\[[0-9a-f:.]+\]|(?:(?!-)[a-z0-9_-]{1,63}(?<!-)\.)*(?!-)[a-z0-9_-]{1,63}(?<!-)\.?)(?::\d*)?$/i;

/** The name or address without port and final dot, in lower case; '' when it is neither. */
function nameOf(host: string): string {
  if (host.length > HOST_LENGTH_MAX) return '';
  const [, name = ''] = HOST.exec(host) ?? [];
  return name.toLowerCase().replace(/\.$/, '');
}
