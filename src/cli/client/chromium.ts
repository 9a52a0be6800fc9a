/** Prints a page of the service as PDF with the Chromium of this machine, over a pipe: no port is opened. What the page asks of the API is
 *  asked by this process, which has the credential: the browser never holds it. What it would ask of anyone else is refused. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { PipelineError } from '../../errors.ts';

const places = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/chromium-headless-shell',
  '/opt/google/chrome/chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
/** Answer of the browser to one message. Printing a month with its strips takes seconds. */
const ANSWER_MS = 60_000;
const LOOK_EVERY_MS = 100;

/** @returns null where there is none */
export const findChromium = (): string | null => places.find((path) => existsSync(path)) ?? null;

export type PrintJob = Readonly<{
  chromium: string;
  /** Address of the page, its fragment included. */
  url: URL;
  credential: string;
  /** How long the page may take to be complete. */
  timeoutMs: number;
  signal: AbortSignal;
  /** Called when the page is complete, before it is printed. */
  onWhole?: () => void;
}>;

/** @param note a sentence of the page for the person who prints it; '' where it has none */
export type Printed = Readonly<{ pdf: Buffer; note: string }>;

/** Opens the page, waits until its attribute `data-report` says that it is complete, and prints it.
 *  @throws PipelineError with the page's own sentence when it could not be made */
