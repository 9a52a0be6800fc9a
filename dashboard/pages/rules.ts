/** Rules of a project: make one, try it on history, change it, switch it on and off. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { keyed } from 'lit-html/directives/keyed.js';
import { ApiError } from '../../sdk/fetch-json.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { formatNumber } from '../../widgets/shared/format.ts';
import { locale, plural, t } from '../language.ts';
import { boundText, countedIn, methodName, namedWithCount, storedOf, typedIn, typedOf, valueText } from '../method-name.ts';
import { ListChoice } from '../list-choice.ts';
import { formValues, ProjectPage } from '../page.ts';
import type { FieldWords } from '../field-problem.ts';
import { badge, duration, emptyState, figure, lasted, tableOf } from '../parts.ts';
import { call, callTagged } from '../service.ts';
import type { Group, MethodOfValue, Rule, TriedRule } from '../service.ts';
import { severityName } from './episodes.ts';

const NO_ALARM = t('Not an alarm system. Not a medical device.');
const severities: readonly Rule['severity'][] = ['none', 'low', 'medium', 'high'];
const DAY_MS = 86_400_000;
const ranges = [
  ['1', t('last 24 hours')],
  ['7', t('last 7 days')],
  ['31', t('last 31 days')],
] as const;
/** Tried episodes that are listed; all are counted. */
const LISTED = 20;

type Body = BodyOf<'createRule'>;
type TriedEpisode = TriedRule['episodes'][number];
/** @param rule null: a new one
 *  @param etag of the rule as this person knows it
 *  @param feature the value that is chosen now */
type Draft = { readonly rule: Rule | null; etag: string; feature: string };
const FEATURE = 'hr_ecg';

