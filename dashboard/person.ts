/** Data kept about one person besides signals: name, time zone, consent; and their rights: a copy, and erasure. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber } from '../widgets/shared/format.ts';
import type { Question } from './dialog.ts';
import { language, named, plural, t } from './language.ts';
import { badge, tableOf } from './parts.ts';
import type { Answer } from '../sdk/request.ts';
import { call, callTagged } from './service.ts';
import type { Project, Xuser } from './service.ts';
import { zoneOf } from './time-zone.ts';
import type { NameOf } from './who.ts';

export type Consents = Answer<'listConsents'>;
export type Receipt = Answer<'eraseUser'>;
type Consent = Consents['records'][number];
type Purpose = Consent['purpose'];

const purposes = [
  ['recording', t('Recording'), t('If given, new data of this person are accepted.')],
  ['sharing', t('Sharing'), t('If given, people other than this person may read their data.')],
] as const satisfies readonly (readonly [Purpose, string, string])[];

/** What the page is for the person, and what it lets them do. */
export type PersonPage = Readonly<{
  ask: (question: Question) => void;
  time: (iso: string | null) => TemplateResult;
  locale: string;
  canEdit: boolean;
  canAdmin: boolean;
  /** Everything of the person goes. */
  erase: (work: Promise<Receipt>, externalId: string) => Promise<void>;
}>;

export class Person {
  readonly #page: PersonPage;
  #user: Xuser | null = null;
  #etag = '';
  #project: Project | null = null;
  #consents: Consents = { missing: [], records: [] };
  #nameOf: NameOf = (by) => by;

  constructor(page: PersonPage) {
    this.#page = page;
  }

  get user(): Xuser | null {
    return this.#user;
  }

  /** The zone that the person's days are of; '' before it is known. */
  get timeZone(): string {
    return this.#user === null ? '' : zoneOf(this.#user, this.#project === null ? [] : [this.#project]);
  }

  /** Nobody but the person reads their data. */
  get isUnshared(): boolean {
    return this.#consents.missing.includes('sharing');
  }

  forget(): void {
    this.#user = null;
  }

  async load(id: string, names: Promise<NameOf>): Promise<void> {
    const params = { xuserId: id };
    const [{ value, etag }, consents, projects, nameOf] = await Promise.all([
      callTagged('GET', '/api/v1/xusers/{xuserId}', { params }),
      call('GET', '/api/v1/xusers/{xuserId}/consents', { params }),
      call('GET', '/api/v1/projects'),
      names,
    ]);
    this.#user = value;
    this.#etag = etag;
    this.#consents = consents;
    this.#project = projects.find((project) => project.id === value.project_id) ?? null;
    this.#nameOf = nameOf;
  }

