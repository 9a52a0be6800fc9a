/** Sends encoded packets over WebSocket /ingest/stream through the SDK's client, with the interface of HttpSender: each packet is settled
 *  once, and an error that ends sending is thrown. The queue is bounded by waiting, never by dropping packets. */
import { IngestClient, UNREACHABLE } from '../../../sdk/ingest-client.ts';
import { errorTable, PipelineError } from '../../errors.ts';
import type { ErrorCode } from '../../errors.ts';
import { unanswered } from './http-sender.ts';
import type { SenderOptions, SenderTotals } from './http-sender.ts';

/** Twice the most bytes under way: send() waits above half of it. */
const QUEUE_BYTES_MAX = 4 * 1024 * 1024;

export class SocketSender {
  readonly totals: SenderTotals = { accepted: 0, duplicates: 0, rejected: 0, requests: 0, bytes: 0, retries: 0 };
  readonly #options: SenderOptions;
  readonly #client: IngestClient;
  readonly #giveUpMs: number;
  #failed: (error: unknown) => void = () => undefined;
  /** Rejects when nothing more can be sent. */
  readonly #failure = new Promise<never>((_resolve, reject) => void (this.#failed = reject));
  #movedMs = performance.now();
  /** Why nothing more can be sent. */
  #ended: unknown = null;
  #answered = false;
  /** Since when nothing answers at the address. */
  #unreachableMs: number | null = null;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#giveUpMs = options.giveUpMs ?? 120_000;
    this.#failure.catch(() => undefined); // send() and flush() throw it
    this.#client = new IngestClient({
      baseUrl: options.url,
      token: () => options.credential,
      transport: 'websocket',
      queueBytesMax: QUEUE_BYTES_MAX,
      onReply: ({ accepted, duplicates, notices }) => {
        for (const notice of notices) options.onNotice?.(notice);
        this.#movedMs = performance.now();
        this.#answered = true;
        this.totals.requests++;
        this.totals.accepted += accepted;
        this.totals.duplicates += duplicates;
      },
      onState: (state, detail) => this.#became(state, detail),
    });
    options.signal.addEventListener('abort', () => this.#end(options.signal.reason), { once: true });
  }

  async send(bytes: Uint8Array, tag: number): Promise<void> {
    this.#options.signal.throwIfAborted();
    if (this.#ended !== null) throw this.#ended;
    this.totals.bytes += bytes.length;
    if (this.#client.pendingCount === 0) this.#movedMs = performance.now();
    void this.#client.sendEncoded(bytes).then(({ status, code, detail }) => {
      if (status === 'lost') return; // closed: it stays unsettled
      if (status === 'rejected') this.totals.rejected++;
      this.#options.onSettled?.(tag, status === 'stored' ? 'accepted' : (code as ErrorCode), detail);
    });
    await Promise.race([this.#client.room(), this.#failure]);
  }

  async flush(): Promise<void> {
    await Promise.race([this.#client.flush(), this.#failure]);
  }

  close(): void {
    this.#client.close();
  }

  #became(state: IngestClient['state'], detail: string): void {
    if (state === 'stopped') this.#end(refusalOf(detail));
    if (state !== 'waiting') return;
    this.totals.retries++;
    this.#options.onWait?.(detail, 0);
    const nowMs = performance.now();
    const { url, firstAnswerMs = Infinity } = this.#options;
    this.#unreachableMs = detail === UNREACHABLE ? (this.#unreachableMs ?? nowMs) : null;
    if (!this.#answered && nowMs - (this.#unreachableMs ?? nowMs) > firstAnswerMs) return this.#end(unanswered(url, detail));
    if (nowMs - this.#movedMs <= this.#giveUpMs) return;
    this.#end(new PipelineError('unavailable', `nothing accepted for ${Math.round(this.#giveUpMs / 1000)} s: ${detail}`));
  }

  #end(reason: unknown): void {
    this.#ended ??= reason;
    this.#failed(reason);
    this.#client.close();
  }
}

/** The error behind the client's report: `401 credential_invalid: ...` of a handshake, `4504 ...` of a close. */
function refusalOf(heard: string): PipelineError {
  const [, number = '', name = '', detail = ''] = /^(\d+) ?(?:(\w+):)? ?(.*)$/.exec(heard) ?? [];
  const ofClose = Object.entries(errorTable).find(([, row]) => row.close === Number(number))?.[0];
  const code = (name in errorTable ? name : (ofClose ?? 'credential_invalid')) as ErrorCode;
  return new PipelineError(code, detail === '' ? errorTable[code].title : detail);
}
