/** The controls above the views of a recording. */
import { html, nothing } from '../shared/base.ts';
import type { TemplateResult } from '../shared/base.ts';
import { gains } from './recording-gains.ts';
import type { Gains } from './recording-gains.ts';
import { pickModes } from './recording-pick.ts';
import type { PickMode } from './recording-pick.ts';
import { jumps, textsOf } from './recording-seek.ts';
import type { Jump } from './recording-seek.ts';
import type { Mark, RecordingSource } from './recording-source.ts';
import type { RecordingWords } from './recording-words.ts';

export const speeds = [12.5, 25, 50] as const;
export const rowLengths = [10, 30, 60] as const;
/** Signals of a strip, one below the other. */
export const LANES_MAX = 12;
const pickWords = { off: 'markOff', stretch: 'markStretch', beat: 'markBeat' } as const;

/** What is shown now. */
type BarState = Readonly<{
  source: RecordingSource;
  words: RecordingWords;
  atMs: number;
  speed: number;
  gains: Gains;
  signal: string;
  rowSec: number;
  channels: readonly string[];
  jump: Jump;
  /** Of the events that are jumped to; '': of all. */
  jumpText: string;
  marks: readonly Mark[];
  /** null: nothing can be picked. */
  pickMode: PickMode | null;
  isFiltered: boolean;
  isMeasuring: boolean;
  /** null: there are no calipers. */
  marchOut: boolean | null;
  isOfDays: boolean;
}>;

/** What the controls do. */
export type BarActs = Readonly<{
  speed: (one: number) => void;
  gain: (one: number) => void;
  signal: (code: string) => void;
  row: (seconds: number) => void;
  channels: (codes: readonly string[]) => void;
  jump: (to: Jump) => void;
  jumpText: (text: string) => void;
  go: (forward: boolean) => void;
  pick: (mode: PickMode) => void;
  filter: () => void;
  measure: () => void;
  marchOut: () => void;
  moveTo: (ms: number) => void;
  moveDays: (days: number) => void;
  goTo: (input: HTMLInputElement) => void;
  goneTo: (input: HTMLInputElement) => void;
  /** The keyboard goes back to the strip. */
  leave: () => void;
}>;

export function recordingBar(of: BarState, acts: BarActs): TemplateResult {
  const { words, source } = of;
  return html`<div class="bar">
    ${choice(words.say('paperSpeed'), speeds, of.speed, (one) => `${one} mm/s`, acts.speed)}
    ${of.channels.length < 2 ? nothing : signalChoice(of, acts)}
    ${choice(words.say('gain'), gains, of.gains.of(of.signal), (one) => of.gains.name(of.signal, one), acts.gain)}
    ${choice(words.say('rowSeconds'), rowLengths, of.rowSec, (one) => `${one} s`, acts.row)}
    <label
      >${words.say('jumpTo')}
      <select @change=${(event: Event) => acts.jump(jumps[(event.target as HTMLSelectElement).selectedIndex]!)}>
        ${jumps.map((one) => html`<option ?selected=${one === of.jump}>${words.say(one)}</option>`)}
      </select></label
    >
    ${of.jump === 'jumpEvent' ? textChoice(of, acts) : nothing}
    <button type="button" @click=${() => acts.go(false)}>${words.say('previousEvent')}</button>
    <button type="button" @click=${() => acts.go(true)}>${words.say('nextEvent')}</button>
    ${of.pickMode === null ? nothing : markChoice(of, acts)} ${check(words.say('filter'), of.isFiltered, acts.filter)}
    ${check(words.say('calipers'), of.isMeasuring, acts.measure)}
    ${check(words.say('marchOut'), of.marchOut ?? false, acts.marchOut, of.marchOut === null)}
    ${source.stream.channels.length < 2 ? nothing : channelChoice(of, acts)} ${places(of, acts)}
  </div>`;
}

function choice<T extends number>(
  label: string,
  list: readonly T[],
  value: number,
  name: (one: T) => string,
  set: (one: T) => void,
): TemplateResult {
  return html`<label
    >${label}
    <select @change=${(event: Event) => set(list[(event.target as HTMLSelectElement).selectedIndex]!)}>
      ${list.map((one) => html`<option .selected=${one === value}>${name(one)}</option>`)}
    </select></label
  >`;
}

