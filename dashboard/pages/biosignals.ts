/** Settings > Biosignals: the catalog of a project, and what it adds. */
import { html } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { unitLabel } from '../../widgets/shared/format.ts';
import { formValues, ProjectPage } from '../page.ts';
import { badge, emptyState, tableOf } from '../parts.ts';
import type { BodyOf } from '../../sdk/request.ts';
import { call } from '../service.ts';
import type { Biosignal } from '../service.ts';

const signalTypes = ['scalar', 'score', 'category', 'event', 'interval', 'waveform'] as const;
const sourceTypes = ['device', 'self_report', 'clinician', 'import', 'derived'] as const;

export class BiosignalsPage extends ProjectPage {
  override readonly title = 'Biosignals';
  protected override readonly lead =
    'Everything that can be measured, derived or reported. Measurements of biosignals that you add are stored under their code.';
  #items: readonly Biosignal[] = [];
  #wanted = this.context.query.get('search') ?? '';

  protected override async loadProject(): Promise<void> {
    this.#items = await call('GET', '/api/v1/projects/{projectId}/biosignals', { params: { projectId: this.project.id } });
  }

  protected override body(): TemplateResult {
    const words = this.#wanted.toLowerCase();
    const shown = this.#items.filter((item) =>
      [item.name, item.abbreviation, item.loinc_code].some((text) => text.toLowerCase().includes(words)),
    );
    return html`<section class="card">
        <label class="search"
          ><span class="vh">Search biosignals</span
          ><input
            type="search"
            placeholder="Name, abbreviation or LOINC code"
            .value=${this.#wanted}
            @input=${(event: Event) => {
              this.#wanted = (event.target as HTMLInputElement).value.trim();
              this.keep({ search: this.#wanted });
              this.context.redraw();
            }}
        /></label>
        ${
          shown.length === 0
            ? emptyState('No biosignal found', 'Try another word, or add one below.')
            : tableOf<Biosignal>(
                [
                  { name: 'Name', cell: (item) => html`<b>${item.abbreviation}</b> ${item.name}` },
                  { name: 'Unit', cell: (item) => unitLabel(item.unit) || item.unit.replaceAll(/[{}]/g, '') },
                  {
                    name: 'LOINC',
                    cell: (item) =>
                      item.loinc_code === '' ? html`<span class="muted">none</span>` : html`<code>${item.loinc_code}</code>`,
                  },
                  { name: 'Kind', cell: (item) => item.signal_type },
                  { name: 'From', cell: (item) => item.source_type.replace('_', ' ') },
                  { name: 'Id', kind: 'num', cell: (item) => item.id },
                  { name: 'Now', cell: (item) => (item.is_flowing ? badge('good', 'receiving') : html`<span class="muted">–</span>`) },
                ],
                shown,
                undefined,
                true,
              )
        }
      </section>
      <section class="card">
        <h2>Add a biosignal to ${this.project.name}</h2>
        <form
          class="fields"
          @submit=${(event: SubmitEvent) => {
            const { form, text } = formValues(event);
            const body: BodyOf<'createBiosignal'> = {
              name: text('name'),
              abbreviation: text('abbreviation'),
              unit: text('unit'),
              loinc_code: text('loinc'),
              signal_type: text('type') as Biosignal['signal_type'],
              source_type: text('source') as Biosignal['source_type'],
              code: text('code'),
            };
            void this.change(() =>
              call('POST', '/api/v1/projects/{projectId}/biosignals', { params: { projectId: this.project.id }, body }).then(() =>
                form.reset(),
              ),
            );
          }}
        >
          <label>Name<input name="name" required maxlength="200" autocomplete="off" /></label>
          <label>Abbreviation<input name="abbreviation" required maxlength="32" autocomplete="off" /></label>
          <label
            >Measurement code<input name="code" required pattern="[a-z][a-z0-9_.\\-]{0,31}" placeholder="grip_strength" autocomplete="off"
          /></label>
          <label>Unit (UCUM)<input name="unit" maxlength="32" placeholder="kg" autocomplete="off" /></label>
          <label>LOINC code, if an exact one exists<input name="loinc" pattern="[0-9]{1,7}-[0-9]" autocomplete="off" /></label>
          <label
            >Kind
            <select name="type">
              ${signalTypes.map((type) => html`<option>${type}</option>`)}
            </select></label
          >
          <label
            >From
            <select name="source">
              ${sourceTypes.map((type) => html`<option value=${type}>${type.replace('_', ' ')}</option>`)}
            </select></label
          >
          <div><button class="primary">Add biosignal</button></div>
        </form>
      </section>`;
  }
}
