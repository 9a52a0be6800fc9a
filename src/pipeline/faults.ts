/** What goes wrong in the pipeline without stopping it: said once in the log and counted; what can never be stored is set aside. */
import type { PipelineOptions } from './options.ts';
import type { StreamId } from '../signal.ts';
import type { Write } from '../storage/database/transaction.ts';
import { isNotOwner } from '../storage/log-ownership.ts';
import type { DamagedRow } from '../storage/sample-rows.ts';
import { putAside, setAsideKinds } from '../storage/set-aside.ts';
import type { Letter } from '../storage/set-aside.ts';

/** Kinds of refusals that are remembered as said: a device that is refused again and again is one line of the log. */
const SAID_MAX = 1000;

export type Refusal = Pick<Letter, 'reason' | 'sqlState'>;

export class Faults {
  readonly #options: Pick<PipelineOptions, 'logger' | 'metrics' | 'ownership'>;
  readonly #write: Write;
  readonly #said = new Set<string>();
  #setAsideCount = 0;

  /** @param write by which things are set aside */
  constructor(options: Pick<PipelineOptions, 'logger' | 'metrics' | 'ownership'>, write: Write) {
    this.#options = options;
    this.#write = write;
    for (const kind of setAsideKinds) options.metrics.setAside.inc({ kind }, 0);
  }

  /** Rows or packets that were set aside since the start. */
  get setAsideCount(): number {
    return this.#setAsideCount;
  }

  /** Of a writer or of the feature pool, which tries again. */
  note(message: string, cause: unknown): void {
    const { ownership, metrics, logger } = this.#options;
    if (isNotOwner(cause)) ownership.lose(); // no writer of this instance stores anything any more
    metrics.errors.inc({ where: 'pipeline' });
    logger.warn({ err: cause }, message);
  }

  /** Of what goes wrong with every checkpoint. */
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

  /** Stored rows that cannot be read are gaps to the values. What is left of each is set aside once, so that somebody hears of it. */
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
      for (const row of news) this.#said.delete(nameOf(row)); // the next that reads them says it again
      this.#options.logger.warn({ err, streamId: news[0]!.streamId }, 'samples: stored rows cannot be read, nor set aside now');
    }
  }

  /** Not said before, as far as is remembered. */
  #isNews(what: string): boolean {
    if (this.#said.has(what)) return false;
    if (this.#said.size >= SAID_MAX) this.#said.clear();
    this.#said.add(what);
    return true;
  }
}