function check(label: string, isOn: boolean, toggle: () => void, isDisabled = false): TemplateResult {
  return html`<label class="check"><input type="checkbox" .checked=${isOn} ?disabled=${isDisabled} @change=${toggle} />${label}</label>`;
}

/** Where to go in the recording: along it, by days, to a time. */
function places({ source, words, atMs, isOfDays }: BarState, acts: BarActs): TemplateResult {
  const { startMs, endMs } = source;
  const [firstTime, lastTime] = words.localEnds(startMs, endMs);
  return html`<div class="goto">
    <label
      >${words.say('goTo')}<input
        type="range"
        min="0"
        max=${Math.max(1, Math.round((endMs - startMs) / 1000))}
        step="1"
        .value=${String(Math.round((atMs - startMs) / 1000))}
        aria-valuetext=${words.clock(atMs, true)}
        @input=${(event: Event) => acts.moveTo(startMs + 1000 * Number((event.target as HTMLInputElement).value))}
    /></label>
    ${
      isOfDays
        ? html`<button type="button" @click=${() => acts.moveDays(-1)}>${words.say('previousDay')}</button>
            <button type="button" @click=${() => acts.moveDays(1)}>${words.say('nextDay')}</button>`
        : nothing
    }
    <input
      type="datetime-local"
      step="1"
      aria-label=${words.say('goToTime')}
      min=${firstTime}
      max=${lastTime}
      .value=${words.local(atMs)}
      @change=${(event: Event) => acts.goTo(event.target as HTMLInputElement)}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === 'Enter' || event.key === 'Escape') acts.leave();
      }}
      @blur=${(event: FocusEvent) => acts.goneTo(event.target as HTMLInputElement)}
    />
  </div>`;
}

function signalChoice({ words, source, channels, signal }: BarState, acts: BarActs): TemplateResult {
  const codes = ['', ...channels];
  return html`<label
    >${words.say('signal')}
    <select @change=${(event: Event) => acts.signal(codes[(event.target as HTMLSelectElement).selectedIndex]!)}>
      ${codes.map((code) => html`<option .selected=${code === signal}>${code === '' ? words.say('allSignals') : (source.names.get(code) ?? code)}</option>`)}
    </select></label
  >`;
}

/** Of a file whose every beat is an event, which of them are jumped to. */
function textChoice({ words, jumpText, marks }: BarState, acts: BarActs): TemplateResult {
  return html`<label
    >${words.say('jumpText')}
    <input
      type="text"
      list="texts"
      autocomplete="off"
      .value=${jumpText}
      @input=${(event: Event) => acts.jumpText((event.target as HTMLInputElement).value)}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === 'Enter' || event.key === 'Escape') acts.leave();
      }}
    /><datalist id="texts">${textsOf(marks).map((text) => html`<option value=${text}></option>`)}</datalist>
  </label>`;
}

function markChoice({ words, pickMode }: BarState, acts: BarActs): TemplateResult {
  return html`<label
    >${words.say('mark')}
    <select @change=${(event: Event) => acts.pick(pickModes[(event.target as HTMLSelectElement).selectedIndex]!)}>
      ${pickModes.map((mode) => html`<option .selected=${mode === pickMode}>${words.say(pickWords[mode])}</option>`)}
    </select></label
  >`;
}

function channelChoice({ words, source, channels }: BarState, acts: BarActs): TemplateResult {
  const codes = [...new Set(source.stream.channels.map(({ code }) => code))];
  const toggle = (code: string): void => {
    const has = channels.includes(code);
    const list = has ? channels.filter((one) => one !== code) : [...channels, code];
    acts.channels(list.length === 0 ? channels : codes.filter((one) => list.includes(one)).slice(0, LANES_MAX));
  };
  return html`<fieldset class="channels">
    <legend class="vh">${words.say('channels')}</legend>
    ${codes.map(
      (code) =>
        html`<label class="check"
          ><input type="checkbox" .checked=${channels.includes(code)} @change=${() => toggle(code)} />
          ${source.names.get(code) ?? code}</label
        >`,
    )}
    ${
      codes.length > 2
        ? html`<button type="button" class="quiet" @click=${() => acts.channels(codes.slice(0, LANES_MAX))}>
            ${words.say('allChannels')}
          </button>`
        : nothing
    }
  </fieldset>`;
}
