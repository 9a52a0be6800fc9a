import { expect, it } from 'vitest';
import { logBusFaults } from './bus-faults.ts';

it('ten thousand faults of a minute are one line, and the next minute says how many they were', () => {
  const lines: object[] = [];
  let nowMs = 0;
  const note = logBusFaults({ error: (line: object) => void lines.push(line) } as never, () => nowMs);
  const first = new Error('damaged');
  for (let i = 0; i < 10_000; i++) note(i === 0 ? first : new Error('again'));
  expect(lines).toEqual([{ err: first }]);
  nowMs = 60_001;
  const later = new Error('later');
  note(later);
  expect(lines.slice(1)).toEqual([{ err: later, unsaid: 9999 }]);
});
