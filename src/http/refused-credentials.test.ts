import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { logRefusedCredentials } from './refused-credentials.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
afterEach(() => void vi.useRealTimers());

// job: refusals
it('reports once a minute which addresses were refused, and ignores a single mistake', () => {
  const lines: object[] = [];
  const refused = logRefusedCredentials({ warn: (fields: object) => void lines.push(fields) });
  for (let i = 0; i < 4; i++) refused.note('credential_invalid', '10.0.0.1');
  refused.note('credential_invalid', '10.0.0.2');
  vi.advanceTimersByTime(59_000);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(2000);
  expect(lines).toEqual([{ address: '10.0.0.1', count: 4 }]);
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(1);
  refused.stop();
});