  view(): TemplateResult | typeof nothing {
    const user = this.#user;
    if (user === null) return nothing;
    const { canEdit, canAdmin } = this.#page;
    return html`<div class="columns thirds">
      <section class="card">
        <div class="card-head">
          <h2>${t('Details')}</h2>
          ${canEdit ? html`<button type="button" aria-haspopup="dialog" @click=${() => this.#edit(user)}>${t('Edit')}</button>` : nothing}
        </div>
        <dl class="facts">
          <dt>${t('External id')}</dt>
          <dd>${user.external_id}</dd>
          <dt>${t('Name')}</dt>
          <dd>${user.display_name || html`<span class="muted">${t('none')}</span>`}</dd>
          <dt>${t('Time zone')}</dt>
          <dd>${user.time_zone ?? html`${this.#project?.time_zone ?? ''} <span class="muted">${t('from the project')}</span>`}</dd>
          <dt>${t('Project')}</dt>
          <dd>${this.#project?.name ?? ''}</dd>
          <dt>${t('Created')}</dt>
          <dd>${this.#page.time(user.created_at)} ${user.disabled ? badge('off', t('disabled')) : nothing}</dd>
        </dl>
      </section>
      ${this.#consent(user)}
      ${
        !canAdmin
          ? nothing
          : html`<section class="card">
              <h2>${t('Export and erasure')}</h2>
              <p>
                ${t('The export holds everything stored about this person: recordings, values, answers and records, one JSON object per line. Journal texts are left out; only the person can export those.')}
              </p>
              <div class="row">
                <a class="button" href="/api/v1/xusers/${user.xuser_id}/export" download>${t('Download export')}</a>
                <button type="button" class="danger" aria-haspopup="dialog" @click=${() => this.#erase(user)}>
                  ${t('Erase this person')}
                </button>
              </div>
            </section>`
      }
    </div>`;
  }

  #edit(user: Xuser): void {
    const params = { xuserId: user.xuser_id };
    let etag = this.#etag; // of what the fields show, whatever is loaded meanwhile
    const zones = Intl.supportedValuesOf('timeZone');
    this.#page.ask({
      title: t('Edit {name}', { name: user.display_name || user.external_id }),
      text: t('The external id cannot be changed: your application identifies the person by it.'),
      word: t('Save'),
      fields: html`<label>${t('Name')}<input name="display_name" maxlength="200" autocomplete="off" .value=${user.display_name} /></label>
        <label
          >${t('Time zone')} <span class="muted">${t("leave empty to use the project's")}</span
          ><input
            name="time_zone"
            maxlength="64"
            list="zones"
            autocomplete="off"
            placeholder=${this.#project?.time_zone ?? ''}
            .value=${user.time_zone ?? ''}
        /></label>
        <datalist id="zones">${zones.map((zone) => html`<option value=${zone}></option>`)}</datalist>`,
      words: ([field]) => (field === 'time_zone' ? t('No time zone has this name. One is Europe/Paris, for example.') : undefined),
      overtaken: async () => {
        const now = await callTagged('GET', '/api/v1/xusers/{xuserId}', { params });
        etag = now.etag;
        const { display_name: name, time_zone: zone } = now.value;
        return `${t('Name')}: ${name || t('none')}, ${t('Time zone')}: ${zone ?? t('from the project')}.`;
      },
      act: async (text) => {
        const [name, zone] = [text('display_name'), text('time_zone') || null];
        // What this person has left stays as another one may have saved it.
        const body = { ...(name !== user.display_name && { display_name: name }), ...(zone !== user.time_zone && { time_zone: zone }) };
        if (Object.keys(body).length > 0) await call('PATCH', '/api/v1/xusers/{xuserId}', { params, body, etag });
      },
    });
  }

  #consent(user: Xuser): TemplateResult {
    const { records } = this.#consents;
    return html`<section class="card">
      <h2>${t('Consent')}</h2>
      <ul class="plain rows">
        ${purposes.map(([purpose, name, what]) => this.#purpose(user, purpose, name, what))}
      </ul>
      ${
        records.length === 0
          ? nothing
          : html`<details>
              <summary>${t('History ({count})', { count: records.length })}</summary>
              ${tableOf<Consent>(
                [
                  { name: t('When'), cell: (record) => this.#page.time(record.created_at) },
                  {
                    name: t('What'),
                    cell: (record) => `${nameOfPurpose(record.purpose)} ${record.granted ? t('given') : t('withdrawn')}`,
                  },
                  { name: t('Recorded by'), cell: (record) => this.#nameOf(record.recorded_by) },
                  { name: t('Document'), cell: (record) => record.document || '–' },
                ],
                records,
              )}
            </details>`
      }
    </section>`;
  }

  #purpose(user: Xuser, purpose: Purpose, name: string, what: string): TemplateResult {
    const newest = this.#consents.records.find((record) => record.purpose === purpose);
    const given = newest?.granted === true;
    const required = this.#consents.missing.includes(purpose);
    const state =
      newest === undefined
        ? badge(required ? 'bad' : 'off', required ? t('required, not given') : t('nothing recorded'))
        : html`${badge(given ? 'good' : 'bad', given ? t('given') : t('withdrawn'))}
            <span class="muted">${this.#page.time(newest.created_at)}</span>`;
    return html`<li class="key-line">
      <span><b>${name}</b> ${state}<br /><span class="muted">${what}</span></span>
      ${
        this.#page.canEdit
          ? html`<button type="button" aria-haspopup="dialog" @click=${() => this.#record(user, purpose, !given)}>
              ${given ? t('Withdraw') : t('Record consent')}<span class="vh">
                ${given ? t('consent to {purpose}', { purpose: inSentence(name) }) : t('to {purpose}', { purpose: inSentence(name) })}</span
              >
            </button>`
          : nothing
      }
    </li>`;
  }

  #record(user: Xuser, purpose: Purpose, granted: boolean): void {
    const name = inSentence(nameOfPurpose(purpose));
    this.#page.ask({
      title: granted ? t('Record consent to {purpose}?', { purpose: name }) : t('Withdraw consent to {purpose}?', { purpose: name }),
      text: granted ? t('Record this only if the person has consented. The audit log keeps your name.') : withdrawn[purpose],
      word: granted ? t('Record consent') : t('Withdraw'),
      danger: !granted,
      fields: html`<label
        >${t('Document')} <span class="muted">${t('optional: version or address of what the person agreed to')}</span
        ><input name="document" maxlength="500" autocomplete="off"
      /></label>`,
      act: (text) =>
        call('POST', '/api/v1/xusers/{xuserId}/consents', {
          params: { xuserId: user.xuser_id },
          body: { purpose, granted, document: text('document') },
        }),
    });
  }

  #erase(user: Xuser): void {
    this.#page.ask({
      title: t('Erase {name}?', { name: user.display_name || user.external_id }),
      text: html`<p>${t('This deletes, immediately and permanently:')}</p>
        <ul>
          <li>${t('the user record, with name, consents and tokens')}</li>
          <li>${t('all recordings: samples, beats, features and their aggregates')}</li>
          <li>${t('episodes, strips, answers, moods, journals, tasks, goals and measurements')}</li>
          <li>${t('devices that recorded this person only')}</li>
        </ul>
        <p>
          ${t('The log of raw packets drops its copies within 30 hours. The audit log keeps a receipt. Backups are not changed: delete or expire those yourself.')}
        </p>`,
      word: t('Erase'),
      danger: true,
      fields: html`<label
        ><span>${t('Type {id} to confirm', { id: html`<code>${user.external_id}</code>` })}</span
        ><input name="confirm_external_id" required autocomplete="off" spellcheck="false"
      /></label>`,
      words: (_path, { code }) => (code === 'mismatch' ? t('This is not the id of this person. Nothing was erased.') : undefined),
      act: async (text) => {
        const params = { xuserId: user.xuser_id };
        const body = { confirm_external_id: text('confirm_external_id') };
        await this.#page.erase(call('POST', '/api/v1/xusers/{xuserId}/erase', { params, body }), user.external_id);
      },
    });
  }
}

const withdrawn: Readonly<Record<Purpose, string>> = {
  recording: t('If the project requires this consent, new data of this person are refused from now on, and recordings in progress end.'),
  sharing: t('If the project requires this consent, only the person can read their data from now on, and live views by others end.'),
};

/** Nouns keep their capital in German. */
const inSentence = (name: string): string => (language === 'de' ? name : name.toLowerCase());

const nameOfPurpose = (purpose: Purpose): string => purposes.find(([value]) => value === purpose)?.[1] ?? purpose;

/** What was deleted, store by store: shown once, and kept in the audit log. */
export function receiptView(receipt: Receipt, externalId: string, locale: string, time: (iso: string) => TemplateResult): TemplateResult {
  const { stores, devices_shared: shared } = receipt;
  const left = stores.reduce((sum, { remaining }) => sum + remaining, 0);
  return html`<section class="card fresh" role="status">
    <h2>${t('{name} has been erased', { name: externalId })}</h2>
    <dl class="facts">
      <dt>${t('Erased')}</dt>
      <dd>${time(receipt.erased_at)}</dd>
      <dt>${t('Remaining')}</dt>
      <dd>
        ${left === 0 ? badge('good', t('nothing')) : badge('bad', plural(left, '1 row', '{count} rows'))}
        ${shared === 0 ? nothing : html`<span class="muted">${plural(shared, '1 device is kept because it also recorded other people', '{count} devices are kept because they also recorded other people')}</span>`}
      </dd>
      <dt>${t('Raw packets')}</dt>
      <dd>${t('gone by {time}', { time: time(receipt.packet_log_until) })}</dd>
      <dt>${t('User id')}</dt>
      <dd><code>${receipt.xuser_id}</code></dd>
    </dl>
    ${tableOf<Receipt['stores'][number]>(
      [
        { name: t('Store'), cell: ({ store }) => named(store.replaceAll('_', ' ')) },
        { name: t('Deleted'), kind: 'num', cell: ({ deleted }) => formatNumber(locale, deleted) },
        { name: t('Remaining'), kind: 'num', cell: ({ remaining }) => formatNumber(locale, remaining) },
      ],
      stores.filter(({ deleted, remaining }) => deleted + remaining > 0),
      undefined,
      true,
    )}
    <p class="muted">${t('The audit log keeps this receipt under the user id.')}</p>
  </section>`;
}
