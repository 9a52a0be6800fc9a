/** Data kept about one person besides signals: name, time zone, consent; and their rights: a copy, and erasure. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber } from '../widgets/shared/format.ts';
import type { Question } from './dialog.ts';
import { badge, tableOf } from './parts.ts';
import type { Answer } from '../sdk/request.ts';
import { call, callTagged } from './service.ts';
import type { Project, Xuser } from './service.ts';
import type { NameOf } from './who.ts';

export type Consents = Answer<'listConsents'>;
export type Receipt = Answer<'eraseUser'>;
type Consent = Consents['records'][number];
type Purpose = Consent['purpose'];

const purposes = [
  ['recording', 'Recording', 'new data of this person are accepted'],
  ['sharing', 'Sharing', 'people other than this person may read their data'],
] as const satisfies readonly (readonly [Purpose, string, string])[];

/** What the page is for the person, and what it lets them do. */
export type PersonPage = Readonly<{
  ask: (question: Question) => void;
  time: (iso: string | null) => TemplateResult;
  locale: string;
  canEdit: boolean;
  canAdmin: boolean;
  /** Everything of the person is gone. */
  erased: (receipt: Receipt) => void;
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
    return this.#user?.time_zone ?? this.#project?.time_zone ?? '';
  }

  /** Nobody but the person reads their data. */
  get isUnshared(): boolean {
    return this.#consents.missing.includes('sharing');
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
          <h2>Details</h2>
          ${canEdit ? html`<button type="button" aria-haspopup="dialog" @click=${() => this.#edit(user)}>Edit</button>` : nothing}
        </div>
        <dl class="facts">
          <dt>External id</dt>
          <dd>${user.external_id}</dd>
          <dt>Name</dt>
          <dd>${user.display_name || html`<span class="muted">none</span>`}</dd>
          <dt>Time zone</dt>
          <dd>${user.time_zone ?? html`${this.#project?.time_zone ?? ''} <span class="muted">from the project</span>`}</dd>
          <dt>Project</dt>
          <dd>${this.#project?.name ?? ''}</dd>
          <dt>Created</dt>
          <dd>${this.#page.time(user.created_at)} ${user.disabled ? badge('off', 'disabled') : nothing}</dd>
        </dl>
      </section>
      ${this.#consent(user)}
      ${
        !canAdmin
          ? nothing
          : html`<section class="card">
              <h2>Export and erasure</h2>
              <p>
                The export holds everything stored about this person: recordings, values, answers and records, one JSON object per line.
                Journal texts are left out; only the person can export those.
              </p>
              <div class="row">
                <a class="button" href="/api/v1/xusers/${user.xuser_id}/export" download>Download export</a>
                <button type="button" class="danger" aria-haspopup="dialog" @click=${() => this.#erase(user)}>Erase this person</button>
              </div>
            </section>`
      }
    </div>`;
  }

  #edit(user: Xuser): void {
    const zones = Intl.supportedValuesOf('timeZone');
    this.#page.ask({
      title: `Edit ${user.display_name || user.external_id}`,
      text: 'The external id cannot be changed: your application identifies the person by it.',
      word: 'Save',
      fields: html`<label>Name<input name="display_name" maxlength="200" autocomplete="off" .value=${user.display_name} /></label>
        <label
          >Time zone <span class="muted">leave empty to use the project's</span
          ><input
            name="time_zone"
            maxlength="64"
            list="zones"
            autocomplete="off"
            placeholder=${this.#project?.time_zone ?? ''}
            .value=${user.time_zone ?? ''}
        /></label>
        <datalist id="zones">${zones.map((zone) => html`<option value=${zone}></option>`)}</datalist>`,
      act: (text) =>
        call('PATCH', '/api/v1/xusers/{xuserId}', {
          params: { xuserId: user.xuser_id },
          body: { display_name: text('display_name'), time_zone: text('time_zone') === '' ? null : text('time_zone') },
          etag: this.#etag,
        }),
    });
  }

  #consent(user: Xuser): TemplateResult {
    const { records } = this.#consents;
    return html`<section class="card">
      <h2>Consent</h2>
      <ul class="plain rows">
        ${purposes.map(([purpose, name, what]) => this.#purpose(user, purpose, name, what))}
      </ul>
      ${
        records.length === 0
          ? nothing
          : html`<details>
              <summary>History (${records.length})</summary>
              ${tableOf<Consent>(
                [
                  { name: 'When', cell: (record) => this.#page.time(record.created_at) },
                  { name: 'What', cell: (record) => `${nameOfPurpose(record.purpose)} ${record.granted ? 'given' : 'withdrawn'}` },
                  { name: 'Recorded by', cell: (record) => this.#nameOf(record.recorded_by) },
                  { name: 'Document', cell: (record) => record.document || '–' },
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
        ? badge(required ? 'bad' : 'off', required ? 'required, not given' : 'nothing recorded')
        : html`${badge(given ? 'good' : 'bad', given ? 'given' : 'withdrawn')}
            <span class="muted">${this.#page.time(newest.created_at)}</span>`;
    return html`<li class="key-line">
      <span><b>${name}</b> ${state}<br /><span class="muted">If given, ${what}.</span></span>
      ${
        this.#page.canEdit
          ? html`<button type="button" aria-haspopup="dialog" @click=${() => this.#record(user, purpose, !given)}>
              ${given ? 'Withdraw' : 'Record consent'}<span class="vh"> to ${purpose}</span>
            </button>`
          : nothing
      }
    </li>`;
  }

  #record(user: Xuser, purpose: Purpose, granted: boolean): void {
    const name = nameOfPurpose(purpose).toLowerCase();
    this.#page.ask({
      title: granted ? `Record consent to ${name}?` : `Withdraw consent to ${name}?`,
      text: granted ? 'Record this only if the person has consented. The audit log keeps your name.' : withdrawn[purpose],
      word: granted ? 'Record consent' : 'Withdraw',
      danger: !granted,
      fields: html`<label
        >Document <span class="muted">optional: version or address of what the person agreed to</span
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
      title: `Erase ${user.display_name || user.external_id}?`,
      text: html`<p>This deletes, immediately and permanently:</p>
        <ul>
          <li>the user record, with name, consents and tokens</li>
          <li>all recordings: samples, beats, features and their aggregates</li>
          <li>episodes, strips, answers, moods, journals, tasks, goals and measurements</li>
          <li>devices that recorded this person only</li>
        </ul>
        <p>
          The log of raw packets drops its copies within 30 hours. The audit log keeps a receipt. Backups are not changed: delete or expire
          those yourself.
        </p>`,
      word: 'Erase',
      danger: true,
      fields: html`<label
        ><span>Type <code>${user.external_id}</code> to confirm</span><input name="confirm" required autocomplete="off" spellcheck="false"
      /></label>`,
      act: async (text) => {
        const params = { xuserId: user.xuser_id };
        this.#page.erased(await call('POST', '/api/v1/xusers/{xuserId}/erase', { params, body: { confirm_external_id: text('confirm') } }));
      },
    });
  }
}

const withdrawn: Readonly<Record<Purpose, string>> = {
  recording: 'If the project requires this consent, new data of this person are refused from now on, and recordings in progress end.',
  sharing: 'If the project requires this consent, only the person can read their data from now on, and live views by others end.',
};

const nameOfPurpose = (purpose: Purpose): string => purposes.find(([value]) => value === purpose)?.[1] ?? purpose;

/** What was deleted, store by store: shown once, and kept in the audit log. */
export function receiptView(receipt: Receipt, externalId: string, locale: string, time: (iso: string) => TemplateResult): TemplateResult {
  const { stores, devices_shared: shared } = receipt;
  const left = stores.reduce((sum, { remaining }) => sum + remaining, 0);
  return html`<section class="card fresh" role="status">
    <h2>${externalId} has been erased</h2>
    <dl class="facts">
      <dt>Erased</dt>
      <dd>${time(receipt.erased_at)}</dd>
      <dt>Remaining</dt>
      <dd>
        ${left === 0 ? badge('good', 'nothing') : badge('bad', `${formatNumber(locale, left)} rows`)}
        ${shared === 0 ? nothing : html`<span class="muted">${shared} devices are kept because they also recorded other people</span>`}
      </dd>
      <dt>Raw packets</dt>
      <dd>gone by ${time(receipt.packet_log_until)}</dd>
      <dt>User id</dt>
      <dd><code>${receipt.xuser_id}</code></dd>
    </dl>
    ${tableOf<Receipt['stores'][number]>(
      [
        { name: 'Store', cell: ({ store }) => store.replaceAll('_', ' ') },
        { name: 'Deleted', kind: 'num', cell: ({ deleted }) => formatNumber(locale, deleted) },
        { name: 'Remaining', kind: 'num', cell: ({ remaining }) => formatNumber(locale, remaining) },
      ],
      stores.filter(({ deleted, remaining }) => deleted + remaining > 0),
      undefined,
      true,
    )}
    <p class="muted">The audit log keeps this receipt under the user id.</p>
  </section>`;
}
