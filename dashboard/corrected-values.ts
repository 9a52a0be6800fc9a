/** Values of beats as computed next to those of beats as people corrected them, around a place in a recording. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { channelNames } from '../src/signal.ts';
import type { Answer } from '../sdk/request.ts';
import { plural, t } from './language.ts';
import { tableOf } from './parts.ts';
import { call } from './service.ts';
import type { Stream } from './service.ts';

type Compared = Answer<'getCorrections'>[number];

const spans = [
  [300_000, t('5 minutes')],
  [3_600_000, t('1 hour')],
  [86_400_000, t('24 hours')],
] as const;

export class CorrectedValues {
  readonly #locale: string;
  readonly #run: (action: () => Promise<void>) => Promise<boolean>;
  #streamId = '';
  #channels: ReadonlyMap<string, string> = new Map();
  #compared: readonly Compared[] = [];
  /** What was asked for last could not be read. */
  #isUnread = false;
  #spanMs: number = spans[0][0];
  #atMs = NaN;
  /** Around which values were asked for last. */
  #askedMs = NaN;
  /** Of answers only the last question's counts. */
  #turn = 0;

  /** @param run shows a failure, and draws afterwards */
  constructor(locale: string, run: (action: () => Promise<void>) => Promise<boolean>) {
    this.#locale = locale;
    this.#run = run;
  }

  /** @param at middle of the time that is compared, as the address says it: what is no time of the recording is its nearest end */
  async load({ id, channels, recorded_from: from, last_sample_at: last }: Stream, at: string | null): Promise<void> {
    this.#streamId = id;
    this.#channels = channelNames(channels);
    if (Number.isNaN(this.#atMs) && from !== null && last !== null) {
      const wantedMs = Date.parse(at ?? from);
      this.#atMs = Math.min(Math.max(Number.isNaN(wantedMs) ? -Infinity : wantedMs, Date.parse(from)), Date.parse(last));
    }
    await this.#compare();
  }

  /** @param isCorrected a beat of the recording is corrected: around one place there may be nothing to compare, and at the next there is */
  shown(at: string, isCorrected: boolean): void {
    this.#atMs = Date.parse(at);
    if (isCorrected) void this.#run(() => this.#compare());
  }

  /** The strip may have moved before it was known that a beat is corrected. */
  async catchUp(): Promise<void> {
    if (this.#askedMs !== this.#atMs) await this.#compare();
  }

  async #compare(): Promise<void> {
    if (Number.isNaN(this.#atMs)) return;
    const turn = ++this.#turn;
    this.#askedMs = this.#atMs;
    const [since, until] = [-1, 1].map((side) => new Date(this.#atMs + (side * this.#spanMs) / 2).toISOString()) as [string, string];
    const params = { streamId: this.#streamId };
    let found: readonly Compared[] | null = null;
    try {
      found = await call('GET', '/api/v1/streams/{streamId}/corrections', { params, query: { since, until } });
    } finally {
      // Values of another place would pass for those of this one.
      if (turn === this.#turn) [this.#compared, this.#isUnread] = [found ?? [], found === null];
    }
  }

  /** @param isCorrected a beat of the recording is corrected */
  view(isCorrected: boolean): TemplateResult | typeof nothing {
    if (!isCorrected || (this.#compared.length === 0 && !this.#isUnread)) return nothing;
    const choose = (event: Event): void => {
      this.#spanMs = spans[(event.target as HTMLSelectElement).selectedIndex]![0];
      void this.#run(() => this.#compare());
    };
    return html`<section class="card" aria-label=${t('Beats as computed and as corrected')}>
      <div class="card-head">
        <h2>${t('Beats as computed and as corrected')}</h2>
        <label class="picker"
          >${t('Around the strip')}
          <select @change=${choose}>
            ${spans.map(([ms, name]) => html`<option ?selected=${ms === this.#spanMs}>${name}</option>`)}
          </select></label
        >
      </div>
      ${this.#compared.map((series) => this.#series(series))}
      <p class="muted">${t('Stored values stay as computed; those on the right are worked out with the corrections when you look.')}</p>
    </section>`;
  }

  #series({ channel, method_code: method, computed, corrected, corrections }: Compared): TemplateResult {
    const format = (digits: number) =>
      new Intl.NumberFormat(this.#locale, { minimumFractionDigits: digits, maximumFractionDigits: digits });
    const fixed = [format(0), format(1)] as const;
    const number = (value: number | null, digits: 0 | 1): string => (value === null ? '–' : fixed[digits].format(value));
    const rows = [
      [t('Beats'), computed.beat_count, corrected.beat_count, 0, ''],
      [t('Beats that are not normal'), computed.other_count, corrected.other_count, 0, ''],
      [t('Intervals between normal beats'), computed.nn_count, corrected.nn_count, 0, ''],
      [t('Heart rate of these intervals'), computed.mean_hr, corrected.mean_hr, 1, '/min'],
      ['SDNN', computed.sdnn_ms, corrected.sdnn_ms, 1, 'ms'],
      ['RMSSD', computed.rmssd_ms, corrected.rmssd_ms, 1, 'ms'],
      ['pNN50', computed.pnn50_percent, corrected.pnn50_percent, 1, '%'],
    ] as const;
    const column = (name: string, of: 1 | 2) => ({
      name,
      kind: 'num' as const,
      cell: (row: (typeof rows)[number]) => `${number(row[of], row[3])} ${row[4]}`,
    });
    return html`<h3>
        ${this.#channels.get(channel) ?? channel} <code>${method}</code>
        <span class="muted">${plural(corrections.length, '{count} corrected', '{count} corrected')}</span>
      </h3>
      ${tableOf<(typeof rows)[number]>([{ name: t('Value'), cell: ([name]) => name }, column(t('Computed'), 1), column(t('Corrected'), 2)], rows, () => false, true)}`;
  }
}
