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

export type Measurement = Observation & Pick<Biosignal, 'name' | 'source_type'>;
/** Asks for values of one biosignal and person. */
type Ask = (query: { biosignal_id: number; quality_max: number; limit: number }) => Promise<readonly Observation[]>;

export class Measured {
  readonly #locale: string;
  readonly #time: (iso: string) => TemplateResult;
  #rows: readonly Measurement[] = [];
  #biosignals: readonly Biosignal[] = [];

  constructor(locale: string, time: (iso: string) => TemplateResult) {
    this.#locale = locale;
    this.#time = time;
  }

  /** What the person has values of; the one that was measured last comes first. */
  get biosignals(): readonly Biosignal[] {
    return this.#biosignals;
  }

  async load(subjectId: string, projectId: string): Promise<void> {
    const catalog = await call('GET', '/api/v1/projects/{projectId}/biosignals', { params: { projectId } });
    const all = await readMeasured(catalog, NEWEST, (query) =>
      call('GET', '/api/v1/observations', { query: { ...query, subject_id: subjectId } }),
    );
    this.#rows = all.slice(0, SHOWN);
    this.#biosignals = [...new Set(all.map(({ biosignal_id: id }) => id))].map((id) => catalog.find((item) => item.id === id)!);
  }

  view(): TemplateResult | typeof nothing {
    if (this.#rows.length === 0) return nothing;
    return html`<section class="card">
      <h2>${t('Measurements')}</h2>
      ${measuredTable(this.#rows, this.#locale, this.#time)}
    </section>`;
  }
}

/** Values that were measured, the newest first.  @param limit of each biosignal */
export async function readMeasured(catalog: readonly Biosignal[], limit: number, ask: Ask): Promise<Measurement[]> {
  const lists = await Promise.all(
    catalog
      .filter(isMeasured)
      .map(async ({ id, name, source_type }) =>
        (await ask({ biosignal_id: id, quality_max: 2, limit })).map((row) => ({ ...row, name, source_type })),
      ),
  );
  return lists.flat().toSorted(newestFirst);
}

export const newestFirst = (a: Measurement, b: Measurement): number => Date.parse(b.effective_time) - Date.parse(a.effective_time);

/** The battery says nothing of the person. */
export const isOfDevice = ({ abbreviation }: Biosignal): boolean => abbreviation === 'BATT';

export function measuredTable(
  rows: readonly Measurement[],
  locale: string,
  time: (iso: string) => TemplateResult | string,
): TemplateResult {
  return tableOf<Measurement>(
    [
      { name: t('Measurement'), cell: ({ name }) => named(name) },
      {
        name: t('Value'),
        kind: 'num',
        cell: (row) => (row.qmask > 1 ? '–' : `${formatValue(locale, row.value, row)} ${unitLabel(row.unit)}`),
      },
      {
        name: t('Quality'),
        cell: ({ qmask }) => (qmask === 0 ? t('good') : badge(qmask === 1 ? 'warn' : 'bad', qmask === 1 ? t('suspect') : t('unusable'))),
      },
      { name: t('Time'), cell: ({ effective_time: iso }) => time(iso) },
      { name: t('Source'), cell: ({ device_id: device, method_code: method }) => device || (methods[method.split(':')[0]!] ?? method) },
    ],
    rows,
  );
}

function isMeasured({ role, signal_type: type, source_type: source }: Biosignal): boolean {
  return role === 'measurement' && type === 'scalar' && source !== 'derived';
}
