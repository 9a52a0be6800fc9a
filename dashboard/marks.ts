/** Marks of people on a recording, below its viewer: what is picked becomes a mark or a corrected beat; marks are listed, changed, taken
 *  back, and each has its history. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { PickDetail } from '../widgets/recording/recording-pick.ts';
import type { BioRecording } from '../widgets/recording/recording.ts';
import { ApiError } from '../sdk/fetch-json.ts';
import { channelNames } from '../src/signal.ts';
import type { Answer, BodyOf } from '../sdk/request.ts';
import { CorrectedValues } from './corrected-values.ts';
import type { Question } from './dialog.ts';
import { t } from './language.ts';
import { emptyState, moreButton, tableOf } from './parts.ts';
import { call, callList, callNext, callTagged, forgetLostAnswers, isUnanswered } from './service.ts';
import type { Stream } from './service.ts';
import type { NameOf } from './who.ts';

type Mark = Answer<'listAnnotations'>[number];
type Detail = Answer<'getAnnotation'>;
type Read = Readonly<{ mark: Detail; etag: string }>;
/** @param etag of what is there now @param before what it was; null: it was not there */
type Made = Readonly<{ id: string; etag: string; before: BodyOf<'updateAnnotation'> | null }>;
/** What the channels of the recording are called, by code. */
type ChannelNames = ReadonlyMap<string, string>;
type Kind = BodyOf<'createAnnotation'>['kind'];
type BeatKind = NonNullable<Mark['beat']>;
/** @param newest correction of the picked beat that the page has shown; null: there is none
 *  @param isOvertaken it is another than was shown when this person corrected the beat: nothing was saved */
type Shown = Readonly<{ pick: PickDetail; newest: Mark | null; isOvertaken: boolean }>;

const kinds = [
  ['note', t('Note')],
  ['symptom', t('Symptom')],
  ['activity', t('Activity')],
  ['artefact', t('Artefact')],
  ['rhythm', t('Rhythm')],
] as const satisfies readonly (readonly [Kind, string])[];
const beatKinds = [
  ['N', t('normal')],
  ['S', t('supraventricular')],
  ['V', t('ventricular')],
  ['F', t('fusion')],
  ['Q', t('unclassified')],
  ['none', t('there is no beat')],
] as const satisfies readonly (readonly [BeatKind, string])[];
const foundKinds: Readonly<Record<string, string>> = {
  normal: t('normal'),
  ectopic: t('ectopic'),
  artefact: t('artefact'),
  interpolated: t('interpolated'),
};
/** A correction means the beat within this time, ms: as the service takes it. */
const MATCH_MS = 150;
/** One may step from beat to beat: what is left within this time is not asked for. */
const STEP_MS = 200;
const LIST_MAX = 100;
/** What one answer has at most. */
const ANSWER_MAX = 1000;
const TEXT_MAX = 2000;

/** What the page does for it. */
export type MarksPage = Readonly<{
  ask: (question: Question) => void;
  /** Does it, shows a failure, and shows everything as it is now. */
  change: (action: () => Promise<unknown>) => Promise<boolean>;
  run: (action: () => Promise<void>) => Promise<boolean>;
  /** Reads again what the page shows. */
  reload: () => Promise<void>;
  redraw: () => void;
  /** To the millisecond. */
  time: (iso: string) => TemplateResult;
  /** To the millisecond. */
  exactTime: (iso: string) => TemplateResult;
  locale: string;
  canEdit: boolean;
  memberId: string;
  viewer: () => BioRecording | null;
}>;

/** After a pick the viewer writes below its strip what it is. */
const SETTLED_MS = 300;

export class Marks {
  readonly #page: MarksPage;
  #stream: Stream | null = null;
  #nameOf: NameOf = (by) => by;
  #list: readonly Mark[] = [];
  #next: string | null = null;
  /** A beat of the recording is corrected: the list may not reach it. */
  #isCorrected = false;
  #pick: PickDetail | null = null;
  #shown: Shown | null = null;
  /** Being changed: what is picked will be its place. */
  #edited: Read | null = null;
  #history: Detail | null = null;
  #takenBack: Read | null = null;
  /** What was marked and changed in this page, for Ctrl with Z. */
  #made: readonly Made[] = [];
  /** Steps back that were asked for go one after the other. */
  #undoing: Promise<unknown> = Promise.resolve();
  readonly #values: CorrectedValues;

