/** Asks how a person feels, on a scale of five, with an optional note. Works without a connection.
 *
 *  @tag bio-mood
 *  @attr {string} heading
 *  @attr {boolean} readonly - shows the recent entries only
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart scale
 *  @csspart entry
 *  @csspart note
 *  @csspart button
 *  @fires bio:state - {state} whenever the state changes
 *  @fires bio:mood - {score, note, time} when an entry is safe on this device */
import { define, html, nothing } from '../shared/base.ts';
import { EntryWidget } from '../shared/entry-widget.ts';
import { fieldCss } from '../shared/field-css.ts';
import { formatTime } from '../shared/format.ts';
import type { Session } from '../shared/session.ts';

const css = `${fieldCss}
.scale { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); gap: 2px; }
.scale label { display: grid; justify-items: center; gap: 4px; padding: 8px 0; border: 1px solid var(--_line); border-radius: 8px; cursor: pointer; font-size: .75rem; text-align: center; position: relative; }
.scale input { position: absolute; inset: 0; opacity: 0; margin: 0; cursor: pointer; }
.scale label:has(:checked) { border-color: var(--_accent); box-shadow: inset 0 0 0 2px var(--_accent); font-weight: 600; }
.scale label:has(:focus-visible) { outline: 3px solid var(--_accent); outline-offset: 2px; }
.face { inline-size: 34px; block-size: 34px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; }
.face .dot { fill: currentColor; stroke: none; }
form { display: grid; gap: 12px; }
.recent { margin-block-start: 14px; }
.recent li { display: grid; grid-template-columns: 24px 1fr auto; gap: 2px 10px; align-items: center; padding: 6px 0; border-block-start: 1px solid var(--_line); font-size: .875rem; }
.recent .face { inline-size: 24px; block-size: 24px; }
.recent p { grid-column: 2 / -1; overflow-wrap: anywhere; white-space: pre-wrap; }
@container (max-width: 400px) { .scale label { font-size: .6875rem; letter-spacing: -.03em; } }
@media (forced-colors: active) { .scale label:has(:checked) { outline: 3px solid Highlight; } }
`;

const NOTE_MAX = 1000;
const RECENT = 5;
/** The mouth of each face: bad to good. The words below say the same. */
const mouths = ['M10 26q7-9 14 0', 'M11 25q6-5 12 0', 'M11 23h12', 'M11 21q6 5 12 0', 'M10 20q7 9 14 0'];
const keys = ['mood1', 'mood2', 'mood3', 'mood4', 'mood5'] as const;

type Mood = Readonly<{ id: string; score: number; note?: string | null; time: string }>;

export class BioMood extends EntryWidget<readonly Mood[]> {
  static override styles = css;
  static observedAttributes = ['heading', 'readonly', 'refresh', 'lang', 'tz', 'theme'];
  protected override readonly kind = 'mood';
  #score: number | null = null;

  protected override heading(): string {
    return this.getAttribute('heading') ?? this.say('mood');
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<readonly Mood[]> {
    return session.get('/api/v1/moods', { query: { limit: RECENT, order: 'desc' }, signal });
  }

  protected override form() {
    return html`<form @submit=${(event: SubmitEvent) => void this.#submit(event)}>
      <fieldset>
        <legend class="vh">${this.heading()}</legend>
        <div class="scale" part="scale">
          ${keys.map(
            (key, i) =>
              html`<label>
                <input
                  type="radio"
                  name="score"
                  value=${i + 1}
                  .checked=${this.#score === i + 1}
                  @change=${() => {
                    this.#score = i + 1;
                    this.requestUpdate();
                  }}
                />
                ${face(i + 1)}<span>${this.say(key)}</span>
              </label>`,
          )}
        </div>
      </fieldset>
      ${
        this.#score === null
          ? nothing
          : html`<label>
                <span class="muted">${this.say('moodNote')}</span>
                <textarea name="note" maxlength=${NOTE_MAX} rows="2"></textarea>
              </label>
              <div class="row"><button class="primary" part="button">${this.say('save')}</button></div>`
      }
    </form>`;
  }

  protected override reset(): void {
    super.reset();
    this.#score = null;
  }

  async #submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const note = (new FormData(form).get('note') as string | null)?.trim() ?? '';
    if (this.#score === null) return;
    const mood = { score: this.#score, ...(note === '' ? {} : { note }), time: new Date().toISOString() };
    this.#score = null;
    form.reset();
    await this.keep('/api/v1/moods', { body: mood });
    this.emit('bio:mood', mood);
  }

  protected override content(moods: readonly Mood[]) {
    const unsent = this.unsent<Omit<Mood, 'id'>>();
    const shown = [...unsent, ...moods].slice(0, RECENT);
    if (shown.length === 0) return nothing;
    return html`<div class="recent">
      <h3 class="muted">${this.say('recent')}</h3>
      <ul>
        ${shown.map(
          (mood) =>
            html`<li part="entry">
              ${face(mood.score)}<span>${this.say(keys[clampScore(mood.score)]!)}</span>
              <time class="muted" datetime=${mood.time}>${formatTime(this.locale, Date.parse(mood.time), this.timeZone)}</time>
              ${mood.note ? html`<p>${mood.note}</p>` : nothing}
            </li>`,
        )}
      </ul>
    </div>`;
  }
}

export function clampScore(score: number): number {
  return Math.min(4, Math.max(0, Math.round(score) - 1));
}

function face(score: number) {
  return html`<svg class="face" viewBox="0 0 34 34" aria-hidden="true">
    <circle cx="17" cy="17" r="15" />
    <circle class="dot" cx="12" cy="13" r="1.8" />
    <circle class="dot" cx="22" cy="13" r="1.8" />
    <path d=${mouths[clampScore(score)]!} />
  </svg>`;
}

define('bio-mood', BioMood);
