/** Settings of the viewer of a recording: paper speed, gains, rows and signals, as its attributes say, and as they were changed since. */
import { Gains, gains } from './recording-gains.ts';
import type { Stream } from './recording-source.ts';

export const speeds = [12.5, 25, 50] as const;
export const rowLengths = [10, 30, 60] as const;
/** Signals of a strip, one below the other. */
export const LANES_MAX = 12;

const nextOf = (list: readonly number[], value: number, by: number): number =>
  list[Math.min(list.length - 1, Math.max(0, list.indexOf(value) + by))]!;

const among = (list: readonly number[], value: string | null, fallback: number): number =>
  list.find((one) => one === Number(value)) ?? fallback;

export class RecordingSettings {
  /** mm/s. */
  speed = 25;
  /** Seconds of a row. */
  rowSec = 60;
  /** Codes of those of the strip; the first is that of the whole and the page. */
  channels: readonly string[] = [];
  /** Code of the signal whose gain is changed; '': of all. */
  signal = '';
  readonly gains: Gains;
  isFiltered = false;

  /** @param unitOf unit of a channel by its code */
  constructor(unitOf: (channel: string) => string) {
    this.gains = new Gains(unitOf);
  }

  /** What the attributes say, within what there is.  @param changed the one that has changed; none: all */
  read(viewer: Element, { channels }: Stream, changed?: string): void {
    const read = (name: string, set: (value: string | null) => void): void => {
      if (changed === undefined || changed === name) set(viewer.getAttribute(name));
    };
    read('speed', (value) => (this.speed = among(speeds, value, 25)));
    read('gain', (value) => (this.gains.all = among(gains, value, 10)));
    read('row', (value) => (this.rowSec = among(rowLengths, value, 60)));
    read('channels', (value) => this.#readChannels(value ?? '', channels));
  }

  #readChannels(codes: string, channels: Stream['channels']): void {
    const wanted = codes.split(',').filter((code) => channels.some((channel) => channel.code === code));
    const ecg = channels.filter(({ kind }) => kind === 'ecg');
    const usual = (ecg.length > 0 ? ecg : channels).slice(0, 2).map(({ code }) => code);
    this.show(wanted.length > 0 ? wanted : usual);
  }

  show(channels: readonly string[]): void {
    this.channels = channels.slice(0, LANES_MAX);
    if (!this.channels.includes(this.signal)) this.signal = '';
  }

  /** @param digit 0: the gain of all signals is changed, 1: of the first */
  choose(digit: number): void {
    this.signal = digit === 0 ? '' : this.channels[digit - 1]!;
  }

  /** @param by 1: to the next higher speed, -1: to the next lower one */
  changeSpeed(by: number): void {
    this.speed = nextOf(speeds, this.speed, by);
  }

  /** Of the chosen signal its gain; without one the speed. */
  more(by: number): void {
    if (this.signal === '') this.changeSpeed(by);
    else this.gains.set(this.signal, nextOf(gains, this.gains.of(this.signal), by));
  }
}
