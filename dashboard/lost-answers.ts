/** Changes that were sent and had no answer: the service may have made them. Who sends the same again within five minutes has it once. Of a
 *  POST the key goes with it again, and the service repeats its answer (Idempotency-Key); any other is looked at, where it is refused. */

/** How long the same text is the same change, ms. */
const KEPT_MS = 5 * 60_000;
/** The session has ended, or the like; sent too slowly, or too often. */
const UNHEARD = [401, 403, 408, 429];

/** @param text what was sent: method, address, body and the version that it is a change of
 *  @param key of a POST */
export type Sent = Readonly<{ method: string; address: string; text: string; key: string; sentMs: number; isAgain: boolean }>;

export class LostAnswers {
  #lost: readonly Sent[] = [];

  /** Call before it is sent. */
  begin(method: string, address: string, body: unknown, etag: string): Sent {
    const nowMs = performance.now();
    this.#lost = this.#lost.filter(({ sentMs }) => nowMs - sentMs < KEPT_MS);
    const text = JSON.stringify([method, address, body, etag]);
    const before = this.#lost.find((one) => one.text === text);
    if (before !== undefined) return { ...before, isAgain: true };
    return { method, address, text, key: newKey(), sentMs: nowMs, isAgain: false };
  }

  /** No answer came, or one that does not say whether it was made. */
  lose(sent: Sent): void {
    this.#lost = [...this.#lost.filter(({ text }) => text !== sent.text), sent];
  }

  /** It was made. What was lost at this address is no longer how things are: the same text is another change now. So it is above it, of a
   *  record that was changed or deleted; a POST below may be a question alone. */
  end({ method, address }: Sent): void {
    const isBefore = (one: Sent): boolean => (method === 'POST' ? one.address === address : `${address}/`.startsWith(`${one.address}/`));
    this.#lost = this.#lost.filter((one) => !isBefore(one));
  }

  /** It was refused.  @param status of one that was not looked at, it says nothing of whether the first was made */
  refuse(sent: Sent, status: number): void {
    if (!UNHEARD.includes(status)) this.#lost = this.#lost.filter(({ text }) => text !== sent.text);
  }

  /** How things are has been read since. */
  clear(): void {
    this.#lost = [];
  }
}

/** Pages that are not served over HTTPS have no crypto.randomUUID. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Whether a record is as a change would make it. Times may be written in two ways. */
export function isAsSent(record: unknown, body: unknown): boolean {
  if (typeof body === 'object' && body !== null) {
    if (typeof record !== 'object' || record === null || Array.isArray(record) !== Array.isArray(body)) return false;
    if (Array.isArray(body) && (record as readonly unknown[]).length !== body.length) return false;
    return Object.entries(body).every(([name, value]) => isAsSent((record as Record<string, unknown>)[name], value));
  }
  if (record === body) return true;
  const isTime = (value: unknown): value is string => typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value);
  return isTime(record) && isTime(body) && Date.parse(record) === Date.parse(body);
}
