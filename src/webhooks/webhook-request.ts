/** One signed request to a receiver, as in Standard Webhooks 1.0.0: v1,base64(HMAC-SHA-256(secret, id.timestamp.body)); while a secret is
 *  being changed, one signature for each of the two, separated by a space. */
import { createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { WebhookNetworks } from './webhook-networks.ts';

/** From the start of a request to the status of its answer. */
export const TIMEOUT_MS = 10_000;

export type Message = Readonly<{
  id: string;
  url: string;
  /** Newest first; null: no previous secret. */
  secrets: readonly (Uint8Array | null)[];
  body: string;
}>;
/** status: null when there was no answer; error: null when it was 2xx. */
export type Outcome = Readonly<{ status: number | null; error: string | null }>;

export function signatureOf(secret: Uint8Array, id: string, timestampSec: number, body: string): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestampSec}.${body}`).digest('base64')}`;
}

/** Makes one attempt; failures are outcomes too. Redirects are not followed, because they could bypass the address check. */
export async function sendMessage(message: Message, networks: WebhookNetworks, cut: AbortSignal): Promise<Outcome> {
  return await post(message, networks, cut).catch((error: unknown) => ({
    status: null,
    error: error instanceof Error && error.message !== '' ? error.message : 'failed',
  }));
}

function post({ id, url: address, secrets, body }: Message, networks: WebhookNetworks, cut: AbortSignal): Promise<Outcome> {
  const url = new URL(address);
  const secure = url.protocol === 'https:';
  const refused = networks.refusalOfLiteral(url);
  if (refused !== null) return Promise.resolve({ status: null, error: `the address ${refused}` });
  const timestampSec = Math.floor(Date.now() / 1000);
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(url, {
      method: 'POST',
      agent: false, // a new connection each time: an idle one may go to an address that is no longer allowed
      // Checked when connecting, so that a name that resolves differently the second time gains nothing.
      lookup: networks.lookupFor(secure),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        'content-type': 'application/json',
        'user-agent': 'biosignal-webhook',
        'webhook-id': id,
        'webhook-timestamp': String(timestampSec),
        'webhook-signature': secrets.flatMap((secret) => (secret === null ? [] : signatureOf(secret, id, timestampSec, body))).join(' '),
      },
    });
    // Not AbortSignal.any: a signal that lives as long as the service would leak a little per request.
    const end = (): void => void request.destroy(cut.reason as Error);
    if (cut.aborted) end();
    else cut.addEventListener('abort', end);
    request.on('close', () => cut.removeEventListener('abort', end));
    request.on('error', reject);
    request.on('response', (response) => {
      response.destroy(); // its body does not matter
      const status = response.statusCode ?? 0;
      resolve({ status, error: status >= 200 && status < 300 ? null : `HTTP ${status}` });
    });
    request.end(body);
  });
}
