import { expect, it } from 'vitest';
import { actionOf, type Keyed } from './recording-keys.ts';

const pressed = (key: string, shiftKey: boolean): readonly string[] => {
  const did: string[] = [];
  const note =
    (name: string) =>
    (...with_: readonly (string | number | boolean | null | undefined)[]): void =>
      void did.push([name, ...with_.filter((one) => one !== undefined)].join(' '));
  const keyed: Keyed = {
    signalCount: 2,
    isMarking: true,
    move: note('move'),
    toEnd: note('toEnd'),
    moveDays: note('moveDays'),
    more: note('more'),
    go: note('go'),
    toTime: note('toTime'),
    calipers: note('calipers'),
    setEnd: note('setEnd'),
    chooseSignal: note('chooseSignal'),
    mark: note('mark'),
    nextBeat: note('nextBeat'),
    goOn: null,
    escape: null,
  };
  actionOf({ key, shiftKey, ctrlKey: false, metaKey: false, altKey: false } as KeyboardEvent, keyed)?.();
  return did;
};

it('does the same with Caps Lock, which sends capitals without Shift and small letters with it', () => {
  for (const letter of 'nwgcdmabp') {
    const did = pressed(letter, false);
    expect(did, letter).toHaveLength(1);
    expect(pressed(letter.toUpperCase(), false), letter).toEqual(did);
  }
  for (const letter of 'nwdbp') {
    const did = pressed(letter.toUpperCase(), true);
    expect(did, letter).not.toEqual(pressed(letter, false));
    expect(pressed(letter, true), letter).toEqual(did);
  }
});
