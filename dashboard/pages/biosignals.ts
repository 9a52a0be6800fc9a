/** Settings > Biosignals: the catalog of a project, and what it adds. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { unitLabel } from '../../widgets/shared/format.ts';
import { holds } from '../folded.ts';
import { named, t } from '../language.ts';
import { formValues, ProjectPage } from '../page.ts';
import { badge, emptyState, tableOf } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { Biosignal } from '../service.ts';

const signalTypes = ['scalar', 'score', 'category', 'event', 'interval', 'waveform'] as const;
const sourceTypes = ['device', 'self_report', 'clinician', 'import', 'derived'] as const;

/** The service alone adds derived ones. */
const ownSources = sourceTypes.filter((type) => type !== 'derived');

const sourceName = (type: (typeof sourceTypes)[number]): string => (type === 'self_report' ? t('self report') : t(type));

export class BiosignalsPage extends ProjectPage {
  override readonly title = t('Biosignals');
  protected override readonly lead = t(
    'Everything that can be measured, derived or reported. Measurements of biosignals that you add are stored under their code.',
  );
  #items: readonly Biosignal[] = [];
  #wanted = this.context.query.get('search') ?? '';

  protected override async loadProject(): Promise<void> {
    this.#items = await this.newest(call('GET', '/api/v1/projects/{projectId}/biosignals', { params: { projectId: this.project.id } }));
  }

  protected override projectBody(): TemplateResult {
    const shown = this.#items.filter((item) => holds([item.name, named(item.name), item.abbreviation, item.loinc_code], this.#wanted));
    return html`<section class="card">
        <label class="search"
          ><span class="vh">${t('Search biosignals')}</span
          ><input
            type="search"
            placeholder=${t('Name, abbreviation or LOINC code')}
            .value=${this.#wanted}
            @input=${(event: Event) => {
              this.#wanted = (event.target as HTMLInputElement).value.trim();
              this.keep({ search: this.#wanted });
              this.context.redraw();
            }}
        /></label>
        ${
          shown.length === 0
            ? emptyState(t('No biosignal found'), t('Try another word, or add one below.'))
            : tableOf<Biosignal>(
                [
                  { name: t('Name'), cell: (item) => html`<b>${item.abbreviation}</b> ${named(item.name)}` },
                  { name: t('Unit'), cell: (item) => unitLabel(item.unit) || named(item.unit.replaceAll(/[{}]/g, '')) },
                  {
                    name: 'LOINC',
                    cell: (item) =>
                      item.loinc_code === '' ? html`<span class="muted">${t('none')}</span>` : html`<code>${item.loinc_code}</code>`,
                  },
                  { name: t('Kind'), cell: (item) => t(item.signal_type) },
                  { name: t('From|source'), cell: (item) => sourceName(item.source_type) },
                  { name: t('Id'), kind: 'num', cell: (item) => item.id },
                  {
                    name: t('Now'),
                    cell: (item) => (item.is_flowing ? badge('good', t('receiving')) : html`<span class="muted">–</span>`),
                  },
                ],
                shown,
                undefined,
                true,
              )
        }
      </section>
      <section class="card">
        <h2>${t('Add a biosignal to {project}', { project: this.project.name })}</h2>
        <form
          class="fields"
          @submit=${(event: SubmitEvent) => {
            const { form, text } = formValues(event);
            const body: BodyOf<'createBiosignal'> = {
              name: text('name'),
              abbreviation: text('abbreviation'),
              unit: text('unit'),
              loinc_code: text('loinc_code'),
              signal_type: text('signal_type') as Biosignal['signal_type'],
              source_type: text('source_type') as Biosignal['source_type'],
              code: text('code'),
            };
            const params = { projectId: this.project.id };
            void this.change(
              () => call('POST', '/api/v1/projects/{projectId}/biosignals', { params, body }).then(() => form.reset()),
              form,
            );
          }}
        >
          <label>${t('Name')}<input name="name" required maxlength="200" autocomplete="off" /></label>
          <label>${t('Abbreviation')}<input name="abbreviation" required maxlength="32" autocomplete="off" /></label>
          <label
            >${t('Measurement code')}<input
              name="code"
              required
              pattern="[a-z][a-z0-9_.\\-]{0,31}"
              placeholder="grip_strength"
              autocomplete="off"
          /></label>
          <label>${t('Unit (UCUM)')}<input name="unit" required maxlength="32" placeholder="kg" autocomplete="off" /></label>
          <label>${t('LOINC code, if an exact one exists')}<input name="loinc_code" pattern="[0-9]{1,7}-[0-9]" autocomplete="off" /></label>
          <label
            >${t('Kind')}
            <select name="signal_type">
              ${signalTypes.map((type) => html`<option value=${type}>${t(type)}</option>`)}
            </select></label
          >
          <label
            >${t('From')}
            <select name="source_type">
              ${ownSources.map((type) => html`<option value=${type}>${sourceName(type)}</option>`)}
            </select></label
          >
          <div><button class="primary">${t('Add biosignal')}</button></div>
        </form>
      </section>`;
  }
}
