/** Fleet health: which devices are silent, late, lossy, low on battery or off in time. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { formatNumber } from '../../widgets/shared/format.ts';
import { BATTERY_PERCENT_MIN, batteryLevel } from '../battery.ts';
import { t } from '../language.ts';
import { Page } from '../page.ts';
import { ListChoice, newest } from '../list-choice.ts';
import { badge, chips, duration, emptyState, figure, percent, personLink, tableOf } from '../parts.ts';
import { call } from '../service.ts';
import type { Device } from '../service.ts';

/** Thresholds above which a device needs attention. */
const LAG_MS_MAX = 5000;
const LOSS_MAX = 0.01;
const SKEW_PPM_MAX = 200;
const REFRESH_MS = 5000;
const LIST_MAX = 1000;
/** Of a long list, what is drawn is asked for every time and the whole so often: 1,000 devices are 600 kB. A short one is asked for as a
 *  whole: one that is not drawn may be new, or match the filter by now. */
const WHOLE_MS = 60_000;
const IDS_MAX = 100;

const filters = ['all', 'attention', 'sending', 'silent'] as const;
type Filter = (typeof filters)[number];

const orders = {
  heard: { name: t('Last packet'), by: (device: Device) => newest(device.last_packet_at) },
  device: { name: t('Device'), by: (device: Device) => device.name || device.device_id },
  user: { name: t('User'), by: ({ display_name: name, external_id: id }: Device) => name || id },
  lag: { name: t('Lag'), by: ({ lag_ms: lag }: Device) => lag },
  lost: { name: t('Packets lost'), by: (device: Device) => lossOf(device) },
  aside: { name: t('Not stored'), by: ({ set_aside: aside }: Device) => aside },
  battery: { name: t('Battery, lowest first'), by: ({ battery_percent: level }: Device) => (level === null ? null : -level) },
  clock: { name: t('Clock'), by: ({ clock }: Device) => (clock.skew_ppm === null ? null : Math.abs(clock.skew_ppm)) },
} as const;

