/** Signal quality of all users, by the hour: the worst first. */
import { html, svg } from 'lit-html';
import type { nothing, TemplateResult } from 'lit-html';
import { zoneIfTwice } from '../../widgets/shared/zoned-time.ts';
import { t } from '../language.ts';
import { Page } from '../page.ts';
import { ListChoice } from '../list-choice.ts';
import { chips, emptyState, percent, personLink } from '../parts.ts';
import { call } from '../service.ts';
import type { QualityOfUser } from '../service.ts';

const signalNames: Readonly<Record<string, string>> = { hr_ecg: t('ECG'), hr_ppg: t('PPG') };
export const signalName = (feature: string): string => signalNames[feature] ?? feature;
const periods = ['24', '72', '168'] as const;
const HEIGHT = 40;
const GAP = 1;
/** A row of seven days has up to a thousand elements. */
const ROWS = 25;

export class QualityPage extends Page {
  override readonly title = t('Signal quality');
  protected override readonly lead = t('How much of each hour can be trusted. Missing and unusable values are never shown as numbers.');
  protected override readonly refreshMs = 60_000;
  #users: readonly QualityOfUser[] = [];
  #hours: (typeof periods)[number] = periods.find((hours) => hours === this.context.query.get('hours')) ?? '24';

  readonly #list = new ListChoice<QualityOfUser>(
    this.listPlace,
    {
      worst: { name: t('Worst first'), by: (user) => -shareOf(user, 'good') },
      user: { name: t('User'), by: (user) => user.display_name || user.external_id },
      gaps: { name: t('Most gaps first'), by: (user) => -valuesOf(user, 'n') },
    },
    (user) => [user.external_id, user.display_name],
    ROWS,
  );

  protected override async load(): Promise<void> {
    this.#users = await this.newest(call('GET', '/api/v1/signal-quality', { query: { hours: Number(this.#hours) } }));
  }

  protected override actions(): TemplateResult {
    return chips(
      t('Period'),
      [
        ['24', t('24 hours')],
        ['72', t('3 days')],
        ['168', t('7 days')],
      ],
      this.#hours,
      (choice) => {
        this.#hours = choice;
        this.keep({ hours: choice });
        this.choose();
      },
    );
  }

  protected override body(): TemplateResult | typeof nothing {
    return this.chosen(() => this.#found());
  }

  #found(): TemplateResult {
    if (this.#users.length === 0) {
      return html`<section class="card">
        ${emptyState(t('No signals in this period'), t('Users appear here once a device has sent ECG or PPG.'))}
      </section>`;
    }
    const shown = this.#list.of(this.#users);
    return html`<section class="card">
      ${this.#list.fields(this.#users.length, t('Part of an id or name'))}
      <ul class="key" aria-label=${t('Key')}>
        <li>
          <svg viewBox="0 0 14 14" aria-hidden="true"><rect class="s-good" width="14" height="14" /></svg>${t('good')}
        </li>
        <li>
          <svg viewBox="0 0 14 14" aria-hidden="true">
            <rect class="s-suspect" width="14" height="14" />
            ${hatch('0')}</svg
          >${t('suspect')}
        </li>
        <li>
          <svg viewBox="0 0 14 14" aria-hidden="true"><rect class="s-bad" x=".75" y=".75" width="12.5" height="12.5" /></svg
          >${t('unusable')}
        </li>
        <li>
          <svg viewBox="0 0 14 14" aria-hidden="true"><path class="s-none" d="M0 13.5h14" /></svg>${t('no signal')}
        </li>
      </ul>
      <ul class="quality-list">
        ${this.#list.drawn(shown).map((user) => this.#row(user))}
      </ul>
      ${this.#list.more(shown.length)} ${shown.length === 0 ? emptyState(t('No users found'), t('No id or name contains this text.')) : ''}
      <p class="quality-axis muted" aria-hidden="true">
        <span>${t('{count} hours ago', { count: this.#hours })}</span><span>${t('now')}</span>
      </p>
    </section>`;
  }

  #row(user: QualityOfUser): TemplateResult {
    this.showsOwnClock();
    const hours = Number(this.#hours);
    const good = shareOf(user, 'good');
    const suspect = shareOf(user, 'suspect');
    const covered = valuesOf(user, 'n') / Math.max(1, (user.hours[0]?.expected ?? 3600) * hours);
    const words = t('good {good}, suspect {suspect}, unusable {bad}', {
      good: percent(good),
      suspect: percent(suspect),
      bad: percent(Math.max(0, 1 - good - suspect)),
    });
    return html`<li>
      <div class="quality-who">${personLink(user)} <span class="muted">${signalName(user.feature)}</span></div>
      ${bars(user, hours, this.context.locale, t('{name}: {words}; signal for {percent} of {hours} hours', { name: `${user.external_id} ${signalName(user.feature)}`, words, percent: percent(covered), hours }))}
      <p class="quality-sum">
        ${t('{percent} good', { percent: html`<b class=${good < 0.8 ? 'attention' : ''}>${percent(good)}</b>` })}<br /><span class="muted"
          >${t('signal {percent} of the time', { percent: percent(Math.min(1, covered)) })}</span
        >
      </p>
    </li>`;
  }
}

