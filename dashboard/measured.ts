/** Measurements of one person that did not come as a signal: weight, blood pressure, the values that a device reports. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatValue, unitLabel } from '../widgets/shared/format.ts';
import { named, t } from './language.ts';
import { badge, tableOf } from './parts.ts';
import { call } from './service.ts';
import type { Biosignal, Observation } from './service.ts';

/** Of each biosignal, and of all together. */
const NEWEST = 5;
const SHOWN = 10;
const methods: Readonly<Record<string, string>> = {
  imported: t('imported'),
  reported: t('reported by the person'),
  measured: t('measured'),
};

type Measurement = Observation & Pick<Biosignal, 'name' | 'source_type'>;

export class Measured {
  readonly #locale: string;
  readonly #time: (iso: string) => TemplateResult;
  #rows: readonly Measurement[] = [];

  constructor(locale: string, time: (iso: string) => TemplateResult) {
    this.#locale = locale;
    this.#time = time;
  }

  async load(subjectId: string, projectId: string): Promise<void> {
    const catalog = await call('GET', '/api/v1/projects/{projectId}/biosignals', { params: { projectId } });
    const lists = await Promise.all(
      catalog.filter(isMeasured).map(async ({ id, name, source_type }) => {
        const query = { biosignal_id: id, subject_id: subjectId, quality_max: 2, limit: NEWEST };
        return (await call('GET', '/api/v1/observations', { query })).map((row) => ({ ...row, name, source_type }));
      }),
    );
    this.#rows = lists
      .flat()
      .toSorted((a, b) => Date.parse(b.effective_time) - Date.parse(a.effective_time))
      .slice(0, SHOWN);
  }

  view(): TemplateResult | typeof nothing {
    if (this.#rows.length === 0) return nothing;
    return html`<section class="card">
      <h2>${t('Measurements')}</h2>
      ${tableOf<Measurement>(
        [
          { name: t('Measurement'), cell: ({ name }) => named(name) },
          {
            name: t('Value'),
            kind: 'num',
            cell: (row) => (row.qmask > 1 ? '–' : `${formatValue(this.#locale, row.value, row)} ${unitLabel(row.unit)}`),
          },
          {
            name: t('Quality'),
            cell: ({ qmask }) =>
              qmask === 0 ? t('good') : badge(qmask === 1 ? 'warn' : 'bad', qmask === 1 ? t('suspect') : t('unusable')),
          },
          { name: t('Time'), cell: ({ effective_time: time }) => this.#time(time) },
          { name: t('Source'), cell: ({ device_id: device, method_code: method }) => device || (methods[method.split(':')[0]!] ?? method) },
        ],
        this.#rows,
      )}
    </section>`;
  }
}

function isMeasured({ role, signal_type: type }: Biosignal): boolean {
  return role === 'measurement' && type === 'scalar';
}
