/** Base of every page of the dashboard: loads, draws, shows failures, and ends. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatAge } from '../widgets/shared/format.ts';
import { clocksChange, zonedTime } from '../widgets/shared/zoned-time.ts';
import { ApiError } from '../sdk/fetch-json.ts';
import type { Answer } from '../sdk/request.ts';
import { isRefusal } from '../sdk/retry.ts';
import { Retry } from '../widgets/shared/ask-again.ts';
import { Dialog, goneText, isGone } from './dialog.ts';
import { clearFieldProblems, failureAtFields } from './field-problem.ts';
import type { FieldWords } from './field-problem.ts';
import type { Question } from './dialog.ts';
import { problemOf, t } from './language.ts';
import type { ListPlace } from './list-choice.ts';
import { skeleton } from './parts.ts';
import { call, forgetLostAnswers } from './service.ts';
import { clockOf, clockZone, isForeign, ownZone } from './time-zone.ts';
import type { Member, Project } from './service.ts';

type Counts = Answer<'getFleetCounts'>;

export type PageContext = Readonly<{
  redraw: () => void;
  locale: string;
  member: Member;
  /** The rest of the address after the page's own part. */
  argument: string;
  /** Filters of the address, after its `?`. */
  query: URLSearchParams;
  /** Call when a number shown next to a section may have changed. @param counts the new ones, where the page knows them */
  recount: (counts?: Counts | null) => void;
}>;

/** @param isOvertaken another member saved first: the page shows an old version
 *  @param isOfRefresh of what the page does by itself, not of what a person did
 *  @param isRefusal what the page shows may not be seen any more, or no longer exists
 *  @param isSignedOut it may be seen as soon as the member has signed in again */
type Problem = Readonly<{ text: string; isOvertaken: boolean; isOfRefresh: boolean; isRefusal: boolean; isSignedOut: boolean }>;

/** What is refreshed and has not been for so many of its periods is said to be old; ms at least. */
const OLD_PERIODS = 3;
const OLD_MS_MIN = 30_000;
/** How often a page about one person asks whether it may still be seen as it is, or can be seen again, ms. */
const SEEN_MS = 15_000;
/** A refresh that has no answer for so long is given up. */
const REFRESH_MS_MAX = 60_000;
/** What is still coming is looked for so often, ms, and so many times: two minutes. */
const COMING_MS = 4000;
const COMING_LOOKS_MAX = 30;

/** An answer that came after a later question. */
class Overtaken extends Error {}

export abstract class Page {
  protected readonly context: PageContext;
  protected readonly dialog: Dialog;
  #problem: Problem | null = null;
  /** The page shows times of the browser's clock. */
  #showsOwnClock = false;
  #phase: 'loading' | 'ready' | 'failed' = 'loading';
  /** Failed because what it shows may not be seen: that is asked again, whatever has failed since. */
  #isHidden = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #seenTimer: ReturnType<typeof setInterval> | undefined;
  #comingTimer: ReturnType<typeof setTimeout> | undefined;
  #comingLooks = 0;
  #isLeft = false;
  #question = 0;
  /** Of what was chosen last (a filter, a period, a project): its answer is shown, or under way, or did not come. */
  #choice: 'shown' | 'asked' | 'failed' = 'shown';
  #askChosen = (): Promise<void> => this.load();
  /** What did not come because the service was away is asked for by itself. */
  readonly #retry = new Retry();
  #isAskedAgain = false;
  /** When what is shown was asked for, and a refresh that has no answer yet; ms since 1970. */
  #shownOfMs = Date.now();
  #askedMs: number | null = null;
  readonly #seen = (): void => {
    if (this.#problem !== null && !document.hidden) void this.#askAgain();
    if (this.refreshMs > 0) void this.#refresh();
    if (this.isAboutPerson) void this.#askSeen();
  };

  constructor(context: PageContext) {
    this.context = context;
    this.dialog = new Dialog(
      context.redraw,
      () => void this.giveUp(),
      (error) => {
        if (this.isAboutPerson && isRefusal(error)) void this.#askSeen();
        else if (isGone(error)) void this.#loadAgain(true); // below the dialog, it is gone
      },
    );
  }