export async function printPage({ chromium, url, credential, timeoutMs, signal, onWhole }: PrintJob): Promise<Printed> {
  const profile = await mkdtemp(join(tmpdir(), 'bio-report-'));
  const browser = new Browser(chromium, profile);
  try {
    const page = await browser.open();
    browser.onRequest = async (asked) => {
      const requested = new URL(asked.url);
      if (requested.origin !== url.origin) return requested.protocol === 'data:' ? 'send' : 'refuse';
      return requested.pathname.startsWith('/api/') ? await askApi(asked, credential, signal) : 'send';
    };
    await page('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
    await page('Emulation.setEmulatedMedia', { media: 'print' });
    // Width of the text on A4; two pixels for one, so that charts are sharp on paper.
    await page('Emulation.setDeviceMetricsOverride', { width: 688, height: 1000, deviceScaleFactor: 2, mobile: false });
    const { errorText } = await page<{ errorText?: string }>('Page.navigate', { url: url.href });
    if (errorText !== undefined) throw new PipelineError('unavailable', `${url.origin}/dashboard/report cannot be opened: ${errorText}`);
    const { note, ...footer } = await untilComplete(page, timeoutMs, signal);
    onWhole?.();
    const { data } = await page<{ data: string }>('Page.printToPDF', {
      preferCSSPageSize: true,
      printBackground: true,
      displayHeaderFooter: true,
      headerTemplate: '<span></span>',
      footerTemplate: footerTemplateOf(footer),
    });
    return { pdf: Buffer.from(data, 'base64'), note };
  } finally {
    await browser.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Asks in the place of the page: without the Origin that its browser would add, for a key is not for pages. */
async function askApi({ url, method, headers, postData }: Asked, credential: string, signal: AbortSignal): Promise<Fulfilled> {
  const kept = Object.entries(headers).filter(([name]) => /^(accept|content-type)$/i.test(name));
  const response = await fetch(url, {
    method,
    headers: { ...Object.fromEntries(kept), authorization: `Bearer ${credential}` },
    ...(postData === undefined ? {} : { body: postData }),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
  });
  const type = response.headers.get('content-type');
  return { status: response.status, type: type ?? 'application/octet-stream', body: Buffer.from(await response.arrayBuffer()) };
}

type Footer = Readonly<{ notice: string; page: string }>;
type Call = <T = unknown>(method: string, params?: object) => Promise<T>;

/** The foot of every page: whose report, what it is not, which page of how many. Each page may be read alone.
 *  @param words of the page that is printed, `{page}` and `{pages}` for the numbers */
function footerTemplateOf({ notice, page }: Footer): string {
  const text = (words: string): string => words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const number = text(page).replace('{page}', '<span class="pageNumber"></span>').replace('{pages}', '<span class="totalPages"></span>');
  const cut = 'white-space:nowrap;overflow:hidden;text-overflow:ellipsis;min-width:0';
  return (
    '<div style="font-size:7pt;width:100%;padding:0 14mm;display:flex;gap:8mm;justify-content:space-between">' +
    `<bdi class="title" style="${cut}"></bdi><span style="white-space:nowrap">${text(notice)}</span><span style="white-space:nowrap">${number}</span></div>`
  );
}

/** @returns the note of the page, and the words at the foot of its pages */
async function untilComplete(page: Call, timeoutMs: number, signal: AbortSignal): Promise<Footer & { note: string }> {
  const endMs = performance.now() + timeoutMs;
  const expression = 'JSON.stringify({ ...document.documentElement.dataset })';
  for (;;) {
    const { result } = await page<{ result: { value?: string } }>('Runtime.evaluate', { expression });
    const said = JSON.parse(result.value ?? '{}') as Partial<Record<'report' | 'problem' | 'note' | 'notice' | 'pageOf', string>>;
    const { report, problem, note = '', notice = '', pageOf = '{page} / {pages}' } = said;
    if (report === 'ready') return { note, notice, page: pageOf };
    if (report !== undefined) throw new PipelineError('internal', `the report could not be made: ${problem}`);
    if (performance.now() > endMs) throw new PipelineError('unavailable', `the report was not complete after ${timeoutMs / 1000} s`);
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

type Asked = Readonly<{ url: string; method: string; headers: Record<string, string>; postData?: string }>;
type Fulfilled = Readonly<{ status: number; type: string; body: Buffer }>;

type Message = Readonly<{
  id?: number;
  method?: string;
  sessionId?: string;
  result?: unknown;
  error?: { message: string };
  params?: { requestId: string; request: Asked };
}>;

/** A Chromium that talks the DevTools protocol over two pipes: messages are JSON, each ended by a zero byte. */
class Browser {
  readonly #child: ChildProcess;
  readonly #input: Writable;
  readonly #waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #sent = 0;
  #gone: Error | null = null;
  #rest: Buffer[] = [];
  /** Decides on a request: it goes out as it is, not at all, or this is its answer. */
  onRequest: (asked: Asked) => Promise<'send' | 'refuse' | Fulfilled> = () => Promise.resolve('refuse');

  constructor(chromium: string, profile: string) {
    const args = [
      '--headless',
      '--remote-debugging-pipe',
      `--user-data-dir=${profile}`,
      '--no-first-run',
      '--disable-gpu',
      '--disable-sync',
    ];
    args.push('--disable-background-networking', '--disable-component-update', '--font-render-hinting=none', '--lang=en');
    // Chromium has no sandbox for root, and does not start without one unless it is told.
    if (process.getuid?.() === 0) args.push('--no-sandbox');
    // Only what a program needs: not the key.
    const env = Object.fromEntries(
      ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])),
    );
    this.#child = spawn(chromium, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env });
    this.#input = this.#child.stdio[3] as Writable;
    const closed = (): void => this.#end(new PipelineError('unavailable', 'Chromium ended before it had printed'));
    this.#input.on('error', closed);
    const output = this.#child.stdio[4] as Readable;
    output.on('error', closed);
    output.on('data', (bytes: Buffer) => this.#take(bytes));
    this.#child.on('error', (error) => this.#end(error));
    this.#child.on('exit', closed);
  }

  /** @returns calls of a new empty page */
  async open(): Promise<Call> {
    const { targetId } = await this.#call<{ targetId: string }>('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#call<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true });
    const page: Call = (method, params = {}) => this.#call(method, params, sessionId);
    await page('Page.enable');
    return page;
  }

  async close(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const exited = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await exited;
  }

  async #call<T>(method: string, params: object, sessionId?: string): Promise<T> {
    if (this.#gone !== null) throw this.#gone;
    const id = ++this.#sent;
    const answer = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const late = setTimeout(() => this.#settle(id, new PipelineError('unavailable', `Chromium does not answer ${method}`)), ANSWER_MS);
    try {
      return (await answer) as T;
    } finally {
      clearTimeout(late);
    }
  }

  #take(bytes: Buffer): void {
    const parts = splitAtZero(bytes);
    this.#rest.push(parts.shift()!);
    for (const part of parts) {
      const text = Buffer.concat(this.#rest).toString('utf8');
      this.#rest = [part];
      this.#hear(JSON.parse(text) as Message);
    }
  }

  #hear({ id, method, sessionId, result, error, params }: Message): void {
    if (id !== undefined) this.#settle(id, error === undefined ? result : new PipelineError('internal', `Chromium: ${error.message}`));
    else if (method === 'Fetch.requestPaused' && params !== undefined) void this.#answer(params, sessionId).catch(() => undefined);
  }

  async #answer({ requestId, request }: NonNullable<Message['params']>, sessionId: string | undefined): Promise<void> {
    const answer = await this.onRequest(request).catch(() => 'refuse' as const);
    if (answer === 'send') await this.#call('Fetch.continueRequest', { requestId }, sessionId);
    else if (answer === 'refuse') await this.#call('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' }, sessionId);
    else {
      const { status, type, body } = answer;
      const responseHeaders = [{ name: 'content-type', value: type }];
      const whole = { requestId, responseCode: status, responseHeaders, body: body.toString('base64') };
      await this.#call('Fetch.fulfillRequest', whole, sessionId);
    }
  }

  #settle(id: number, result: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (result instanceof Error) waiting?.reject(result);
    else waiting?.resolve(result);
  }

  #end(error: Error): void {
    this.#gone ??= error;
    for (const id of this.#waiting.keys()) this.#settle(id, this.#gone);
  }
}

function splitAtZero(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = 0;
  for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, from)) {
    parts.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return [...parts, bytes.subarray(from)];
}
