/** Lets a bounded number of works run at the same time; the others wait, oldest first. */
export class Turns {
  readonly #max: number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** @param work may pass its turn on before it ends */
  async run<T>(work: (passOn: () => void) => Promise<T>): Promise<T> {
    if (this.#running >= this.#max) await new Promise<void>((go) => this.#waiting.push(go));
    else this.#running++;
    let hasTurn = true;
    const passOn = (): void => {
      if (!hasTurn) return;
      hasTurn = false;
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    };
    try {
      return await work(passOn);
    } finally {
      passOn();
    }
  }
}
