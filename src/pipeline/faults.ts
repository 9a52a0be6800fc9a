/** Reports faults that do not stop the pipeline: logs each once, counts it, and sets aside what can never be stored. */
import type { PipelineOptions } from './options.ts';
import type { StreamId } from '../signal.ts';
import type { Write } from '../storage/database/transaction.ts';
import { newsOfOutages } from '../storage/database/once-an-outage.ts';
import { isNotOwner } from '../storage/fence.ts';
import type { DamagedRow } from '../storage/sample-rows.ts';
import { putAside, setAsideKinds } from '../storage/set-aside.ts';
import type { Letter } from '../storage/set-aside.ts';

/** Number of logged faults remembered, so that a device that is refused repeatedly causes one log line. */
const SAID_MAX = 1000;

export type Refusal = Pick<Letter, 'reason' | 'sqlState'>;

export class Faults {
  readonly #options: Pick<PipelineOptions, 'logger' | 'metrics' | 'ownership'>;
  readonly #write: Write;
  readonly #said = new Set<string>();
  readonly #isNewsOfOutage = newsOfOutages();
  #setAsideCount = 0;

  /** @param write runs the transactions that set things aside */
  constructor(options: Pick<PipelineOptions, 'logger' | 'metrics' | 'ownership'>, write: Write) {
    this.#options = options;
    this.#write = write;
    for (const kind of setAsideKinds) options.metrics.setAside.inc({ kind }, 0);
  }

  /** Number of rows and packets set aside since the start. */
  get setAsideCount(): number {
    return this.#setAsideCount;
  }

  /** Reports a fault of a writer or of the feature pool, which retries: each is counted, and logged once for as long as it lasts. */
  note(message: string, cause: unknown): void {
    const { ownership, metrics, logger } = this.#options;
    if (isNotOwner(cause)) ownership.lose(); // from here on no writer of this instance can store anything
    metrics.errors.inc({ where: 'pipeline' });
    if (this.#isNewsOfOutage(message)) logger.warn({ err: cause }, message);
  }

  /** Reports a fault that recurs with every checkpoint. */
  sayOnce(fields: Readonly<{ err: unknown; streamIds?: readonly StreamId[] }>, message: string): void {
    if (!this.#isNews(`${message} ${(fields.err as Error).message}`)) return;
    this.#options.metrics.errors.inc({ where: 'checkpoint' });
    this.#options.logger.error(fields, message);
  }

  async setAside(letters: readonly Letter[]): Promise<void> {
    await this.#write((client) => putAside(client, letters));
    this.noteSetAside(letters);
  }

  noteSetAside(letters: readonly Letter[]): void {
    const { logger, metrics } = this.#options;
    this.#setAsideCount += letters.length;
    for (const { kind, streamId, reason, sqlState, logPosition } of letters) {
      metrics.setAside.inc({ kind });
      if (this.#isNews(`${kind} ${streamId ?? ''} ${sqlState ?? reason}`))
        logger.error(
          { kind, streamId, sqlState, logPosition, reason },
          "it could not be stored and was set aside: 'biosignal set-aside list'",
        );
    }
  }

  /** Values treat stored rows that cannot be read as gaps. The bytes of each are set aside once, so that the operator is notified. */
  async noteDamaged(rows: readonly DamagedRow[]): Promise<void> {
    const nameOf = ({ streamId, channelNo, timeUs }: DamagedRow): string => `damaged ${streamId} ${channelNo} ${timeUs}`;
    const news = rows.filter((row) => this.#isNews(nameOf(row)));
    if (news.length === 0) return;
    const letters = news.map(({ streamId, channelNo, timeUs, n, reason, codec }): Letter => {
      const content = { channelNo, timeUs, sampleCount: n };
      const why = `the stored row cannot be read, values are computed without it: ${reason}`;
      return { reason: why, sqlState: null, kind: 'samples', streamId, logPosition: null, content, bytes: codec };
    });
    try {
      await this.setAside(letters);
    } catch (err) {
      for (const row of news) this.#said.delete(nameOf(row)); // the next reader reports them again
      this.#options.logger.warn({ err, streamId: news[0]!.streamId }, 'samples: stored rows cannot be read, nor set aside now');
    }
  }

  /** True the first time, as far as remembered. */
  #isNews(what: string): boolean {
    if (this.#said.has(what)) return false;
    if (this.#said.size >= SAID_MAX) this.#said.clear();
    this.#said.add(what);
    return true;
  }
}
