/** Takes the rows that a writer cannot store, and reports each fault once until something is stored again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { putAside } from './set-aside.ts';
import type { Letter } from './set-aside.ts';
import type { WriterConnection } from './database/writer-connection.ts';

export type LetterBoxOptions = Readonly<{
  /** Prefix of messages, e.g. `samples`. */
  label: string;
  /** Called with a fault that is being retried. */
  onFault?: ((message: string, cause: unknown) => void) | undefined;
  /** Called with letters once they are set aside. */
  onSetAside?: ((letters: readonly Letter[]) => void) | undefined;
  isStopped: () => boolean;
}>;

const PAUSE_MS = 1000;

export class LetterBox {
  readonly #connection: WriterConnection;
  readonly #options: LetterBoxOptions;
  #said = '';

  constructor(connection: WriterConnection, options: LetterBoxOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  /** Retries until the letters are stored, or the writer is stopped. */
  async put(letters: readonly Letter[]): Promise<void> {
    while (!this.#options.isStopped()) {
      try {
        await this.#connection.run((client) => putAside(client, letters));
        this.#options.onSetAside?.(letters);
        return;
      } catch (error) {
        this.fault(error);
        await sleep(PAUSE_MS);
      }
    }
  }

  fault(error: unknown): void {
    const message = `${this.#options.label}: ${error instanceof Error ? error.message : String(error)}`;
    if (message === this.#said) return;
    this.#said = message;
    this.#options.onFault?.(message, error);
  }

  /** Notes that the writer works again. */
  stored(): void {
    this.#said = '';
  }
}
