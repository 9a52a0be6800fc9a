/** A report of one person and range, to be printed or kept as PDF by the browser. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { ApiError } from '../../sdk/fetch-json.ts';
import { Session } from '../../widgets/shared/session.ts';
import type { BioTrendChart } from '../../widgets/trend-chart/trend-chart.ts';
import { t } from '../language.ts';
import { formValues, Page } from '../page.ts';
import { dateOf, readReport } from '../report/report-data.ts';
import type { ReportData } from '../report/report-data.ts';
import { ReportView } from '../report/report-view.ts';
import { call } from '../service.ts';

export class ReportPage extends Page {
  override readonly title = t('Report');
  #data: ReportData | null = null;
  #version = '';
  #madeAtMs = 0;
  #subject: Readonly<{ subjectId: string; projectId: string }> | null = null;

  get #id(): string {
    return this.context.argument.split('/')[0]!;
  }

  protected override get isAboutPerson(): boolean {
    return true;
  }

  protected override async isAsShown(): Promise<boolean> {
    await call('GET', '/api/v1/streams', { query: { subject_id: this.#id, limit: 1 } });
    return true;
  }

  protected override forget(): void {
    this.#data = null;
  }

  protected override async load(): Promise<void> {
    const [data, madeAtMs, version] = await this.newest(this.#read());
    // The charts of the same range have been drawn already.
    if (this.#data?.isComing === true) for (const chart of document.querySelectorAll<BioTrendChart>('bio-trend-chart')) chart.reload();
    [this.#data, this.#madeAtMs, this.#version] = [data, madeAtMs, version];
    if (data.isComing) this.lookSoon();
  }

  async #read(): Promise<readonly [ReportData, number, string]> {
    const user = await call('GET', '/api/v1/xusers/{xuserId}', { params: { xuserId: this.#id } });
    this.#subject ??= { subjectId: user.xuser_id, projectId: user.project_id };
    const madeAtMs = Date.now();
    const session = new Session(location.origin, { mode: 'operator', ...this.#subject });
    try {
      return [await readReport(session, this.context.query, madeAtMs), madeAtMs, await versionOf()];
    } catch (error) {
      throw error instanceof RangeError ? new ApiError(-1, { code: 'bad_request', detail: error.message }) : error;
    }
  }

  protected override actions(): TemplateResult | typeof nothing {
    const data = this.#data;
    if (data === null) return nothing;
    const submit = (event: SubmitEvent): void => {
      const { text } = formValues(event);
      this.keep({ from: text('from'), to: text('to') });
      this.choose();
    };
    const { fromMs, toMs } = data.range;
    return html`<form class="row" @submit=${submit}>
      <label>${t('From')} <input type="date" name="from" required max="2199-12-30" .value=${dateOf(fromMs, data.timeZone)} /></label>
      <label>${t('To')} <input type="date" name="to" required max="2199-12-30" .value=${dateOf(toMs - 1, data.timeZone)} /></label>
      <button>${t('Show')}</button>
      <button type="button" class="primary" @click=${() => globalThis.print()}>${t('Print')}</button>
      <a class="back" href="#/users/${this.#id}">${t('The person')}</a>
    </form>`;
  }

  protected override body(): TemplateResult | typeof nothing {
    if (this.#data === null || this.#subject === null) return nothing;
    const view = new ReportView(this.#data, this.context.locale);
    return html`<bio-provider .operator=${this.#subject}>${this.chosen(() => view.view(this.#madeAtMs, this.#version))}</bio-provider>`;
  }
}

/** Version of the service; '' where it does not say. */
export async function versionOf(): Promise<string> {
  const answer = await fetch('/healthz').then(
    (response) => response.json() as Promise<{ version?: string }>,
    () => ({ version: '' }),
  );
  return answer.version ?? '';
}
