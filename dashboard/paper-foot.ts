/** The line that every printed page ends with: when it was printed, by which clocks, and what it is not. Not shown on a screen. */
import { locale, t } from './language.ts';

export const paperFoot = document.createElement('p');
paperFoot.className = 'paper-foot';

const write = (): void => {
  const now = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }).format(Date.now());
  paperFoot.textContent = `${t('Printed {time}', { time: now })}. ${t('No alarms. Not a medical device.')}`;
};
write();
// At once: a page is printed before the next frame.
matchMedia('print').addEventListener('change', write);
globalThis.addEventListener('beforeprint', write);
