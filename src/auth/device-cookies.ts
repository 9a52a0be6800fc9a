/** Cookies of browsers from which somebody has signed in before. Such a browser has an allowance of tries of its own for that account, so
 *  that guesses from elsewhere keep nobody out of an account (OWASP: "Slow Down Online Guessing Attacks with Device Cookies"). The cookie gives
 *  no access: whoever steals one may guess as slowly as anybody. */
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

  /** @param email of the account that was signed in to */
  issue(email: string): string {
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const issuedSec = Math.floor(Date.now() / 1000);
    return `${issuedSec}.${nonce}.${this.#mac(email, issuedSec, nonce).toString('base64url')}`;
  }

  /** @returns what tells this browser from others; null when the cookie is not of this account, too old or not ours */
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
