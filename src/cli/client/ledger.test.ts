import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Ledger, LedgerWriter } from './ledger.ts';

it('is read in pieces: no line is lost or torn, whatever bytes a piece ends in', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bio-ledger-'));
  const name = join(folder, 'run');
  const writer = new LedgerWriter(name);
  const count = 8000; // 3 MB of lines
  for (let seq = 0; seq < count; seq++) {
    const key = { deviceId: 'Gerät-ü€', bootId: 'b', seq };
    writer.sent(key, Uint8Array.of(seq & 255, seq >> 8));
    if (seq % 3 !== 0) writer.settled(key, 'accepted');
  }
  writer.close();
  appendFileSync(`${name}.jsonl`, '{"e":"done","d":"Ger'); // a client that was killed
  const ledger = new Ledger(name);
  const [entries] = [...ledger.streams.values()];
  expect(ledger.streams.size).toBe(1);
  expect(entries!.map(({ key }) => key.seq)).toEqual(Array.from({ length: count }, (_, seq) => seq));
  expect(entries!.filter(({ answer }) => answer === null).length).toBe(Math.ceil(count / 3));
  expect(ledger.readPackets(entries!.slice(-1))).toEqual([Uint8Array.of((count - 1) & 255, (count - 1) >> 8)]);
  rmSync(folder, { recursive: true });
});