export class RulesPage extends ProjectPage {
  override readonly title = t('Rules');
  protected override readonly lead = `${t('Values beyond a bound open an episode.')} ${NO_ALARM}`;
  #rules: readonly Rule[] = [];
  #groups: readonly Group[] = [];
  #methods: readonly MethodOfValue[] = [];
  readonly #list = new ListChoice<Rule>(
    this.listPlace,
    {
      name: { name: t('Name'), by: (rule) => rule.name },
      on: { name: t('Switched on first'), by: (rule) => Number(rule.enabled) },
      severity: { name: t('Most severe first'), by: (rule) => severities.indexOf(rule.severity) },
      open: { name: t('Most open episodes first'), by: (rule) => rule.open_episodes },
    },
    (rule) => {
      const method = this.#methodOf(rule);
      const state = rule.enabled ? t('on') : t('off');
      return [
        rule.name,
        rule.feature,
        method === undefined ? null : methodName(method),
        rule.external_id,
        state,
        severityName(rule.severity),
      ];
    },
  );
  #draft: Draft | null = null;
  /** @param ofForm of the rule that is being written, not of one in the list */
  #tried: Readonly<{ rule: Body; range: string; trial: TriedRule; ofForm: boolean }> | null = null;
  #trying = false;

  protected override async loadProject(): Promise<void> {
    const params = { projectId: this.project.id };
    const [rules, groups, methods] = await this.newest(
      Promise.all([
        call('GET', '/api/v1/projects/{projectId}/rules', { params }),
        call('GET', '/api/v1/projects/{projectId}/groups', { params }),
        call('GET', '/api/v1/methods'),
      ]),
    );
    this.#rules = rules;
    this.#groups = groups;
    this.#methods = methods.filter(({ kind, current }) => kind === 'feature' && current);
  }

  protected override forgetProject(): void {
    [this.#draft, this.#tried] = [null, null];
  }

  protected override actions(): TemplateResult {
    const add = html`<button type="button" class="primary" @click=${() => this.#write(null, '')}>${t('New rule')}</button>`;
    return html`<div class="row">${super.actions()} ${this.canEdit ? add : nothing}</div>`;
  }

  protected override projectBody(): TemplateResult {
    return html`<section class="card">
        ${this.#list.fields(this.#rules.length, t('Part of a name, a value or a person'))}
        ${
          this.#rules.length === 0
            ? emptyState(
                t('No rules yet'),
                t('The service opens episodes by rules of its own: fast, slow and irregular heart rates, pauses and runs.'),
              )
            : this.#list.table(this.#rules, (rules) => this.#table(rules))
        }
      </section>
      ${this.#tried?.ofForm === false ? this.#result() : nothing}
      ${this.#draft === null ? nothing : keyed(this.#draft, this.#form(this.#draft))}
      <div role="status" class=${this.#trying && this.#draft === null ? 'muted' : 'vh'}>${this.#spoken()}</div>`;
  }

  #table(rules: readonly Rule[]): TemplateResult {
    return tableOf<Rule>(
      [
        { name: t('Rule'), cell: (rule) => html`<b><bdi>${rule.name}</bdi></b> ${this.#mailNote(rule)}` },
        { name: t('Opens when'), cell: (rule) => this.#condition(rule) },
        { name: t('For'), cell: (rule) => this.#whom(rule) },
        { name: t('Severity'), cell: (rule) => severityName(rule.severity) },
        { name: t('State'), cell: (rule) => (rule.enabled ? badge('good', t('on')) : badge('off', t('off'))) },
        { name: t('Open'), kind: 'num', cell: (rule) => html`<a href="#/episodes">${rule.open_episodes}</a>` },
        { name: t('Actions'), kind: 'actions', cell: (rule) => this.#rowActions(rule) },
      ],
      rules,
      (rule) => !rule.enabled,
      true,
    );
  }

  #rowActions(rule: Rule): TemplateResult {
    const of = html`<span class="vh"> ${rule.name}</span>`;
    const tryIt = html`<button type="button" ?disabled=${this.#trying} @click=${() => void this.#try(bodyOf(rule), '7', null)}>
      ${t('Try')}${of}
    </button>`;
    if (!this.canEdit) return tryIt;
    return html`${tryIt}
      <button type="button" @click=${() => void this.#edit(rule)}>${t('Edit')}${of}</button>
      <button
        type="button"
        aria-haspopup=${rule.enabled && rule.open_episodes > 0 ? 'dialog' : nothing}
        @click=${() => void this.act(() => this.#askSwitch(rule))}
      >
        ${rule.enabled ? t('Switch off') : t('Switch on')}${of}
      </button>
      <button type="button" aria-haspopup="dialog" @click=${() => void this.act(() => this.#askDelete(rule.id))}>
        ${t('Delete')}${of}
      </button>`;
  }

  /** As it is now; the list shows that as well. */
  async #read(ruleId: string): Promise<Readonly<{ rule: Rule; etag: string }>> {
    const params = { projectId: this.project.id, ruleId };
    const { value, etag } = await this.ofProject(callTagged('GET', '/api/v1/projects/{projectId}/rules/{ruleId}', { params }));
    this.#rules = this.#rules.map((one) => (one.id === ruleId ? value : one));
    return { rule: value, etag };
  }

  /** Asks first where episodes end by it. */
  async #askSwitch(shown: Rule): Promise<void> {
    const { rule } = await this.#read(shown.id);
    const { name, enabled, open_episodes: count } = rule;
    if (!enabled || count === 0 || rule.updated_at !== shown.updated_at) return void (await this.change(() => this.#switch(shown)));
    this.ask({
      title: t('Switch off {name}?', { name }),
      text: plural(count, 'Its {count} open episode ends.', 'Its {count} open episodes end.'),
      word: t('Switch off'),
      act: () => this.#switch(shown),
    });
  }

  /** @param shown in the list: another has the same button
   *  @throws ApiError it has been changed since, and is shown as it is now */
  async #switch(shown: Rule): Promise<void> {
    const { rule, etag } = await this.#read(shown.id);
    if (rule.updated_at !== shown.updated_at) {
      const detail = t('{name} has been changed since this page was loaded. Nothing was done; it is shown as it is now.', {
        name: rule.name,
      });
      throw new ApiError(-1, { code: 'precondition_failed', detail });
    }
    const params = { projectId: this.project.id, ruleId: rule.id };
    await call('PATCH', '/api/v1/projects/{projectId}/rules/{ruleId}', { params, body: { enabled: !rule.enabled }, etag });
  }

  /** What is deleted is what the dialog shows. One that was changed meanwhile is shown as it is now, and asked for again. */
  async #askDelete(ruleId: string, isChanged = false): Promise<void> {
    const { rule, etag } = await this.#read(ruleId);
    const changed = html`<p class="problem-line" role="alert">
      ${t('It has been changed meanwhile. Nothing was deleted; this is how it is now:')}
    </p>`;
    this.ask({
      title: t('Delete {name}?', { name: rule.name }),
      text: html`${isChanged ? changed : nothing}
        <div>${this.#condition(rule)}</div>
        <p>${t('Its open episodes end. Episodes that it has opened are kept.')}</p>`,
      word: t('Delete'),
      danger: true,
      act: async () => {
        try {
          await call('DELETE', '/api/v1/projects/{projectId}/rules/{ruleId}', { params: { projectId: this.project.id, ruleId }, etag });
        } catch (error) {
          if (error instanceof ApiError && error.status === 412) await this.#askDelete(ruleId, true);
          throw error;
        }
      },
    });
  }

  #mailNote({ email_to: addresses, email_problem: problem, quiet_from: from, quiet_to: to }: Rule): TemplateResult | typeof nothing {
    if (addresses.length === 0) return nothing;
    const zone = this.project.time_zone;
    const quiet = from === null || to === null ? '' : t('none from {from} to {to} ({zone})', { from, to, zone });
    return html`<div class="muted">
        ${t('e-mail to {addresses}', { addresses: addresses.join(', ') })}${quiet === '' ? '' : `; ${quiet}`}
      </div>
      ${problem === null ? nothing : html`<div>${badge('bad', t('e-mail not sent'))} <span class="muted">${problem}</span></div>`}`;
  }

  #methodOf = ({ feature }: Pick<Rule, 'feature'>): MethodOfValue | undefined => this.#methods.find(({ name }) => name === feature);

  #condition(rule: Rule): TemplateResult {
    const { feature, comparison, threshold, end_threshold: end, sustain_sec: sec } = rule;
    const method = this.#methodOf(rule);
    const ends = end === null ? '' : boundText(method, end);
    return html`${method === undefined ? feature : namedWithCount(method)} ${t(comparison)} ${boundText(method, threshold)}
      <div class="muted">
        ${sec === 0 ? t('at once') : t('for {duration}', { duration: duration(sec * 1000) })}${ends === '' ? '' : `, ${comparison === 'above' ? t('until below {value}', { value: ends }) : t('until above {value}', { value: ends })}`}
      </div>`;
  }

  #whom({ subject_id: id, external_id: name, group_id: group }: Rule): TemplateResult | string {
    if (id !== null) return html`<a href="#/users/${id}"><bdi>${name}</bdi></a>`;
    if (group === null) return t('everybody');
    return html`<a href="#/users?group=${group}">${this.#groups.find((one) => one.id === group)?.name ?? t('a group')}</a>`;
  }

  #write(rule: Rule | null, etag: string): void {
    this.#draft = { rule, etag, feature: rule?.feature ?? FEATURE };
    this.#tried = null;
    this.context.redraw();
    requestAnimationFrame(() => document.querySelector<HTMLElement>('#rule-form [name=name]')?.focus()); // once it is drawn
  }

  async #edit({ id }: Rule): Promise<void> {
    await this.act(async () => {
      const { rule, etag } = await this.#read(id);
      this.#write(rule, etag);
    });
  }

  #form(draft: Draft): TemplateResult {
    const { rule } = draft;
    const text = (
      name: string,
      label: string,
      value: string | number,
      more: 'number' | 'text' | 'time' = 'text',
      needed = false,
      note = '',
    ): TemplateResult =>
      html`<label
        >${label}${note === '' ? nothing : html` <span class="muted">${note}</span>`}<input
          name=${name}
          type=${more}
          step="any"
          .value=${String(value)}
          ?required=${needed}
          autocomplete="off"
      /></label>`;
    const choice = (name: string, label: string, choices: readonly (readonly [string, string])[], chosen: string): TemplateResult =>
      html`<label
        >${label}
        <select name=${name}>
          ${choices.map(([value, words]) => html`<option value=${value} ?selected=${value === chosen}>${words}</option>`)}
        </select></label
      >`;
    const values = this.#methods.map((method) => {
      const unit = countedIn(method);
      return [method.name, `${methodName(method)}${unit === '' ? '' : ` (${unit})`}`] as const;
    });
    const unitOf = (of: Draft): string => {
      const method = this.#methodOf(of);
      return method === undefined ? '' : typedIn(method);
    };
    const unit = unitOf(draft);
    const onClocks = t('on the clocks of the project, {zone}', { zone: this.project.time_zone });
    const bound = (stored: number | null | undefined): string =>
      stored === null || stored === undefined || rule === null ? '' : String(typedOf(this.#methodOf(rule), stored));
    return html`<section class="card" id="rule-form">
      <h2>${rule === null ? t('New rule') : t('Change {name}', { name: rule.name })}</h2>
      <p class="muted">${NO_ALARM} ${t('Values are looked at every 15 seconds, some seconds after they were measured.')}</p>
      <form
        class="fields"
        @submit=${(event: SubmitEvent) => void this.#submit(event, draft)}
        @change=${({ target }: Event) => {
          if (!(target instanceof HTMLSelectElement) || target.name !== 'feature') return;
          const before = unitOf(draft);
          draft.feature = target.value;
          // A number that was typed is one of another unit.
          if (unitOf(draft) !== before) {
            for (const name of ['threshold', 'end_threshold']) target.form!.querySelector<HTMLInputElement>(`[name=${name}]`)!.value = '';
          }
          this.context.redraw();
        }}
      >
        ${text('name', t('Name'), rule?.name ?? '', 'text', true)} ${choice('feature', t('Value'), values, rule?.feature ?? FEATURE)}
        ${choice(
          'comparison',
          t('Is'),
          [
            ['above', t('above')],
            ['below', t('below')],
          ],
          rule?.comparison ?? 'above',
        )}
        ${text('threshold', t('Threshold'), bound(rule?.threshold), 'number', true, unit)}
        ${text('end_threshold', t('Ends at (empty: the threshold)'), bound(rule?.end_threshold), 'number', false, unit)}
        ${text('sustain_sec', t('For at least, seconds'), rule?.sustain_sec ?? 60, 'number', true)}
        ${text('release_sec', t('Over after, seconds'), rule?.release_sec ?? 30, 'number', true)}
        ${choice(
          'quality_max',
          t('Quality'),
          [
            ['0', t('good values only')],
            ['1', t('suspect values too')],
          ],
          String(rule?.quality_max ?? 0),
        )}
        ${choice(
          'severity',
          t('Severity'),
          severities.map((one) => [one, severityName(one)] as const),
          rule?.severity ?? 'medium',
        )}
        ${text('subject_id', t('Person, by external id (empty: everybody)'), rule?.external_id ?? '')}
        ${choice('group_id', t('Group'), [['', t('not for a group')], ...this.#groups.map(({ id, name }) => [id, name] as const)], rule?.group_id ?? '')}
        ${text('email_to', t('E-mail to, separated by commas'), rule?.email_to.join(', ') ?? '')}
        ${this.context.member.can_email ? nothing : html`<p class="muted" id="no-mail">${t('This service has no mail server, so a rule cannot send e-mail: its operator can set one.')}</p>`}
        ${text('quiet_from', t('No e-mail from'), rule?.quiet_from ?? '', 'time', false, onClocks)}
        ${text('quiet_to', t('No e-mail until'), rule?.quiet_to ?? '', 'time', false, onClocks)}
        ${choice('range', t('Try on the'), ranges, '7')}
        <div class="row">
          <button class="primary" name="do" value="save">${t('Save')}</button>
          <button name="do" value="try" formnovalidate ?disabled=${this.#trying}>${t('Try on history')}</button>
          <button
            type="button"
            @click=${() => {
              this.#draft = null;
              this.context.redraw();
              void this.giveUp();
            }}
          >
            ${t('Cancel')}
          </button>
          ${this.#trying ? html`<span class="muted" aria-hidden="true">${t('Trying the rule')}</span>` : nothing}
        </div>
      </form>
      ${this.#tried?.ofForm === true ? this.#result() : nothing}
    </section>`;
  }

  async #submit(event: SubmitEvent, draft: Draft): Promise<void> {
    const { rule } = draft;
    const { form, text } = formValues(event);
    const body = this.#bodyOfForm(text);
    const wanted = event.submitter instanceof HTMLButtonElement ? event.submitter.value : 'save';
    if (wanted === 'try') {
      // A trial needs no name yet.
      const wrong = form.querySelector<HTMLInputElement>('input:invalid:not([name=name])');
      if (wrong !== null) return void wrong.reportValidity();
      return this.#try({ ...body, name: body.name || t('New rule') }, text('range'), form);
    }
    const save = async (): Promise<void> => {
      const params = { projectId: this.project.id };
      if (rule === null) await call('POST', '/api/v1/projects/{projectId}/rules', { params, body });
      else await this.#saveDraft(draft, rule.id, body);
      this.#draft = null;
    };
    await this.change(() => ofPerson(body, save), form, wordsOf(body, this.#methodOf(body)));
  }

  /** @throws ApiError another person has changed it: what is sent next replaces that, knowingly */
  async #saveDraft(draft: Draft, ruleId: string, body: Body): Promise<void> {
    const { etag } = draft;
    try {
      await call('PATCH', '/api/v1/projects/{projectId}/rules/{ruleId}', { params: { projectId: this.project.id, ruleId }, body, etag });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error;
      draft.etag = (await this.#read(ruleId)).etag;
      const detail = t(
        'Another person has changed this rule meanwhile; the list shows it as it is now. Nothing was saved. What you typed is kept: save again to replace that.',
      );
      throw new ApiError(-1, { code: error.code, detail });
    }
  }

  #bodyOfForm(text: (name: string) => string): Body {
    const given = (name: string): string | null => text(name) || null;
    const end = given('end_threshold');
    const method = this.#methodOf({ feature: text('feature') });
    return {
      name: text('name'),
      feature: text('feature'),
      comparison: text('comparison') === 'below' ? 'below' : 'above',
      threshold: storedOf(method, Number(text('threshold'))),
      end_threshold: end === null ? null : storedOf(method, Number(end)),
      sustain_sec: Number(text('sustain_sec')),
      release_sec: Number(text('release_sec')),
      quality_max: text('quality_max') === '1' ? 1 : 0,
      severity: text('severity') as NonNullable<Body['severity']>,
      subject_id: given('subject_id'),
      group_id: given('group_id'),
      email_to: text('email_to')
        .split(',')
        .map((address) => address.trim())
        .filter((address) => address !== ''),
      quiet_from: given('quiet_from'),
      quiet_to: given('quiet_to'),
    };
  }

  /** @param form where the rule is being written; null: it is in the list */
  async #try(rule: Body, range: string, form: HTMLFormElement | null): Promise<void> {
    this.#trying = true;
    this.#tried = null;
    this.context.redraw();
    const tryIt = async (): Promise<void> => {
      const untilMs = Date.now();
      const body = { rule, since: new Date(untilMs - Number(range) * DAY_MS).toISOString(), until: new Date(untilMs).toISOString() };
      const params = { projectId: this.project.id };
      const trial = await this.ofProject(call('POST', '/api/v1/projects/{projectId}/rules/try', { params, body }));
      this.#tried = { rule, range, trial, ofForm: form !== null };
    };
    await this.run(() => (form === null ? tryIt() : this.ofForm(form, () => ofPerson(rule, tryIt), wordsOf(rule, this.#methodOf(rule)))));
    this.#trying = false;
    this.context.redraw();
    // Once it is drawn.
    requestAnimationFrame(() => document.querySelector<HTMLElement>('#rule-trial')?.scrollIntoView({ block: 'nearest' }));
  }

  /** For those who do not see the page. */
  #spoken(): string {
    if (this.#tried === null) return this.#trying ? t('Trying the rule') : '';
    const { trial } = this.#tried;
    const found = plural(trial.episode_count, '1 episode', '{count} episodes');
    return trial.complete ? found : `${found}. ${notLookedAt(trial)}`;
  }

  #result(): TemplateResult | typeof nothing {
    if (this.#tried === null) return nothing;
    const { rule, range, trial } = this.#tried;
    const words = ranges.find(([value]) => value === range)?.[1] ?? '';
    return html`<section class="card" id="rule-trial">
      <h2>${t('{name}, tried on: {range}', { name: rule.name, range: words })}</h2>
      <dl class="figures">
        ${figure(t('Episodes'), trial.complete ? numbered(trial.episode_count) : t('at least {count}', { count: numbered(trial.episode_count) }))}
        ${figure(t('People'), numbered(trial.person_count))} ${figure(t('Time covered'), coveredBy(trial))}
        ${figure(t('Recordings looked at'), numbered(trial.recording_count))}
        ${figure(t('With this value'), numbered(trial.with_value_count), trial.with_value_count === 0 ? 'warn' : null)}
      </dl>
      ${trial.complete ? nothing : html`<p>${badge('warn', t('not complete'))} ${notLookedAt(trial)}</p>`}
      ${
        !trial.complete && trial.episodes.length === 0
          ? emptyState(t('None in what was looked at'), t('The others may have episodes.'))
          : trial.with_value_count === 0
            ? emptyState(
                t('There was nothing to try it on'),
                t('No recording of this range has this value: no device sent a signal that it is computed from.'),
              )
            : trial.episodes.length === 0
              ? emptyState(t('It would have opened none'), t('Nothing was written.'))
              : this.#triedTable(trial.episodes, this.#methodOf(rule))
      }
    </section>`;
  }

  #triedTable(episodes: readonly TriedEpisode[], method: MethodOfValue | undefined): TemplateResult {
    const columns = [
      { name: t('User'), cell: (one: TriedEpisode) => html`<a href="#/users/${one.subject_id}"><bdi>${one.external_id}</bdi></a>` },
      { name: t('Started'), cell: (one: TriedEpisode) => this.time(one.started_at, 'medium') },
      {
        name: t('Lasted'),
        cell: (one: TriedEpisode) => `${lasted(one.duration_sec * 1000)}${one.ended_at === null ? `, ${t('goes on')}` : ''}`,
      },
      {
        name: `${t('Furthest')}${method?.unit === '{beats}' ? ` (${countedIn(method)})` : ''}`,
        kind: 'num' as const,
        cell: (one: TriedEpisode) => (method === undefined ? one.extreme : valueText(method, one.extreme)),
      },
      { name: t('Recording'), cell: (one: TriedEpisode) => html`<a href="#/recordings/${one.stream_id}">${t('open|a recording')}</a>` },
    ];
    const more = episodes.length - LISTED;
    return html`${tableOf<TriedEpisode>(columns, episodes.slice(0, LISTED), undefined, true)}
    ${more > 0 ? html`<p class="muted">${t('and {count} more', { count: numbered(more) })}</p>` : nothing}`;
  }
}

/** The service says of a person whom it does not know only that there is none: here it is one of the form's fields. */
async function ofPerson({ subject_id: person }: Body, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    const isPerson = error instanceof ApiError && error.status === 404 && person !== null && /\buser\b/.test(error.message);
    if (!isPerson) throw error;
    throw new ApiError(404, { code: error.code, errors: [{ pointer: '/subject_id', code: 'unknown', detail: error.message }] });
  }
}

/** What the service refuses of a rule. */
const wordsOf =
  ({ comparison, threshold, email_to: addresses = [], subject_id: person }: Body, method: MethodOfValue | undefined): FieldWords =>
  (path, { code }) => {
    const [field = '', index] = path[0] === 'rule' ? path.slice(1) : path; // of a trial
    const value = boundText(method, threshold);
    switch (`${field} ${code}`) {
      case 'email_to pattern':
      case 'email_to maxLength':
        return t('{address} is not an e-mail address.', { address: addresses[Number(index)] ?? '' });
      case 'email_to uniqueItems':
        return t('The same address stands there twice.');
      case 'email_to maxItems':
        return t('At most ten addresses.');
      case 'email_to unavailable':
        return t('This service has no mail server, so a rule cannot send e-mail: its operator can set one.');
      case 'end_threshold order':
        return comparison === 'above'
          ? t('An episode that opens above {value} ends at {value} or below.', { value })
          : t('An episode that opens below {value} ends at {value} or above.', { value });
      case 'quiet_to order':
        return t('Quiet hours need both ends, and two different ones. Leave both empty to have none.');
      case 'group_id value':
        return t('A rule is for one person or for a group: leave one of the two empty.');
      case 'subject_id unknown':
        return t('Nobody in this project has the id {id}.', { id: person ?? '' });
      default:
        return undefined;
    }
  };

const numbered = (count: number): string => formatNumber(locale, count);

/** By its episodes. */
function coveredBy({ with_value_count: count, complete, covered_sec: sec }: TriedRule): string {
  if (count === 0 && complete) return t('no values in this range');
  return sec === 0 ? '0 s' : duration(sec * 1000);
}

/** What an incomplete trial leaves open. */
function notLookedAt({ recording_count: count, recording_total: total }: TriedRule): string {
  const values = { count: numbered(count), total: numbered(total) };
  return t('Only {count} of {total} recordings were looked at, the newest first. Try a shorter range or one person.', values);
}

/** The body that a rule is made from; the project's id for the person stays. */
function bodyOf(rule: Rule): Body {
  const { name, kind, subject_id, group_id, feature, comparison, threshold, end_threshold, sustain_sec, release_sec, quality_max } = rule;
  return { name, kind, subject_id, group_id, feature, comparison, threshold, end_threshold, sustain_sec, release_sec, quality_max };
}
