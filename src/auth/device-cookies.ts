/** Cookies of browsers that have signed in to an account before. Such a browser has its own allowance of tries for that account, so that
 *  guesses from elsewhere lock no one out (OWASP: "Slow Down Online Guessing Attacks with Device Cookies"). The cookie gives no access: a
 *  thief may guess only as slowly as anyone else. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export const DEVICE_SEC = 180 * 86_400;
const NONCE_BYTES = 12;
const MAC_BYTES = 16;

export class DeviceCookies {
  readonly #secret: Uint8Array;

  /** @param secret the same for every node */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** @param email of the account signed in to */
  issue(email: string): string {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const issuedSec = Math.floor(Date.now() / 1000);
    return `${issuedSec}.${nonce}.${this.#mac(email, issuedSec, nonce).toString('base64url')}`;
  }

  /** @returns an id that tells this browser from others; null when the cookie is for another account, too old or not ours */
  open(email: string, cookie: string): string | null {
    const [issued = '', nonce = '', mac = ''] = cookie.split('.');
    if (!/^\d{1,12}$/.test(issued) || Number(issued) < Date.now() / 1000 - DEVICE_SEC) return null;
    const given = Buffer.from(mac, 'base64url');
    if (given.length !== MAC_BYTES || !timingSafeEqual(given, this.#mac(email, Number(issued), nonce))) return null;
    return nonce;
  }

  #mac(email: string, issuedSec: number, nonce: string): Buffer {
    return createHmac('sha256', this.#secret).update(`${issuedSec}\n${nonce}\n${email.toLowerCase()}`).digest().subarray(0, MAC_BYTES);
  }
}