  constructor(page: MarksPage) {
    this.#page = page;
    this.#values = new CorrectedValues(page.locale, page.run);
  }

  async load(stream: Stream, at: string | null, names: Promise<NameOf>): Promise<void> {
    this.#stream = stream;
    // What was asked for besides the first page stays.
    const limit = Math.min(ANSWER_MAX, Math.max(LIST_MAX, this.#list.length));
    const [{ items, next }, nameOf, corrections] = await Promise.all([
      callList('/api/v1/annotations', { query: { stream_id: stream.id, limit } }),
      names,
      call('GET', '/api/v1/annotations', { query: { stream_id: stream.id, kind: 'beat', limit: 1 } }),
      this.#values.load(stream, at),
    ]);
    [this.#list, this.#next, this.#nameOf] = [items, next, nameOf];
    this.#isCorrected = corrections.length > 0;
    if (this.#isCorrected) await this.#values.catchUp();
    if (this.#history !== null) await this.#showHistory(this.#history.id);
  }

  get #channels(): ChannelNames {
    return channelNames(this.#stream?.channels ?? []);
  }

  #whatOf(mark: Pick<Mark, 'kind' | 'beat' | 'channel'>): string {
    return whatOf(mark, this.#channels);
  }

  /** The recording may not be seen any more. */
  forget(): void {
    [this.#list, this.#next, this.#pick, this.#shown, this.#edited] = [[], null, null, null, null];
    [this.#history, this.#takenBack, this.#made] = [null, null, []];
  }

  /** Where the viewer is now. */
  shown(at: string): void {
    this.#values.shown(at, this.#isCorrected);
  }

  /** What the viewer says was picked. */
  picked(pick: PickDetail | null): void {
    this.#pick = pick;
    this.#shown = null;
    if (pick === null) this.#edited = null;
    else if (pick.beat !== null && this.#edited === null) this.#showCorrection(pick);
    this.#page.redraw();
    if (pick?.done !== true) return;
    if (pick.beat === null || this.#edited !== null) this.#askWhat(pick);
    else document.querySelector<HTMLElement>('.picked button')?.focus();
  }

  #letGo(): void {
    [this.#pick, this.#shown, this.#edited] = [null, null, null];
    const viewer = this.#page.viewer();
    viewer?.clearPick();
    viewer?.focus();
    this.#page.redraw();
  }

  async #changed(): Promise<void> {
    this.#letGo();
    await this.#page.viewer()?.refreshMarks();
  }

  // ------------------------------------------------------------------------------------------------ what is picked

  #placeOf(from: string, to: string | null): TemplateResult {
    return html`${this.#page.exactTime(from)}${to === null ? nothing : html` – ${this.#page.exactTime(to)}`}`;
  }

  #place(): TemplateResult {
    return this.#placeOf(this.#pick!.from, this.#pick!.to);
  }

  #picked(): TemplateResult {
    const [pick, edited] = [this.#pick, this.#edited];
    const away = html`<button type="button" @click=${() => this.#letGo()}>${t('Cancel')}</button>`;
    if (pick === null) {
      return html`<p class="muted keys">
        ${t('To mark something, choose {mark} above the strip: then click on the strip or drag over a stretch of it. With the keyboard: M, square brackets, B for beats, then Enter. Ctrl with Z takes back what you marked last.', { mark: html`<i>${t('Mark|control')}</i>` })}
      </p>`;
    }
    if (edited === null && pick.beat !== null) {
      const { kind } = pick.beat;
      const what =
        kind === null
          ? t('No beat was found at {place}. It is:', { place: this.#place() })
          : t('Computed as {kind} at {place}. It is:', { kind: foundKinds[kind] ?? kind, place: this.#place() });
      const newest = this.#shown?.newest ?? null;
      const choices = beatKinds.filter(([beat]) => beat !== 'none' || pick.beat!.kind !== null || newest !== null);
      return html`${this.#corrected()}
        <p>${what}</p>
        <div class="row">
          ${choices.map(
            ([beat, name]) =>
              html`<button type="button" @click=${() => this.#correct(pick, beat)}>
                ${beat === 'none' ? t('No beat') : html`<b>${beat}</b> ${name}`}
              </button>`,
          )}
          ${away}
        </div>`;
    }
    return html`<p>
        ${edited === null ? t('Chosen: {place}', { place: this.#place() }) : t('Being changed; choose another place on the strip to move it: {place}', { place: this.#place() })}
      </p>
      <div class="row">
        <button type="button" class="primary" aria-haspopup="dialog" @click=${() => this.#askWhat(pick)}>
          ${edited === null ? t('Mark this') : t('Change')}
        </button>
        ${away}
      </div>`;
  }

  /** One of another channel says nothing of the beat. */
  #correctionAt({ from, beat }: PickDetail, marks = this.#list): Mark | null {
    const channel = beat?.channel ?? null;
    const apart = ({ starts_at: at }: Mark): number => Math.abs(Date.parse(at) - Date.parse(from));
    return (
      marks
        .filter(
          (mark) =>
            mark.kind === 'beat' && apart(mark) <= MATCH_MS && (channel === null || mark.channel === null || mark.channel === channel),
        )
        .toSorted((a, b) => apart(a) - apart(b))[0] ?? null
    );
  }

  async #newestCorrectionAt(pick: PickDetail): Promise<Mark | null> {
    const [since, until] = [-1, 1].map((side) => new Date(Date.parse(pick.from) + side * (MATCH_MS + 1)).toISOString()) as [string, string];
    const query = { stream_id: this.#stream!.id, kind: 'beat', since, until } as const;
    return this.#correctionAt(pick, await call('GET', '/api/v1/annotations', { query }));
  }

  /** What the list has at once, and what the service has as soon as it says it. */
  #showCorrection(pick: PickDetail): void {
    const shown = { pick, newest: this.#correctionAt(pick), isOvertaken: false };
    this.#shown = shown;
    const look = async (): Promise<void> => {
      const newest = await this.#newestCorrectionAt(pick);
      if (this.#shown === shown) this.#shown = { ...shown, newest };
    };
    setTimeout(() => this.#shown === shown && void this.#page.run(look), STEP_MS);
  }

  #corrected(): TemplateResult | typeof nothing {
    if (this.#shown === null) return nothing;
    const { newest, isOvertaken } = this.#shown;
    if (newest === null) {
      const deleted = t('The correction of this beat has been deleted. Nothing was saved; choose again to correct the beat.');
      return isOvertaken ? html`<p role="alert">${deleted}</p>` : nothing;
    }
    const values = { who: this.#who(newest), what: this.#whatOf(newest), time: this.#page.time(newest.made_at) };
    if (!isOvertaken) return html`<p>${t('{who} has corrected it: {what}, {time}.', values)}</p>`;
    return html`<p role="alert">
      ${t('{who} has already corrected this beat: {what}, {time}. Nothing was saved; choose again to replace that.', values)}
    </p>`;
  }

  /** A beat that was corrected before gets another version. A correction that this page has not shown is shown first. */
  #correct(pick: PickDetail, beat: BeatKind): void {
    void this.#page.change(async () => {
      const shown = this.#shown?.newest ?? null;
      const newest = await this.#newestCorrectionAt(pick);
      const isShown = newest?.id === shown?.id && newest?.version === shown?.version;
      // Its answer was lost, and it is asked for again.
      if (!isShown && newest?.beat === beat && newest.made_by === `operator:${this.#page.memberId}`) {
        forgetLostAnswers();
        return await this.#changed();
      }
      if (isShown && (await this.#save(pick, beat, newest))) return await this.#changed();
      this.#shown = { pick, newest: isShown ? await this.#newestCorrectionAt(pick) : newest, isOvertaken: true };
      await this.#page.viewer()?.refreshMarks();
    });
  }

  /** @param before the correction that gets another version; null: there is none
   *  @returns false: it has another version since */
  async #save(pick: PickDetail, beat: BeatKind, before: Mark | null): Promise<boolean> {
    if (before === null) {
      const body = { stream_id: this.#stream!.id, kind: 'beat', starts_at: pick.from, beat } as const;
      try {
        const made = await callTagged('POST', '/api/v1/annotations', { body, isFirst: true });
        this.#note(made.value.id, made.etag, null);
        return true;
      } catch (error) {
        if (error instanceof ApiError && error.status === 412) return false;
        throw error;
      }
    }
    const params = { annotationId: before.id };
    const { value, etag } = await callTagged('GET', '/api/v1/annotations/{annotationId}', { params });
    if (value.version !== before.version) return false;
    try {
      const after = await callTagged('PATCH', '/api/v1/annotations/{annotationId}', { params, body: { beat }, etag });
      this.#note(before.id, after.etag, { beat: value.beat });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) return false;
      throw error;
    }
  }

  #askWhat(pick: PickDetail): void {
    let edited = this.#edited;
    const isBeat = edited?.mark.kind === 'beat';
    const place = { starts_at: pick.from, ends_at: isBeat ? null : pick.to };
    this.#page.ask({
      title: edited === null ? t('Mark') : t('Change the mark'),
      text: html`${t('{place}. Everyone who can see this recording also sees the mark, your name and when you made it.', { place: this.#place() })}`,
      word: t('Save'),
      fields: fieldsOf(edited?.mark ?? null, this.#channels),
      overtaken: async () => {
        const { id } = edited!.mark;
        const { value: mark, etag } = await callTagged('GET', '/api/v1/annotations/{annotationId}', { params: { annotationId: id } });
        const isStill = this.#edited === edited;
        edited = { mark, etag };
        if (isStill) this.#edited = edited;
        const what = `${this.#whatOf(mark)} ${mark.text}`.trim();
        return mark.deleted ? t('Deleted: {mark}', { mark: what }) : html`${what}, ${this.#placeOf(mark.starts_at, mark.ends_at)}.`;
      },
      act: async (field) => {
        const what = {
          channel: field('channel') === '' ? null : field('channel'),
          text: field('text'),
          ...(isBeat ? { beat: field('beat') as BeatKind } : { kind: field('kind') as Kind }),
        };
        if (edited === null) {
          const body = { ...what, ...place, kind: field('kind') as Kind, stream_id: this.#stream!.id };
          const made = await callTagged('POST', '/api/v1/annotations', { body });
          this.#note(made.value.id, made.etag, null);
        } else {
          const params = { annotationId: edited.mark.id };
          const body = { ...what, ...place };
          const after = await callTagged('PATCH', '/api/v1/annotations/{annotationId}', { params, body, etag: edited.etag });
          const { kind, channel, text, beat, starts_at, ends_at } = edited.mark;
          this.#note(edited.mark.id, after.etag, { kind, channel, text, beat, starts_at, ends_at });
        }
        await this.#changed();
      },
      after: () => this.#page.viewer()?.focus(),
    });
  }

  /** Remembers a change. What was done to the same mark before is of the version that is there now. */
  #note(id: string, etag: string, before: Made['before']): void {
    this.#made = [...this.#withTag(id, etag), { id, etag, before }];
  }

  #withTag(id: string, etag: string): Made[] {
    return this.#made.map((one) => (one.id === id ? { ...one, etag } : one));
  }

  /** Ctrl with Z: the last thing that was marked or changed in this page, unless another person has changed it since. A field keeps its
   *  own. */
  undoKey(event: KeyboardEvent): void {
    if (event.key.toLowerCase() !== 'z' || event.shiftKey || event.altKey || !(event.ctrlKey || event.metaKey)) return;
    const [field] = event.composedPath();
    const isTyping = field instanceof HTMLTextAreaElement || (field instanceof HTMLInputElement && !/^(checkbox|range)$/.test(field.type));
    if (isTyping || this.#made.length === 0) return;
    event.preventDefault();
    this.#undoing = this.#undoing.then(async () => {
      const last = this.#made.at(-1);
      if (last !== undefined) await this.#page.change(() => this.#undoLast(last));
    });
  }

  /** A step without an answer is still the last one. */
  async #undoLast(last: Made): Promise<void> {
    const { id, etag, before } = last;
    this.#made = this.#made.slice(0, -1);
    try {
      if (before === null) await this.#delete(id, etag);
      else {
        const params = { annotationId: id };
        const after = await callTagged('PATCH', '/api/v1/annotations/{annotationId}', { params, body: before, etag });
        this.#made = this.#withTag(id, after.etag);
      }
    } catch (error) {
      if (isUnanswered(error)) this.#made = [...this.#made, last];
      throw error;
    }
    await this.#changed();
  }

  /** It can be taken back up. */
  async #delete(id: string, etag: string): Promise<void> {
    const params = { annotationId: id };
    await call('DELETE', '/api/v1/annotations/{annotationId}', { params, etag });
    this.#made = this.#made.filter((one) => one.id !== id);
    const after = await callTagged('GET', '/api/v1/annotations/{annotationId}', { params });
    this.#takenBack = { mark: after.value, etag: after.etag };
  }

  // ------------------------------------------------------------------------------------------------ the list

  /** A mark as it is now: another person may have changed it since the list was read. One that was deleted meanwhile is said to be.
   *  @returns null: it is deleted */
  async #readOne(id: string): Promise<Read | null> {
    const { value: mark, etag } = await callTagged('GET', '/api/v1/annotations/{annotationId}', { params: { annotationId: id } });
    if (!mark.deleted) return { mark, etag };
    await this.#page.change(async () => {
      this.#takenBack = { mark, etag };
      await this.#changed();
    });
    return null;
  }

  async #edit(id: string): Promise<void> {
    const read = await this.#readOne(id);
    if (read === null) return;
    const { starts_at: from, ends_at: to } = read.mark;
    this.#edited = read;
    this.#pick = { from, to, beat: null, done: false };
    const viewer = this.#page.viewer();
    viewer?.showPick(from, to);
    this.#page.redraw();
    // Its button is there after the next frame, and in its place after the strip has been drawn; what is picked stands above it.
    requestAnimationFrame(() => {
      const button = document.querySelector<HTMLElement>('.picked button');
      button?.focus();
      setTimeout(() => button?.scrollIntoView({ block: 'end' }), SETTLED_MS);
    });
  }

  /** What is deleted is what the dialog shows. */
  async #takeBack(id: string): Promise<void> {
    const read = await this.#readOne(id);
    if (read === null) return;
    const { mark, etag } = read;
    this.#page.ask({
      title: t('Delete the mark?'),
      text: t('{mark}. It leaves the recording and the list; its history stays.', { mark: `${this.#whatOf(mark)} ${mark.text}`.trim() }),
      word: t('Delete'),
      danger: true,
      act: async () => {
        await this.#delete(id, etag);
        await this.#changed();
      },
      after: () => this.#page.viewer()?.focus(),
    });
  }

