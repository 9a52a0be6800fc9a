/** Many people on one screen: a trace, two values and the quality of each, over one connection.
 *  For a look from a distance, not for alarms. */
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import type { ConnectionState } from '../../sdk/live-connection.ts';
import { formatNumber } from '../../widgets/shared/format.ts';
import { traceTextFor } from '../../widgets/shared/trace-strings.ts';
import { toggleFullScreen } from '../full-screen.ts';
import { groupField, loadGroups } from '../group-filter.ts';
import { t } from '../language.ts';
import { Page } from '../page.ts';
import { emptyState, skeleton } from '../parts.ts';
import { call, callList } from '../service.ts';
import type { Device, Group, Xuser } from '../service.ts';
import { WallFeed } from '../wall/wall-feed.ts';
import { WallGrid } from '../wall/wall-grid.ts';
import { WallTile } from '../wall/wall-tile.ts';
import type { Link, WallPerson } from '../wall/wall-tile.ts';
import { heartRate, otherValues, secondValues } from '../wall/wall-values.ts';
import type { WallValue } from '../wall/wall-values.ts';

const REFRESH_MS = 10_000;
/** Names, and who is in a group, are read at every such refresh: there may be thousands of people. */
const PEOPLE_EVERY = 6;
const LIST_MAX = 1000;
const sizes = [4, 9, 16, 25, 36] as const;
const SIZE = 36;
/** Later than this a device sends history, which is not live. */
const LAG_MS_MAX = 900_000;

const links: Readonly<Record<ConnectionState, Link>> = {
  connecting: 'connecting',
  live: 'open',
  stale: 'open', // nobody sends, but the service answers
  offline: 'lost',
  waiting: 'lost',
  refused: 'lost',
  closed: 'lost',
};