const valuesOf = (user: QualityOfUser, key: 'n' | 'good' | 'suspect'): number => user.hours.reduce((sum, hour) => sum + hour[key], 0);

/** Of the values that there are. */
export function shareOf(user: QualityOfUser, key: 'good' | 'suspect'): number {
  const n = valuesOf(user, 'n');
  return n === 0 ? 0 : valuesOf(user, key) / n;
}

const hatch = (x: string): TemplateResult => svg`<path class="s-hatch" transform="translate(${x} 0)" d="M-2 6 6-2M0 14 14 0M8 16l8-8" />`;

/** One column an hour, from the bottom: good solid, suspect hatched, unusable outlined; what is missing stays empty. */
function bars(user: QualityOfUser, hours: number, locale: string, label: string): TemplateResult {
  const nowMs = Date.now();
  const endMs = Math.floor(nowMs / 3.6e6) * 3.6e6;
  const clock = new Intl.DateTimeFormat(locale, { dateStyle: 'short', timeStyle: 'short' });
  const at = new Map(user.hours.map((hour) => [Date.parse(hour.start), hour]));
  const width = 10;
  const columns = Array.from({ length: hours }, (_, i) => {
    const x = i * width;
    const hour = at.get(endMs - (hours - 1 - i) * 3.6e6);
    if (hour === undefined) return svg`<path class="s-none" d="M${x} ${HEIGHT - 0.5}h${width - GAP}" />`;
    const startMs = Date.parse(hour.start);
    // Of the hour that is going on, what could have come until now.
    const share = i === hours - 1 ? Math.max(60_000, nowMs - endMs) / 3.6e6 : 1;
    const unit = HEIGHT / Math.max(hour.expected * share, hour.n);
    const good = hour.good * unit;
    const suspect = hour.suspect * unit;
    const bad = Math.max(0, hour.n - hour.good - hour.suspect) * unit;
    const words = t('good {good}, suspect {suspect}', { good: percent(hour.good / hour.n), suspect: percent(hour.suspect / hour.n) });
    return svg`<g>
      <title>${clock.format(startMs)}${zoneIfTwice(locale, startMs, undefined)}: ${words}</title>
      <rect class="s-good" x=${x} y=${HEIGHT - good} width=${width - GAP} height=${good} />
      <rect class="s-suspect" x=${x} y=${HEIGHT - good - suspect} width=${width - GAP} height=${suspect} />
      ${suspect > 3 ? svg`<path class="s-hatch" d="M${x + 1} ${HEIGHT - good - 1}l${width - GAP - 2} ${-Math.min(suspect, 7) + 2}" />` : ''}
      ${bad > 0.5 ? svg`<rect class="s-bad" x=${x + 0.5} y=${HEIGHT - good - suspect - bad + 0.5} width=${width - GAP - 1} height=${Math.max(0.1, bad - 1)} />` : ''}
    </g>`;
  });
  return html`<svg class="quality-bars" viewBox="0 0 ${hours * width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${label}>
    ${columns}
  </svg>`;
}
