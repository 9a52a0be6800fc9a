/** Shows progress of long work: share done, speed, time left. One moving line on a terminal, a line every ten seconds in a log. */
import type { Console } from './command.ts';

const LINE_EVERY_MS = 10_000;
const DRAW_EVERY_MS = 200;

export type Progress = Readonly<{
  /** @param done of `total`, in any unit  @param note e.g. `412 packets/s` */
  update: (done: number, note?: string) => void;
  /** Clears the moving line. */
  end: () => void;
}>;

/** @param total what `done` counts towards; 0 when it is not known */
export function startProgress(console: Console, label: string, total: number, now: () => number = () => performance.now()): Progress {
  const started = now();
  let drawn = started - DRAW_EVERY_MS;
  let logged = started;
  let width = 0;
  return {
    update: (done, note = '') => {
      const at = now();
      const person = console.progress;
      if (person === null ? at - logged < LINE_EVERY_MS : at - drawn < DRAW_EVERY_MS) return;
      const text = describe(label, done, total, at - started, note);
      if (person === null) {
        logged = at;
        console.err(text);
        return;
      }
      drawn = at;
      person(`\r${text.padEnd(width)}`);
      width = text.length;
    },
    end: () => {
      if (width > 0) console.progress?.(`\r${' '.repeat(width)}\r`);
      width = 0;
    },
  };
}

function describe(label: string, done: number, total: number, elapsedMs: number, note: string): string {
  const parts = [label];
  if (total > 0) {
    parts.push(`${((100 * done) / total).toFixed(1)} %`);
    if (done > 0 && done < total) parts.push(`${duration((elapsedMs * (total - done)) / done)} left`);
  }
  if (note !== '') parts.push(note);
  return parts.join('  ');
}

/** `[3/24, 2 min 10 s left] ` for the label of one of several; '' for the only one.
 *  @param index of `total`, from 0  @param doneCount of those that took the elapsed time: some may have been skipped */
export function placeOf(index: number, doneCount: number, total: number, elapsedMs: number): string {
  if (total === 1) return '';
  const left = doneCount === 0 ? '' : `, ${duration((elapsedMs / doneCount) * (total - index))} left`;
  return `[${index + 1}/${total}${left}] `;
}

/** `45 s`, `3 min 20 s`, `2 h 05 min`. */
export function duration(ms: number): string {
  const sec = Math.max(0, Math.round(ms / 1000));
  if (sec < 60) return `${sec} s`;
  if (sec < 3600) return `${Math.floor(sec / 60)} min ${String(sec % 60).padStart(2, '0')} s`;
  return `${Math.floor(sec / 3600)} h ${String(Math.floor(sec / 60) % 60).padStart(2, '0')} min`;
}