export class WallPage extends Page {
  override readonly title = t('Wall');
  override readonly isWhole = true;
  protected override readonly refreshMs = REFRESH_MS;
  #groups: readonly Group[] = [];
  #users: readonly Xuser[] = [];
  /** Refreshes until people are read again. */
  #peopleIn = 0;
  /** There are devices that the service does not list: those that were heard longest ago are missing. */
  #isCut = false;
  /** The group has more people than are listed. */
  #isGroupCut = false;
  #group = this.context.query.get('group') ?? '';
  #others: readonly WallValue[] | null = null;
  /** Key of the second value that is chosen. */
  #value = this.context.query.get('value') ?? '';
  #size: number = sizes.find((size) => String(size) === this.context.query.get('size')) ?? SIZE;
  #part = Math.max(1, Math.floor(Number(this.context.query.get('part') ?? 1)) || 1);
  #people: readonly WallPerson[] = [];
  /** Everybody whose tile was shown since the page was opened: who falls silent stays on the wall. */
  readonly #tiles = new Map<string, WallTile>();
  /** Everybody who was sending since then: they come before those who never did, and keep their place when they fall silent. */
  readonly #senders = new Set<string>();
  #link: Link = 'connecting';
  #isRefused = false;
  readonly #grid = new WallGrid(this.#shown);
  readonly #feed = new WallFeed({
    onFrame: (id, frame, nowMs) => {
      const tile = this.#tiles.get(id);
      if (tile !== undefined) this.#grid.take(tile, frame, nowMs);
    },
    onGone: (id) => this.#tiles.get(id)?.forget(),
    onShown: (id) => this.#tiles.get(id)?.showAgain(),
    onState: (state) => {
      this.#link = links[state];
      this.#isRefused = state === 'refused';
      this.#show();
      this.context.redraw();
    },
  });
  readonly #stopDrawing = this.#grid.start();
  readonly #onFullScreen = (): void => this.context.redraw();

  override start(): void {
    super.start();
    document.addEventListener('fullscreenchange', this.#onFullScreen);
  }

  override signedInAgain(): void {
    super.signedInAgain();
    this.#feed.renew();
  }

  protected override left(): void {
    document.removeEventListener('fullscreenchange', this.#onFullScreen);
    this.#stopDrawing();
    this.#feed.close();
    if (document.fullscreenElement !== null) void document.exitFullscreen();
  }

  get #second(): WallValue {
    return [...secondValues, ...(this.#others ?? [])].find(({ key }) => key === this.#value) ?? secondValues[0]!;
  }

  get #shown() {
    return { link: this.#link, second: this.#second, locale: this.context.locale };
  }

  protected override async load(): Promise<void> {
    const group = this.#group === '' ? undefined : this.#group;
    const [devices, listed, methods] = await this.newest(
      Promise.all([
        call('GET', '/api/v1/devices', { query: { limit: LIST_MAX, group_id: group } }),
        this.#peopleIn-- > 0 ? null : readPeople(group),
        // The wall goes on without them; they are asked for again at the next refresh.
        this.#others === null ? call('GET', '/api/v1/methods').catch(() => null) : null,
      ]),
    );
    if (methods !== null) this.#others = otherValues(methods, this.context.locale);
    if (listed !== null) {
      [this.#users, this.#groups] = [listed.items, listed.groups];
      this.#isGroupCut = group !== undefined && listed.next !== null;
      this.#peopleIn = PEOPLE_EVERY - 1;
    }
    this.#isCut = devices.length >= LIST_MAX;
    const people = peopleOf(devices, this.#users, (id, isSending) => isSending || group !== undefined || this.#tiles.has(id));
    for (const { id, isSending } of people) if (isSending) this.#senders.add(id);
    const [silent, senders] = [false, true].map((hasSent) => people.filter(({ id }) => this.#senders.has(id) === hasSent));
    this.#people = [...senders!, ...silent!];
    this.#show();
  }

  get #parts(): number {
    return Math.max(1, Math.ceil(this.#people.length / this.#size));
  }

  #show(): void {
    const part = Math.min(this.#part, this.#parts);
    const people = this.#people.slice((part - 1) * this.#size, part * this.#size);
    const tiles = people.map((person) => {
      const tile = this.#tiles.get(person.id) ?? new WallTile(person, this.#grid.colors);
      tile.person = person;
      this.#tiles.set(person.id, tile);
      return tile;
    });
    this.#feed.show(people.map(({ id }) => id));
    this.#grid.show(tiles, this.#shown);
  }

  #choose(event: Event): void {
    const { form, name } = event.target as HTMLSelectElement;
    const text = (field: string): string => (new FormData(form!).get(field) as string | null) ?? '';
    const isOther = name === 'group';
    this.#group = text('group');
    if (name === 'value') this.#value = text('value');
    this.#size = Number(text('size'));
    this.#turn(1);
    if (!isOther) return;
    this.#tiles.clear();
    this.#senders.clear();
    this.#grid.restart();
    this.#peopleIn = 0;
    this.choose();
  }

  #turn(part: number): void {
    this.#part = part;
    // What the service has not described yet stays chosen.
    const value = this.#others === null ? this.#value : this.#second.key;
    this.keep({
      group: this.#group,
      value: value === secondValues[0]!.key ? '' : value,
      size: this.#size === SIZE ? '' : String(this.#size),
      part: part === 1 ? '' : String(part),
    });
    this.#show();
    this.context.redraw();
  }

  override view(): TemplateResult {
    return html`<div class="wall">
      <header class="wall-bar">
        <a class="back" href="#/overview">${t('Dashboard')}</a>
        <h1>${t('Wall')}</h1>
        <p class="link ${this.#link === 'open' ? 'live' : this.#link === 'lost' ? 'offline' : ''}" role="status">
          <span class="dot" aria-hidden="true"></span>${this.#linkWord()}
        </p>
        ${this.#controls()}
      </header>
      ${this.failure}
      <main id="main" tabindex="-1" aria-label=${t('People')}>${this.isReady ? this.chosen(() => this.body()) : skeleton()}</main>
      <footer class="notice">
        ${t('No alarms. Not a medical device.')}
        ${
          this.#isCut
            ? html`<span
                >${t('Of all devices, the {count} that were heard last.', { count: formatNumber(this.context.locale, LIST_MAX) })}</span
              >`
            : nothing
        }
        ${
          this.#isGroupCut
            ? html`<span
                >${t('Of all people of the group, the first {count}.', { count: formatNumber(this.context.locale, LIST_MAX) })}</span
              >`
            : nothing
        }
        <p class="wall-legend">${this.#legend(heartRate, 'wall-heart')} ${this.#legend(this.#second, 'wall-second')}</p>
        <span class="wall-speed">${t('{speed} mm/s, height fitted', { speed: this.#grid.mmPerS })}</span>
      </footer>
    </div>`;
  }

  /** What a number of each tile is, in full: a tile has room for an abbreviation, or for none. Of people without the first value it is
   *  another one: each is there; an abbreviation and a unit that they have in common stand once. */
  #legend({ values }: WallValue, name: string): TemplateResult {
    const each = values.map(({ label, short, title }, i) => {
      const full = title === '' || title === values[i + 1]?.title ? label : `${label} (${title})`;
      return html`${i === 0 ? nothing : ' · '}${short === label || short === values[i - 1]?.short ? nothing : html`<b>${short}</b> `}${full}`;
    });
    return html`<span class=${name}>${each}</span>`;
  }

  #linkWord(): string {
    if (this.#people.length === 0) return '';
    if (this.#isRefused) return traceTextFor(this.context.locale, 'refused');
    return this.#link === 'open'
      ? t('Connected')
      : traceTextFor(this.context.locale, this.#link === 'lost' ? 'notConnected' : 'connecting');
  }

  protected override body(): TemplateResult {
    if (this.#people.length > 0) return html`${this.#grid.element}`;
    return this.#group === ''
      ? emptyState(t('Nobody is sending'), t('People appear here as soon as one of their devices sends ECG or PPG.'))
      : emptyState(t('Nobody is in this group'), t('Add people to it under Groups.'));
  }

  #options(values: readonly WallValue[]): readonly TemplateResult[] {
    return values.map(({ key, values: [{ label }] }) => html`<option value=${key} ?selected=${key === this.#second.key}>${label}</option>`);
  }

  #controls(): TemplateResult {
    const choose = (event: Event): void => this.#choose(event);
    const part = Math.min(this.#part, this.#parts);
    return html`<form class="wall-choices" @submit=${(event: Event) => event.preventDefault()}>
        ${groupField(this.#groups, this.#group, choose)}
        <label
          >${t('Second value')}
          <select name="value" @change=${choose}>
            ${this.#options(secondValues)}
            <optgroup label=${t('Other values')}>
              ${
                this.isReady && this.#others === null
                  ? html`<option disabled>${t('The list of values could not be read from the service.')}</option>`
                  : this.#options(this.#others ?? [])
              }
            </optgroup>
          </select></label
        >
        <label
          >${t('At most')}
          <select name="size" @change=${choose}>
            ${sizes.map((size) => html`<option value=${size} ?selected=${size === this.#size}>${t('{count} people', { count: size })}</option>`)}
          </select></label
        >
      </form>
      ${
        this.#parts === 1
          ? nothing
          : html`<div class="row wall-parts">
              <button type="button" ?disabled=${part === 1} @click=${() => this.#turn(part - 1)}>${t('Previous')}</button>
              <span>${t('{part} of {parts}', { part, parts: this.#parts })}</span>
              <button type="button" ?disabled=${part === this.#parts} @click=${() => this.#turn(part + 1)}>${t('Next')}</button>
            </div>`
      }
      <button
        type="button"
        class="wall-full"
        aria-pressed=${document.fullscreenElement === null ? 'false' : 'true'}
        @click=${toggleFullScreen}
      >
        ${t('Full screen')}
      </button>`;
  }
}

/** One page of people: who is not on it has the name that their device has. */
async function readPeople(group: string | undefined) {
  const query = { limit: LIST_MAX, group_id: group, sort: 'external_id' } as const;
  const [list, groups] = await Promise.all([callList('/api/v1/xusers', { query }), loadGroups()]);
  return { ...list, groups };
}

/** By external id. @param wanted whether a person is shown, by their id and whether a device of theirs sends now */
function peopleOf(devices: readonly Device[], users: readonly Xuser[], wanted: (id: string, isSending: boolean) => boolean): WallPerson[] {
  const byPerson = Map.groupBy(
    devices.filter((device) => device.xuser_id !== null),
    (device) => device.xuser_id!,
  );
  const known = new Map(users.map((user) => [user.xuser_id, user]));
  const ids = new Set([...known.keys(), ...byPerson.keys()]);
  const people: (WallPerson & Readonly<{ externalId: string }>)[] = [];
  for (const id of ids) {
    const theirs = byPerson.get(id) ?? [];
    const sending = theirs.filter(({ is_flowing: flows, lag_ms: lag }) => flows && (lag ?? 0) < LAG_MS_MAX);
    const user = known.get(id);
    if (user?.disabled === true || !wanted(id, sending.length > 0)) continue;
    const levels = (sending.length > 0 ? sending : theirs).flatMap(({ battery_percent: level }) => (level === null ? [] : [level]));
    const externalId = user?.external_id ?? theirs[0]?.external_id ?? '';
    people.push({
      id,
      externalId,
      name: user?.display_name || theirs[0]?.display_name || externalId,
      batteryPercent: levels.length === 0 ? null : Math.min(...levels),
      isSending: sending.length > 0,
      lastPacketAt:
        theirs
          .map(({ last_packet_at: at }) => at ?? '')
          .toSorted()
          .at(-1) || null,
    });
  }
  return people.toSorted((a, b) => a.externalId.localeCompare(b.externalId, undefined, { numeric: true }));
}
