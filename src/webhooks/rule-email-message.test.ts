/** The message of rules, in each language that it is sent in. */
import { expect, it } from 'vitest';
import { mailLanguages, writeMessage } from './rule-email-message.ts';

const line = { id: '1', episode: 'e1', title: 'Fast\u202E, at night', severity: 'high', began: '2026-03-01T22:30:00Z', status: 'open' };
const message = { project: 'Ward 3', time_zone: 'Europe/Berlin', lines: [line] };

it.each([
  ['en', 'an episode was opened', 'Fast, at night (high), began 1 Mar 2026, 23:30 (Europe/Berlin), still open'],
  ['de', 'eine Episode wurde eröffnet', 'Fast, at night (hoch), begann 01.03.2026, 23:30 (Europe/Berlin), noch offen'],
  ['fr', 'un épisode a été ouvert', 'Fast, at night (élevée), commencé le 1 mars 2026, 23:30 (Europe/Berlin), toujours en cours'],
  ['es', 'se ha abierto un episodio', 'Fast, at night (alta), empezó el 1 mar 2026, 23:30 (Europe/Berlin), sigue abierto'],
] as const)('is written in %s', (language, subject, list) => {
  const mail = writeMessage(message, language, 'https://bio.example');
  expect(mail.subject).toBe(`biosignal: ${subject}`);
  expect(mail.text).toContain(`- ${list}\n  https://bio.example/dashboard/#/episodes/e1\n`);
});

it('does not say that someone has reviewed an episode that is over, nor that it lasted until now: its rule may have ended it long ago', () => {
  const said = mailLanguages.map((language) => writeMessage({ ...message, lines: [{ ...line, status: 'closed' }] }, language, '').text);
  for (const text of said) expect(text).not.toMatch(/reviewed|geprüft|examiné|revisado/);
  for (const [i, word] of ['has ended\n', 'inzwischen beendet\n', 'terminé depuis\n', 'ya terminado\n'].entries())
    expect(said[i]).toContain(word);
});

it('says in every language what it is not, and counts', () => {
  const texts = mailLanguages.map((language) => writeMessage({ ...message, lines: [line, line] }, language, '').text);
  expect(new Set(texts).size).toBe(mailLanguages.length);
  for (const text of texts) expect(text).toMatch(/medical device|Medizinprodukt|dispositif médical|producto sanitario/);
  for (const text of texts) expect(text.split('\n\n')[0]).toContain('2 ');
});
