/** Progress of recordings in a file, so that an interrupted replay or import can resume. */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { UsageError } from '../command.ts';

/** Position of a replay: enough to resume with the same boot. */
export type ReplayState = { bootId: string; startUnixNs: string; packetMs: number; nextSeq: number; done?: boolean };

/** States of several recordings in one file, by path; written whole at most once a second. */
export class StateFile {
  readonly #path: string;
  readonly #states: Record<string, ReplayState>;
  #writtenMs = 0;
  #saving: Promise<void> = Promise.resolve();

  private constructor(path: string, states: Record<string, ReplayState>) {
    this.#path = path;
    this.#states = states;
  }

  static async open(path: string): Promise<StateFile> {
    const states = path !== '' && existsSync(path) ? (JSON.parse(await readFile(path, 'utf8')) as Record<string, ReplayState>) : {};
    return new StateFile(path, states);
  }

  /** @throws UsageError when it was started with packets of another length */
  get(recording: string, packetMs: number): ReplayState | null {
    const state = this.find(recording);
    if (state !== null && state.packetMs !== packetMs)
      throw new UsageError(`${recording} was started with --packet-ms ${state.packetMs}; continue with the same value`);
    return state;
  }

  /** The saved state, with packets of any length. */
  find(recording: string): ReplayState | null {
    return this.#states[recording] ?? null;
  }

  set(recording: string, state: ReplayState): void {
    this.#states[recording] = state;
    if (performance.now() - this.#writtenMs < 1000) return;
    this.#writtenMs = performance.now();
    void this.save();
  }

  save(): Promise<void> {
    if (this.#path === '') return Promise.resolve();
    this.#saving = this.#write(JSON.stringify(this.#states, null, 2), this.#saving);
    return this.#saving;
  }

  async #write(text: string, before: Promise<void>): Promise<void> {
    await before;
    await writeFile(`${this.#path}.new`, text);
    await rename(`${this.#path}.new`, this.#path);
  }
}
