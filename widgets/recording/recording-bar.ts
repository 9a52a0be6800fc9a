/** The controls above the views of a recording. */
import { html, nothing } from '../shared/base.ts';
import type { TemplateResult } from '../shared/base.ts';
import type { JumpSearch } from './jump-search.ts';
import type { OpenRecording } from './open-recording.ts';
import { gains } from './recording-gains.ts';
import { pickModes } from './recording-pick.ts';
import type { PickMode } from './recording-pick.ts';
import { jumps, textsOf } from './recording-seek.ts';
import type { Jump } from './recording-seek.ts';
import { rowLengths, speeds } from './recording-settings.ts';
import type { RecordingSettings } from './recording-settings.ts';
import type { RecordingWords } from './recording-words.ts';
import type { StripSelection } from './strip-selection.ts';

const pickWords = { off: 'markOff', stretch: 'markStretch', beat: 'markBeat' } as const;

/** What is shown now. */
type BarState = Readonly<{
  recording: OpenRecording;
  words: RecordingWords;
  atMs: number;
  settings: RecordingSettings;
  search: JumpSearch;
  selection: StripSelection;
  /** Something can be picked. */
  isMarking: boolean;
  isOfDays: boolean;
}>;

/** What the controls do. */
export type BarActs = Readonly<{
  /** Of the settings, or of what is measured: shown at once. */
  set: (change: () => void) => void;
  jump: (to: Jump) => void;
  jumpText: (text: string) => void;
  go: (forward: boolean) => void;
  pick: (mode: PickMode) => void;
  measure: () => void;
  moveTo: (ms: number) => void;
  moveDays: (days: number) => void;
  goTo: (input: HTMLInputElement) => void;
  goneTo: (input: HTMLInputElement) => void;
  /** The keyboard goes back to the strip. */
  leave: () => void;
}>;

export function recordingBar(of: BarState, acts: BarActs): TemplateResult {
  const { words, recording, settings, search, selection } = of;
  const { channels, gains: own, signal } = settings;
  return html`<div class="bar">
    ${choice(
      words.say('paperSpeed'),
      speeds,
      settings.speed,
      (one) => `${one} mm/s`,
      (one) => acts.set(() => (settings.speed = one)),
    )}
    ${channels.length < 2 ? nothing : signalChoice(of, acts)}
    ${choice(
      words.say('gain'),
      gains,
      own.of(signal),
      (one) => own.name(signal, one),
      (one) => acts.set(() => own.set(settings.signal, one)),
    )}
    ${choice(
      words.say('rowSeconds'),
      rowLengths,
      settings.rowSec,
      (one) => `${one} s`,
      (one) => acts.set(() => (settings.rowSec = one)),
    )}
    <label
      >${words.say('jumpTo')}
      <select @change=${(event: Event) => acts.jump(jumps[(event.target as HTMLSelectElement).selectedIndex]!)}>
        ${jumps.map((one) => html`<option ?selected=${one === search.jump}>${words.say(one)}</option>`)}
      </select></label
    >
    ${search.jump === 'jumpEvent' ? textChoice(of, acts) : nothing}
    <button type="button" @click=${() => acts.go(false)}>${words.say('previousEvent')}</button>
    <button type="button" @click=${() => acts.go(true)}>${words.say('nextEvent')}</button>
    ${of.isMarking ? markChoice(of, acts) : nothing}
    ${check(words.say('filter'), settings.isFiltered, () => acts.set(() => (settings.isFiltered = !settings.isFiltered)))}
    ${check(words.say('calipers'), selection.isMeasuring, acts.measure)}
    ${check(
      words.say('marchOut'),
      selection.calipers?.marchOut ?? false,
      () => acts.set(() => selection.toggleMarchOut()),
      !selection.isMeasuring,
    )}
    ${recording.source.stream.channels.length < 2 ? nothing : channelChoice(of, acts)} ${places(of, acts)}
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
function places({ recording, words, atMs, isOfDays }: BarState, acts: BarActs): TemplateResult {
  const { startMs, endMs } = recording.source;
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

function signalChoice({ words, recording, settings }: BarState, acts: BarActs): TemplateResult {
  const codes = ['', ...settings.channels];
  const { names } = recording.source;
  return html`<label
    >${words.say('signal')}
    <select @change=${(event: Event) => acts.set(() => settings.choose((event.target as HTMLSelectElement).selectedIndex))}>
      ${codes.map((code) => html`<option .selected=${code === settings.signal}>${code === '' ? words.say('allSignals') : (names.get(code) ?? code)}</option>`)}
    </select></label
  >`;
}

/** Of a file whose every beat is an event, which of them are jumped to. */
function textChoice({ words, search, recording }: BarState, acts: BarActs): TemplateResult {
  return html`<label
    >${words.say('jumpText')}
    <input
      type="text"
      list="texts"
      autocomplete="off"
      .value=${search.text}
      @input=${(event: Event) => acts.jumpText((event.target as HTMLInputElement).value)}
      @keydown=${(event: KeyboardEvent) => {
        if (event.key === 'Enter' || event.key === 'Escape') acts.leave();
      }}
    /><datalist id="texts">${textsOf(recording.marks).map((text) => html`<option value=${text}></option>`)}</datalist>
  </label>`;
}

function markChoice({ words, selection }: BarState, acts: BarActs): TemplateResult {
  return html`<label
    >${words.say('mark')}
    <select @change=${(event: Event) => acts.pick(pickModes[(event.target as HTMLSelectElement).selectedIndex]!)}>
      ${pickModes.map((mode) => html`<option .selected=${mode === selection.mode}>${words.say(pickWords[mode])}</option>`)}
    </select></label
  >`;
}

function channelChoice({ words, recording, settings }: BarState, acts: BarActs): TemplateResult {
  const { source } = recording;
  const { channels } = settings;
  const show = (list: readonly string[]): void => acts.set(() => settings.show(list));
  const codes = [...new Set(source.stream.channels.map(({ code }) => code))];
  const toggle = (code: string, box: HTMLInputElement): void => {
    const has = channels.includes(code);
    const list = has ? channels.filter((one) => one !== code) : [...channels, code];
    show(list.length === 0 ? channels : codes.filter((one) => list.includes(one)));
    box.checked = settings.channels.includes(code); // the last one stays, and of very many not all have room
  };
  return html`<fieldset class="channels">
    <legend class="vh">${words.say('channels')}</legend>
    ${codes.map(
      (code) =>
        html`<label class="check"
          ><input
            type="checkbox"
            .checked=${channels.includes(code)}
            @change=${(event: Event) => toggle(code, event.target as HTMLInputElement)}
          />
          ${source.names.get(code) ?? code}</label
        >`,
    )}
    ${
      codes.length > 2
        ? html`<button type="button" class="quiet" @click=${() => show(codes)}>${words.say('allChannels')}</button>`
        : nothing
    }
  </fieldset>`;
}
