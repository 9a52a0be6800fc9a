/** Calls that come while one is under way are made together by the next: a fleet that connects at once is a few statements, and takes one
 *  connection. The first call of a quiet time goes at once. */
import { isRetryable } from './sql-states.ts';

type Call<In, Out> = Readonly<{ input: In; resolve: (out: Out) => void; reject: (error: unknown) => void }>;

export class Coalesce<In, Out> {
  readonly #run: (inputs: readonly In[]) => Promise<readonly Out[]>;
  readonly #countMax: number;
  readonly #waiting: Call<In, Out>[] = [];
  #running = false;

  /** @param run answers for each input, in order  @param countMax inputs of one run */
  constructor(run: (inputs: readonly In[]) => Promise<readonly Out[]>, countMax = 256) {
    this.#run = run;
    this.#countMax = countMax;
  }

  call(input: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject });
      if (!this.#running) void this.#drain();
    });
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) await this.#runBatch(this.#waiting.splice(0, this.#countMax));
    this.#running = false;
  }

  async #runBatch(batch: readonly Call<In, Out>[]): Promise<void> {
    try {
      const outs = await this.#run(batch.map(({ input }) => input));
      for (let i = 0; i < batch.length; i++) batch[i]!.resolve(outs[i]!);
    } catch (error) {
      if (batch.length === 1 || isRetryable(error)) for (const { reject } of batch) reject(error);
      // One of them cannot be done: it must not fail the others.
      else for (const one of batch) await this.#runBatch([one]);
    }
  }
}
