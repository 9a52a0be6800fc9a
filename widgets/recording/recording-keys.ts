/** Which key of the viewer of a recording does what. */

/** What keys do to the viewer, and what they depend on. */
export type Keyed = Readonly<{
  /** Signals of the strip. */
  signalCount: number;
  /** Something can be picked. */
  isMarking: boolean;
  /** By so much of the strip; of rows; of pages; of what places something exactly. */
  move: (by: 'strip' | 'row' | 'page' | 'fine', times: number) => void;
  toEnd: (end: 'from' | 'to') => void;
  moveDays: (days: number) => void;
  /** Speed, or gain of the chosen signal. */
  more: (by: 1 | -1) => void;
  /** What is chosen in the list, a mark, the worst quality. */
  go: (forward: boolean, to?: 'jumpMark' | 'jumpWorst') => void;
  toTime: () => void;
  calipers: () => void;
  setEnd: (end: 'from' | 'to') => void;
  /** 0: of all signals, 1: the first. */
  chooseSignal: (digit: number) => void;
  /** Picks the middle of the strip. */
  mark: (beat: 'added' | null) => void;
  nextBeat: (forward: boolean) => void;
  /** Goes on with what is picked; null: nothing is. */
  goOn: (() => void) | null;
  /** Ends what was begun last; null: nothing was. */
  escape: (() => void) | null;
}>;

/** A letter is small or a capital by Shift alone: Caps Lock would turn it round. */
const keyOf = ({ key, shiftKey }: KeyboardEvent): string => (key.length > 1 ? key : shiftKey ? key.toUpperCase() : key.toLowerCase());

/** @returns null: the key is not ours */
export function actionOf(event: KeyboardEvent, of: Keyed): (() => void) | null {
  // Many keyboards have square brackets behind AltGr, which some systems report as Ctrl with Alt, or behind Option.
  const isBracket = event.altKey && (event.key === '[' || event.key === ']');
  if ((event.ctrlKey || event.metaKey || event.altKey) && !isBracket) return null;
  const digit = /^\d$/.test(event.key) ? Number(event.key) : null;
  if (digit !== null && of.signalCount > 1 && digit <= of.signalCount) return () => of.chooseSignal(digit);
  const ofMarks: Readonly<Record<string, (() => void) | null>> = {
    m: () => of.mark(null),
    a: () => of.mark('added'),
    b: () => of.nextBeat(true),
    B: () => of.nextBeat(false),
    Enter: of.goOn,
  };
  const actions: Readonly<Record<string, (() => void) | null>> = {
    ArrowLeft: () => of.move('strip', event.shiftKey ? -1 : -0.25),
    ArrowRight: () => of.move('strip', event.shiftKey ? 1 : 0.25),
    ArrowUp: () => of.move('row', -1),
    ArrowDown: () => of.move('row', 1),
    PageUp: () => of.move('page', -1),
    PageDown: () => of.move('page', 1),
    ',': () => of.move('fine', -1),
    '.': () => of.move('fine', 1),
    Home: () => of.toEnd('from'),
    End: () => of.toEnd('to'),
    '+': () => of.more(1),
    '-': () => of.more(-1),
    n: () => of.go(true),
    p: () => of.go(false),
    N: () => of.go(true, 'jumpMark'),
    P: () => of.go(false, 'jumpMark'),
    w: () => of.go(true, 'jumpWorst'),
    W: () => of.go(false, 'jumpWorst'),
    g: of.toTime,
    c: of.calipers,
    d: () => of.moveDays(1),
    D: () => of.moveDays(-1),
    '[': () => of.setEnd('from'),
    ']': () => of.setEnd('to'),
    ...(of.isMarking ? ofMarks : {}),
    Escape: of.escape,
  };
  return actions[keyOf(event)] ?? null;
}
