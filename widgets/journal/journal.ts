/** A person's own journal. Works without a connection.
 *
 *  @tag bio-journal
 *  @attr {string} heading
 *  @attr {boolean} readonly - shows the entries only
 *  @attr {string} refresh - how often to fetch, e.g. `30s`; `0` never. Default `60s`
 *  @attr {string} lang
 *  @attr {string} tz
 *  @attr {string} theme
 *  @prop {string} state - loading, ready, empty, stale, offline, error or unauthorized (read only)
 *  @csspart card
 *  @csspart head
 *  @csspart title
 *  @csspart entry
 *  @csspart note
 *  @csspart button
 *  @fires bio:state - {state} whenever the state changes
 *  @fires bio:journal - {time} when an entry is safe on this device; the text stays out of the event */
import { define, html, nothing } from '../shared/base.ts';
import { EntryWidget } from '../shared/entry-widget.ts';
import { fieldCss } from '../shared/field-css.ts';
import { formatTime } from '../shared/format.ts';
import type { Session } from '../shared/session.ts';

const css = `${fieldCss}
form { display: grid; gap: 10px; }
.entries { margin-block-start: 14px; display: grid; gap: 12px; }
.entries li { border-block-start: 1px solid var(--_line); padding-block-start: 10px; }
.entries p { white-space: pre-wrap; overflow-wrap: anywhere; }
.meta { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px 12px; }
`;

const TEXT_MAX = 20_000;
const SHOWN = 10;

type JournalEntry = Readonly<{ id: string; text: string | null; time: string }>;

export class BioJournal extends EntryWidget<readonly JournalEntry[]> {
  static override styles = css;
  static observedAttributes = ['heading', 'readonly', 'refresh', 'lang', 'tz', 'theme'];
  protected override readonly kind = 'journal';

  protected override heading(): string {
    return this.getAttribute('heading') ?? this.say('journal');
  }

  protected override emptyText(): string {
    return this.say('journalEmpty');
  }

  protected override async load(session: Session, signal: AbortSignal): Promise<readonly JournalEntry[] | null> {
    const entries = await session.get('/api/v1/journal', { query: { limit: SHOWN, order: 'desc' }, signal });
    return entries.length > 0 ? entries : null;
  }

  protected override form() {
    return html`<form @submit=${(event: SubmitEvent) => void this.#submit(event)}>
      <label>
        <span class="muted">${this.say('journalPrompt')}</span>
        <textarea name="text" required maxlength=${TEXT_MAX} rows="4" aria-describedby="limit"></textarea>
      </label>
      <span id="limit" class="vh">${this.say('tooLong', { max: TEXT_MAX })}</span>
      <div class="row"><button class="primary" part="button">${this.say('save')}</button></div>
    </form>`;
  }

  async #submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const text = ((new FormData(form).get('text') as string | null) ?? '').trim();
    if (text === '') return;
    const entry = { text, time: new Date().toISOString() };
    await this.keep('/api/v1/journal', { body: entry });
    form.reset();
    this.emit('bio:journal', { time: entry.time });
  }

  protected override content(entries: readonly JournalEntry[]) {
    const shown = [...this.unsent<Omit<JournalEntry, 'id'>>(), ...entries];
    if (shown.length === 0) return nothing;
    return html`<ul class="entries">
      ${shown.map(
        (entry) =>
          html`<li part="entry">
            <time class="muted" datetime=${entry.time}>${formatTime(this.locale, Date.parse(entry.time), this.timeZone)}</time>
            <p>${entry.text ?? this.text('error')}</p>
          </li>`,
      )}
    </ul>`;
  }
}

define('bio-journal', BioJournal);