  /** Called once the page exists; a constructor could not see the fields of its subclass. */
  start(): void {
    void this.#first();
    if (this.refreshMs > 0) this.#timer = setInterval(() => void this.#refresh(), this.refreshMs);
    if (this.isAboutPerson) this.#seenTimer = setInterval(() => void this.#askSeen(), SEEN_MS);
    document.addEventListener('visibilitychange', this.#seen);
  }

  /** One at a time: a service that does not answer is not asked more and more. */
  async #refresh(): Promise<void> {
    if (document.hidden || this.#phase !== 'ready') return;
    const nowMs = Date.now();
    if (this.#askedMs !== null && nowMs - this.#askedMs < REFRESH_MS_MAX) return this.context.redraw();
    this.#askedMs = nowMs;
    const well = await this.run(() => this.load(), true);
    if (well) this.#shownOfMs = Math.max(this.#shownOfMs, nowMs);
    if (this.#askedMs === nowMs) this.#askedMs = null;
    if (!well) this.#hideRefused();
    this.context.redraw();
  }

  /** Of a page about one person: consent may be withdrawn and given, and the person erased, while it is open. */
  async #askSeen(): Promise<void> {
    const isRefused = this.#phase === 'failed' && this.#isHidden;
    if (document.hidden || this.#isLeft || (this.#phase !== 'ready' && !isRefused)) return;
    const isAsShown = !isRefused && (await this.isAsShown().catch((error: unknown) => !isRefusal(error)));
    if (!isAsShown) await this.lookAgain();
  }

  /** Loads again what may not be seen any more: where the service refuses it, nothing of it stays on the page. */
  protected async lookAgain(): Promise<void> {
    if (this.#phase === 'loading' || this.#isLeft) return;
    await this.#loadAgain(true);
  }

  /** Call in `load` where something that is shown is still coming: it is loaded again in a moment, some times. */
  protected lookSoon(): void {
    clearTimeout(this.#comingTimer);
    if (this.#isLeft || this.#comingLooks >= COMING_LOOKS_MAX) return;
    this.#comingTimer = setTimeout(() => void this.#look(), COMING_MS);
  }

  async #look(): Promise<void> {
    if (document.hidden) return this.lookSoon();
    this.#comingLooks += 1;
    await this.lookAgain();
    if (this.#problem?.isOfRefresh === true && this.#phase === 'ready') this.lookSoon(); // one that fails is not the last
  }

  async #loadAgain(isRefresh = false): Promise<boolean> {
    const askedMs = Date.now();
    const well = await this.run(() => this.load(), isRefresh);
    if (well) this.#shownOfMs = Math.max(this.#shownOfMs, askedMs);
    else this.#hideRefused();
    this.context.redraw();
    return well;
  }

  /** A dialog or a form was left: what it sent without an answer is read, and done anew by who asks for it again. */
  protected async giveUp(): Promise<void> {
    if (await this.#loadAgain()) forgetLostAnswers();
  }

  /** Nothing of what failed is on its way again: the service may be back. */
  async #askAgain(): Promise<void> {
    const isFailed = this.#phase === 'failed' && !this.#isHidden;
    if (this.#isLeft || this.#isAskedAgain || (!isFailed && this.#choice !== 'failed')) return;
    if (document.hidden) return; // it is asked when it is seen
    this.#isAskedAgain = true;
    if (isFailed) await this.#loadAgain(true);
    else await this.run(this.#askChosen, true);
    this.#isAskedAgain = false;
  }

  /** What could not be loaded: nothing of it stays on the page, nor in a dialog. */
  #hideRefused(): void {
    if (!this.isAboutPerson || this.#problem?.isRefusal !== true) return;
    this.#phase = 'failed';
    this.#isHidden = true;
    this.forget();
    if (this.#problem.isSignedOut) this.dialog.cover(true);
    else this.dialog.dismiss();
  }

  /** What is shown is from a while ago, although it is refreshed. */
  #old(): TemplateResult | typeof nothing {
    const isOld = Date.now() - this.#shownOfMs > Math.max(OLD_PERIODS * this.refreshMs, OLD_MS_MIN);
    if (this.refreshMs === 0 || this.#phase !== 'ready' || !isOld) return nothing;
    const time = new Intl.DateTimeFormat(this.context.locale, { timeStyle: 'medium' }).format(this.#shownOfMs);
    return html`<div class="problem" role="alert">
      <p>${t('Not up to date: this is how it was at {time}. The service does not answer.', { time })}</p>
    </div>`;
  }

  /** Called when the member has signed in again: what could not be loaded is asked for again. */
  signedInAgain(): void {
    if (this.#phase === 'failed') void this.#first();
    else if (this.#choice === 'failed') this.choose(this.#askChosen);
  }

  abstract readonly title: string;
  /** One sentence below the title. */
  protected readonly lead: string = '';
  /** Of its times; '' is the browser's. A page about a person has theirs. */
  protected get zone(): string {
    return '';
  }
  /** Takes the whole screen: without sections and header. */
  readonly isWhole: boolean = false;
  /** Uses all of a large screen: what it shows is the finer the wider it is. */
  readonly isWide: boolean = false;
  /** Shows data of one person: nothing of them stays where the service refuses it. Elsewhere what is refused, such as a group that was
   *  deleted, is said, and another can be chosen. */
  protected get isAboutPerson(): boolean {
    return false;
  }
  /** Of a page about one person: a small question to the service.
   *  @returns false: load it again  @throws ApiError what is shown may not be seen any more, or is no longer there */
  protected isAsShown(): Promise<boolean> {
    return Promise.resolve(true);
  }
  /** Another page is open: what was asked for is not for this one any more. */
  protected get isLeft(): boolean {
    return this.#isLeft;
  }
  /** 0: loads once. */
  protected readonly refreshMs: number = 0;
  protected abstract load(): Promise<void>;
  protected abstract body(): TemplateResult | typeof nothing;
  protected actions(): TemplateResult | typeof nothing {
    return nothing;
  }
  /** What is shown may not be seen any more: forget it, and whose it was. */
  protected forget(): void {}
  /** What was shown belongs to the page: forget it, and stop what was started. */
  protected left(): void {}

  leave(): void {
    this.#isLeft = true;
    clearInterval(this.#timer);
    clearInterval(this.#seenTimer);
    clearTimeout(this.#comingTimer);
    this.#retry.stop();
    document.removeEventListener('visibilitychange', this.#seen);
    this.left();
  }

  protected get canAdmin(): boolean {
    return ['admin', 'owner'].includes(this.context.member.role);
  }

  /** Changes records of people: everybody but viewers and analysts. */
  protected get canEdit(): boolean {
    return this.canAdmin || this.context.member.role === 'clinician';
  }

  /** Keeps the filters in the address, so that it can be shared and survives a reload; '' is not a filter. */
  protected keep(filters: Readonly<Record<string, string>>): void {
    if (this.#isLeft) return; // the address is another page's
    const { query } = this.context;
    for (const [name, value] of Object.entries(filters)) {
      if (value === '') query.delete(name);
      else query.set(name, value);
    }
    const [path = ''] = location.hash.split('?');
    history.replaceState(null, '', `${path}${query.size === 0 ? '' : `?${query.toString()}`}`);
  }

  /** Where a list of this page keeps its search and its order. */
  protected get listPlace(): ListPlace {
    return { query: this.context.query, keep: (filters) => this.keep(filters), redraw: this.context.redraw };
  }

  /** Asks, does it, and then shows everything as it is now. */
  protected ask(question: Question): void {
    this.dialog.ask({
      ...question,
      act: async (text) => {
        await question.act(text);
        this.context.recount();
        // It is done: a load that fails is the page's to say, and not asked of who would do it twice.
        if (!(await this.#loadAgain(true))) this.lookSoon();
      },
    });
  }

  /** Shows everything as it is now. A later question of the page, whose answer has the change as well, is no failure of a dialog. */
  protected async loadChanged(): Promise<void> {
    await this.unlessOvertaken(this.load());
  }

  /** A part of a load that a later question has overtaken: its answer is shown, and the rest of this load goes on. */
  protected async unlessOvertaken(part: Promise<void>): Promise<void> {
    try {
      await part;
    } catch (error) {
      if (!(error instanceof Overtaken)) throw error;
    }
  }

  /** A button that asks before it acts. @param of what it acts on, for those who do not see its row */
  protected askButton(of: string, question: Question): TemplateResult {
    return html`<button type="button" aria-haspopup="dialog" @click=${() => this.ask(question)}>
      ${question.word}<span class="vh"> ${of}</span>
    </button>`;
  }

  async #first(): Promise<void> {
    this.#phase = 'loading';
    this.context.redraw();
    const askedMs = Date.now();
    const well = await this.run(() => this.load());
    this.#shownOfMs = askedMs;
    this.#phase = well ? 'ready' : 'failed';
    if (well) this.#isHidden = false;
    else this.#hideRefused();
    this.context.redraw();
  }

  /** Runs an action, shows its failure on the page, draws afterwards. A failure that came in the meantime stays; a refresh removes only
   *  those of refreshes.
   *  @returns whether it went well */
  protected async run(action: () => Promise<void>, isRefresh = false): Promise<boolean> {
    const before = this.#problem;
    try {
      await action();
      const isFailed = this.#phase === 'failed';
      if (isFailed || this.#choice !== 'failed') this.#retry.stop();
      this.dialog.cover(false);
      if (this.#problem === before && (!isRefresh || isFailed || before?.isOfRefresh === true)) {
        this.#problem = null;
        if (isFailed) [this.#phase, this.#isHidden] = ['ready', false];
      }
      return true;
    } catch (error) {
      if (error instanceof Overtaken) return true;
      if (!(error instanceof ApiError)) reportError(error);
      else if (!this.#isLeft) this.#retry.later(error, () => void this.#askAgain());
      this.#problem = {
        text: problemOf(error),
        isOvertaken: error instanceof ApiError && error.status === 412,
        isOfRefresh: isRefresh || this.#choice === 'failed',
        isRefusal: isRefusal(error),
        isSignedOut: error instanceof ApiError && error.status === 401,
      };
      return false;
    } finally {
      this.context.redraw();
    }
  }

  /** Changes something, then shows everything as it is now.
   *  @param form where it was typed: what is refused is said at its fields, by its own words where it has some */
  protected async change(action: () => Promise<unknown>, form?: HTMLFormElement, words?: FieldWords): Promise<boolean> {
    return this.act(async () => {
      await (form === undefined ? action() : this.ofForm(form, action, words));
      this.context.recount();
      await this.load();
    });
  }

  /** Does something with what is listed. What another person has deleted meanwhile leaves the list. */
  protected async act(action: () => Promise<void>): Promise<boolean> {
    return this.run(async () => {
      try {
        await action();
      } catch (error) {
        if (!isGone(error)) throw error;
        if (!(await this.#loadAgain(true))) throw error;
        throw new ApiError(-1, { code: 'not_found', detail: goneText() });
      }
    });
  }

  /** Does what a form asks for. */
  protected async ofForm(form: HTMLFormElement, action: () => Promise<unknown>, words?: FieldWords): Promise<void> {
    clearFieldProblems(form);
    try {
      await action();
    } catch (error) {
      throw failureAtFields(form, error, words);
    }
  }

  /** Asks for what another choice (filter, period, project) shows. Nothing of the former one is `chosen` until then. */
  protected choose(ask = (): Promise<void> => this.load()): void {
    [this.#choice, this.#askChosen] = ['asked', ask];
    this.#comingLooks = 0;
    this.context.redraw();
    void this.run(ask);
  }

  /** What depends on what was chosen, once that is there: none of another choice, and no "there are none" of what is not known. */
  protected chosen(view: () => TemplateResult | typeof nothing): TemplateResult | typeof nothing {
    return this.#choice === 'shown' ? view() : this.#choice === 'asked' ? skeleton() : nothing;
  }

  /** The answer to the newest question of this page: one that comes later to an older question is of another choice, and dropped.
   *  @throws Overtaken which `run` keeps quiet about */
  protected async newest<T>(asked: Promise<T>): Promise<T> {
    this.#question += 1;
    const mine = this.#question;
    try {
      const answer = await asked;
      if (mine !== this.#question) throw new Overtaken();
      this.#choice = 'shown';
      return answer;
    } catch (error) {
      if (mine !== this.#question) throw new Overtaken();
      if (this.#choice === 'asked') this.#choice = 'failed';
      throw error;
    }
  }

  protected get isReady(): boolean {
    return this.#phase === 'ready';
  }

  protected get failure(): TemplateResult | typeof nothing {
    return this.#problem === null ? nothing : this.#failure(this.#problem);
  }

  /** Whose clocks the times of the page are, where it is not plain. */
  #clock(): TemplateResult | typeof nothing {
    if (isForeign(this.zone)) return html`<p class="muted zone">${t('Times are of the time zone {zone}.', { zone: this.zone })}</p>`;
    if (!this.#showsOwnClock || this.zone !== '') return nothing;
    return html`<p class="muted zone">${t('Times are of this browser’s time zone, {zone}.', { zone: ownZone() })}</p>`;
  }

  /** Call where a page without a zone shows a time by other means than `time`. */
  protected showsOwnClock(): void {
    this.#showsOwnClock = true;
  }

  view(): TemplateResult {
    this.#showsOwnClock = false;
    // Before the head, which says whose clocks it has.
    const body = this.#phase === 'loading' ? skeleton() : this.#phase === 'ready' ? this.body() : nothing;
    return html`<div class="page-head">
        <div>
          <h1>${this.title}</h1>
          ${this.lead === '' ? nothing : html`<p class="muted">${this.lead}</p>`} ${this.#clock()}
        </div>
        ${this.#phase === 'ready' ? this.actions() : nothing}
      </div>
      <div role="status" class="vh">${this.#phase === 'loading' ? t('Loading') : ''}</div>
      ${this.failure} ${this.#old()} ${body} ${this.dialog.view()}`;
  }

  #failure({ text, isOvertaken }: Problem): TemplateResult {
    const again = this.#phase === 'failed' ? (): void => void this.#first() : (): void => this.choose(this.#askChosen);
    return html`<div class="problem" role="alert">
      <p>${text}</p>
      ${
        this.#phase === 'failed' || this.#choice === 'failed'
          ? html`<button type="button" @click=${again}>${t('Try again')}</button>`
          : nothing
      }
      ${isOvertaken ? html`<button type="button" @click=${() => void this.run(() => this.load())}>${t('Discard my changes and reload')}</button>` : nothing}
    </div>`;
  }

  protected time(iso: string | null, timeStyle: 'short' | 'medium' = 'short'): TemplateResult {
    if (iso === null) return html`<span class="muted">${t('never')}</span>`;
    this.#showsOwnClock = true;
    const ms = Date.parse(iso);
    const zone = clockZone(this.zone);
    const text = clocksChange(ms, ms, zone)
      ? zonedTime(this.context.locale, ms, zone, timeStyle === 'short' ? 'full' : 'seconds')
      : clockOf(this.context.locale, this.zone, timeStyle).format(ms);
    return html`<time datetime=${iso}>${text}</time>`;
  }

  protected age(iso: string | null): TemplateResult {
    if (iso === null) return html`<span class="muted">${t('never')}</span>`;
    return html`<time datetime=${iso} title=${iso}>${formatAge(this.context.locale, Date.parse(iso), Date.now())}</time>`;
  }
}

/** The project that was chosen last, on whichever page. */
let chosenProject: string | null = null;

/** A page about one project at a time. */
export abstract class ProjectPage extends Page {
  protected projects: readonly Project[] = [];

  protected get project(): Project {
    const named = this.context.query.get('project') ?? chosenProject;
    const project = this.projects.find((item) => item.id === named) ?? this.projects[0];
    if (project === undefined)
      throw new ApiError(-1, { code: 'not_found', detail: t('There is no project yet. Create one under Projects.') });
    return project;
  }

  protected abstract loadProject(): Promise<void>;
  protected abstract projectBody(): TemplateResult;
  /** Another project was chosen: what was begun is of the former one. */
  protected forgetProject(): void {}

  /** The answer to a question about the project that is chosen; none once another one is.
   *  @throws Overtaken which `run` keeps quiet about */
  protected async ofProject<T>(asked: Promise<T>): Promise<T> {
    const { id } = this.project;
    const [answer] = await Promise.allSettled([asked]);
    if (id !== this.project.id) throw new Overtaken();
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  }

  protected override body(): TemplateResult | typeof nothing {
    return this.chosen(() => this.projectBody());
  }

  protected override async load(): Promise<void> {
    if (this.projects.length === 0) this.projects = await call('GET', '/api/v1/projects');
    await this.loadProject();
  }

  protected override actions(): TemplateResult | typeof nothing {
    if (this.projects.length < 2) return nothing;
    return html`<label class="picker"
      >${t('Project')}
      <select
        @change=${(event: Event) => {
          chosenProject = (event.target as HTMLSelectElement).value;
          this.keep({ project: chosenProject });
          this.forgetProject();
          this.choose(() => this.loadProject());
        }}
      >
        ${this.projects.map((item) => html`<option value=${item.id} ?selected=${item.id === this.project.id}>${item.name}</option>`)}
      </select></label
    >`;
  }
}

/** Values of a form, trimmed. */
export function formValues(event: SubmitEvent): { form: HTMLFormElement; text: (name: string) => string; all: (name: string) => string[] } {
  event.preventDefault();
  const form = event.target as HTMLFormElement;
  const data = new FormData(form);
  const plain = (value: FormDataEntryValue | null): string => (typeof value === 'string' ? value.trim() : '');
  return { form, text: (name) => plain(data.get(name)), all: (name) => data.getAll(name).map(plain) };
}