export class DevicesPage extends Page {
  override readonly title = t('Devices');
  protected override readonly lead = t('State of each device in its most recent recording. Updates automatically.');
  protected override readonly refreshMs = REFRESH_MS;
  #devices: readonly Device[] = [];
  #wholeUntilMs = -Infinity;
  #filter: Filter = filters.find((name) => name === this.context.query.get('show')) ?? 'all';
  readonly #list = new ListChoice<Device>(this.listPlace, orders, (device) => [
    device.device_id,
    device.name,
    device.external_id,
    device.display_name,
  ]);

  protected override async load(): Promise<void> {
    const ids = [...new Set(this.#list.drawn(this.#shown()).map(({ id }) => id))];
    const isShort = this.#devices.length <= Math.max(IDS_MAX, 2 * ids.length);
    if (isShort || performance.now() >= this.#wholeUntilMs) {
      this.#devices = await call('GET', '/api/v1/devices', { query: { limit: LIST_MAX } });
      this.#wholeUntilMs = performance.now() + WHOLE_MS;
      return;
    }
    const parts = Array.from({ length: Math.ceil(ids.length / IDS_MAX) }, (_, i) => ids.slice(i * IDS_MAX, (i + 1) * IDS_MAX));
    const found = await Promise.all(parts.map((some) => call('GET', '/api/v1/devices', { query: { ids: some, limit: LIST_MAX } })));
    this.#devices = [...found.flat(), ...this.#devices.filter(({ id }) => !ids.includes(id))];
  }

  /** Those of the filter that are sought, in their order. */
  #shown(): readonly Device[] {
    const devices = this.#devices;
    const is: Readonly<Record<Filter, (device: Device) => boolean>> = {
      all: () => true,
      attention: (device) => faultsOf(device).length > 0,
      sending: (device) => device.is_flowing,
      silent: (device) => !device.is_flowing,
    };
    return this.#list.of(devices.filter(is[this.#filter]));
  }

  protected override body(): TemplateResult {
    const devices = this.#devices;
    if (devices.length === 0) {
      return html`<section class="card">
        ${emptyState(t('No devices yet'), t('A device appears here with its first packet. Under API keys, create a key with the scope Ingest.'))}
      </section>`;
    }
    const sending = devices.filter((device) => device.is_flowing);
    const attention = devices.filter((device) => faultsOf(device).length > 0);
    const shown = this.#shown();
    const number = (count: number): string => formatNumber(this.context.locale, count);
    return html`<dl class="figures">
        ${figure(t('Devices'), number(devices.length))} ${figure(t('Sending now'), number(sending.length), 'good')}
        ${figure(t('Silent'), number(devices.length - sending.length), 'off')}
        ${figure(t('Need attention'), number(attention.length), attention.length > 0 ? 'warn' : null)}
      </dl>
      <section class="card">
        ${this.#list.fields(devices.length, t("Part of a device's or user's name"))}
        ${chips(
          t('Which devices'),
          [
            ['all', t('All')],
            ['attention', t('Need attention')],
            ['sending', t('Sending')],
            ['silent', t('Silent')],
          ],
          this.#filter,
          (choice) => {
            this.#filter = choice;
            this.keep({ show: choice });
            this.context.redraw();
          },
        )}
        ${shown.length === 0 ? emptyState(t('No devices here'), t('No device matches this filter right now.')) : this.#table(this.#list.drawn(shown))}
        ${this.#list.more(shown.length)}
        ${
          devices.length < LIST_MAX
            ? nothing
            : html`<p class="muted">
                ${t('Of all devices, the {count} that were heard last.', { count: formatNumber(this.context.locale, LIST_MAX) })}
              </p>`
        }
      </section>`;
  }

  #table(devices: readonly Device[]): TemplateResult {
    const { locale } = this.context;
    return tableOf<Device>(
      [
        {
          name: t('Device'),
          cell: (device) => html`<b><bdi>${device.name || device.device_id}</bdi></b> <span class="muted">${device.firmware}</span>`,
        },
        {
          name: t('User'),
          cell: whose,
        },
        {
          name: t('State'),
          cell: (device) =>
            device.is_flowing
              ? badge('good', t('sending'))
              : html`${badge('off', t('silent'))}
                  <span class="muted">${t('last packet {age}', { age: this.age(device.last_packet_at) })}</span>`,
        },
        {
          name: t('Lag'),
          kind: 'num',
          cell: (device) => marked(device.is_flowing && late(device), device.lag_ms === null ? '–' : duration(device.lag_ms)),
        },
        {
          name: t('Packets lost'),
          kind: 'num',
          cell: (device) =>
            device.packets === 0
              ? '–'
              : marked(
                  lossOf(device) > LOSS_MAX,
                  `${percent(lossOf(device))}${device.lost_packets === 0 ? '' : ` (${formatNumber(locale, device.lost_packets)})`}`,
                ),
        },
        {
          name: t('Not stored'),
          kind: 'num',
          cell: (device) => marked(device.set_aside > 0, formatNumber(locale, device.set_aside)),
        },
        {
          name: t('Battery'),
          cell: ({ battery_percent: level }) =>
            level === null ? html`<span class="muted">${t('not reported')}</span>` : batteryLevel(level),
        },
        {
          name: t('Clock'),
          kind: 'num',
          cell: (device) =>
            device.clock.skew_ppm === null
              ? html`<span class="muted">${t('not known yet')}</span>`
              : marked(
                  Math.abs(device.clock.skew_ppm) > SKEW_PPM_MAX,
                  `${device.clock.skew_ppm > 0 ? '+' : ''}${formatNumber(locale, device.clock.skew_ppm, 2)} ppm`,
                ),
        },
      ],
      devices,
    );
  }
}

/** Whom a device records. */
export function whose({ xuser_id: id, external_id: external, display_name: name }: Device): TemplateResult | string {
  return id === null ? '–' : personLink({ xuser_id: id, external_id: external ?? '', display_name: name ?? '' });
}

function marked(attention: boolean, text: string): TemplateResult {
  return attention
    ? html`<span class="attention"><span aria-hidden="true">▲ </span>${text}<span class="vh"> ${t('needs attention')}</span></span>`
    : html`${text}`;
}

const late = (device: Device): boolean => (device.lag_ms ?? 0) > LAG_MS_MAX;

function lossOf(device: Device): number {
  const sent = device.packets + device.lost_packets;
  return sent === 0 ? 0 : device.lost_packets / sent;
}

function faultsOf(device: Device): string[] {
  return [
    ...(device.is_flowing && late(device) ? ['lag'] : []),
    ...(lossOf(device) > LOSS_MAX ? ['loss'] : []),
    ...(device.set_aside > 0 ? ['not stored'] : []),
    ...((device.battery_percent ?? 100) < BATTERY_PERCENT_MIN ? ['battery'] : []),
    ...(Math.abs(device.clock.skew_ppm ?? 0) > SKEW_PPM_MAX ? ['clock'] : []),
  ];
}
