/** The last lines of a run in CI are the messages of what failed, without the differences above them: a message says what differs. */
import { expect, it } from 'vitest';

it('a comparison that fails names what it found', async () => {
  const complaints = [{ kind: 'values', text: 'stream 4 has 17 rows more than the clean service' }];
  expect(() => expect(complaints).toEqual([])).toThrow(complaints[0]!.text);
  const beds = ['bed-01', 'bed-02', 'bed-03', 'bed-04 next to the door'];
  await expect(expect.poll(() => beds, { timeout: 50, interval: 10 }).toEqual([])).rejects.toThrow(beds[3]);
});