  #undo({ mark, etag }: Read): void {
    void this.#page.change(async () => {
      const taken = { params: { annotationId: mark.id }, body: { text: mark.text }, etag };
      const failure = await call('PATCH', '/api/v1/annotations/{annotationId}', taken).then(
        () => null,
        (error: unknown) => error,
      );
      const isOvertaken = failure instanceof ApiError && [409, 412].includes(failure.status);
      if (failure !== null && !isOvertaken) throw failure;
      this.#takenBack = null;
      await this.#changed();
      if (!isOvertaken) return;
      await this.#page.reload();
      const detail =
        failure.status === 409
          ? t('This beat has another correction by now. Nothing was saved.')
          : t('Another person has changed this mark meanwhile. Nothing was saved.');
      throw new ApiError(-1, { code: failure.code, detail });
    });
  }

  async #showHistory(id: string): Promise<void> {
    this.#history = await call('GET', '/api/v1/annotations/{annotationId}', { params: { annotationId: id } });
    this.#page.redraw();
  }

  #who({ made_by: by, made_by_name: name }: Mark): string {
    return name ?? this.#nameOf(by);
  }

  #line(mark: Mark): TemplateResult {
    const button = (word: string, act: () => void): TemplateResult =>
      html`<button type="button" @click=${act}>${word}<span class="vh"> ${this.#whatOf(mark)} ${mark.text}</span></button>`;
    return html`<div class="row">
      ${button(t('Show'), () => this.#goTo(mark))} ${button(t('History'), () => void this.#page.run(() => this.#showHistory(mark.id)))}
      ${this.#page.canEdit ? html`${button(t('Edit'), () => void this.#page.run(() => this.#edit(mark.id)))} ${button(t('Delete'), () => void this.#page.run(() => this.#takeBack(mark.id)))}` : nothing}
    </div>`;
  }

  #goTo({ starts_at: at }: Mark): void {
    const viewer = this.#page.viewer();
    viewer?.moveTo(at);
    viewer?.scrollIntoView({ block: 'end' });
    viewer?.focus();
  }

  #madeBy(version: Detail['versions'][number]): TemplateResult {
    const by = { who: this.#who(version), time: this.#page.time(version.made_at) };
    if (version.deleted) return html`${t('Deleted by {who}, {time}', by)}`;
    return html`${version.version === 1 ? t('Made by {who}, {time}', by) : t('Changed by {who}, {time}', by)}`;
  }

  #past(detail: Detail): TemplateResult {
    const close = (): void => {
      this.#history = null;
      this.#page.redraw();
    };
    return html`<section class="card" aria-label=${t('History of a mark')}>
      <div class="card-head">
        <h2>${t('History: {mark}', { mark: this.#whatOf(detail) })}</h2>
        <button type="button" @click=${close}>${t('Close')}</button>
      </div>
      <ol class="plain rows">
        ${detail.versions.map(
          (version) =>
            html`<li>
              ${this.#madeBy(version)}
              ${
                version.deleted
                  ? nothing
                  : html`<p>
                      ${this.#whatOf(version)},
                      ${this.#placeOf(version.starts_at, version.ends_at)}${version.text === '' ? nothing : html`: ${version.text}`}
                    </p>`
              }
            </li>`,
        )}
      </ol>
    </section>`;
  }

  view(): TemplateResult {
    const more = (next: string): Promise<boolean> =>
      this.#page.run(async () => {
        const page = await callNext('/api/v1/annotations', next);
        [this.#list, this.#next] = [[...this.#list, ...page.items], page.next];
      });
    const taken = this.#takenBack;
    return html`<section class="card marks" aria-label=${t('Marks')} @keydown=${(event: KeyboardEvent) => this.undoKey(event)}>
        <h2>${t('Marks')}</h2>
        ${this.#page.canEdit ? html`<div class="picked" role="group" aria-label=${t('What is chosen')}>${this.#picked()}</div>` : nothing}
        ${
          taken === null
            ? nothing
            : html`<div class="row" role="status">
                <p>${t('Deleted: {mark}', { mark: `${this.#whatOf(taken.mark)} ${taken.mark.text}`.trim() })}</p>
                <button type="button" @click=${() => this.#undo(taken)}>${t('Undo')}</button>
                <button type="button" @click=${() => void this.#page.run(() => this.#showHistory(taken.mark.id))}>${t('History')}</button>
              </div>`
        }
        ${
          this.#list.length === 0
            ? emptyState(t('No marks'), t('What people mark on this recording appears here, with their name.'))
            : tableOf<Mark>(
                [
                  { name: t('At'), cell: (mark) => this.#placeOf(mark.starts_at, mark.ends_at) },
                  { name: t('What'), cell: (mark) => this.#whatOf(mark) },
                  { name: t('Text'), cell: (mark) => mark.text },
                  { name: t('By'), cell: (mark) => this.#who(mark) },
                  {
                    name: t('Made'),
                    cell: (mark) =>
                      html`${this.#page.time(mark.made_at)}${mark.version > 1 ? html` <span class="muted">${t('changed')}</span>` : nothing}`,
                  },
                  { name: t('Actions'), kind: 'actions', cell: (mark) => this.#line(mark) },
                ],
                this.#list,
              )
        }
        ${moreButton(this.#next, () => void more(this.#next!))}
      </section>
      ${this.#history === null ? nothing : this.#past(this.#history)} ${this.#values.view(this.#isCorrected)}`;
  }
}

function whatOf({ kind, beat, channel }: Pick<Mark, 'kind' | 'beat' | 'channel'>, channels: ChannelNames): string {
  const of = channel === null ? '' : ` (${channels.get(channel) ?? channel})`;
  if (beat !== null) return (beat === 'none' ? t('No beat') : t('Beat {kind}', { kind: beat })) + of;
  return (kinds.find(([one]) => one === kind)?.[1] ?? kind) + of;
}

/** Kind, channel and text of a mark.  @param mark that is changed; null: a new one */
export function fieldsOf(mark: Mark | null, channels: ChannelNames): TemplateResult {
  const choice = (label: string, name: string, list: readonly (readonly [string, string])[], value: string): TemplateResult =>
    html`<label
      >${label}
      <select name=${name}>
        ${list.map(([one, word]) => html`<option value=${one} ?selected=${one === value}>${word}</option>`)}
      </select></label
    >`;
  const what =
    mark?.kind === 'beat'
      ? choice(
          t('The beat is'),
          'beat',
          beatKinds.map(([beat, name]) => [beat, beat === 'none' ? t('No beat') : `${beat}: ${name}`]),
          mark.beat ?? 'N',
        )
      : choice(t('Kind'), 'kind', kinds, mark?.kind ?? 'note');
  const of: (readonly [string, string])[] = [...channels];
  // Of a channel that the recording does not have, by a program: a change of the text keeps it.
  if (mark !== null && mark.channel !== null && !channels.has(mark.channel)) of.push([mark.channel, mark.channel]);
  return html`${what} ${choice(t('Channel'), 'channel', [['', t('All channels')], ...of], mark?.channel ?? '')}
    <label
      >${t('Text')} <span class="muted">${t('optional')}</span>
      <textarea name="text" rows="3" maxlength=${TEXT_MAX} .value=${mark?.text ?? ''}></textarea>
    </label>`;
}
