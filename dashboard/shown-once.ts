/** A secret that was just made: shown until the member confirms that it is stored, or leaves the page. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { t } from './language.ts';

type Fresh = Readonly<{ title: string; text: string; secret: string }>;

export class ShownOnce {
  #fresh: Fresh | null = null;
  #copied = false;
  readonly #run: (action: () => Promise<void>) => Promise<boolean>;
  readonly #redraw: () => void;

  /** @param run of the page: shows what goes wrong */
  constructor(run: (action: () => Promise<void>) => Promise<boolean>, redraw: () => void) {
    this.#run = run;
    this.#redraw = redraw;
  }

  show(fresh: Fresh): void {
    this.#fresh = fresh;
    this.#copied = false;
  }

  forget(): void {
    this.#fresh = null;
  }

  view(): TemplateResult | typeof nothing {
    const fresh = this.#fresh;
    if (fresh === null) return nothing;
    return html`<section class="card fresh" role="alert">
      <h2>${fresh.title}</h2>
      <p>${fresh.text}</p>
      <div class="secret">
        <code>${fresh.secret}</code>
        <button
          type="button"
          @click=${() =>
            void this.#run(async () => {
              await navigator.clipboard.writeText(fresh.secret);
              this.#copied = true;
            })}
        >
          ${this.#copied ? t('Copied') : t('Copy')}
        </button>
        <button
          type="button"
          @click=${() => {
            this.forget();
            this.#redraw();
          }}
        >
          ${t('I have stored it')}
        </button>
      </div>
    </section>`;
  }
}
