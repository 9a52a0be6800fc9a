/** The message of rules about episodes that they opened, in plain text, in the language of BIO_MAIL_LANGUAGE.
 *
 *  It names no person and no value, because mail is read by others on its way; it has links for those who may sign in. */
import { withoutDirections } from '../text.ts';

export const mailLanguages = ['en', 'de', 'fr', 'es'] as const;
export type MailLanguage = (typeof mailLanguages)[number];

/** An episode of the message. @param began ISO 8601 */
export type Line = Readonly<{ id: string; episode: string; title: string; severity: string; began: string; status: string }>;
export type Message = Readonly<{ project: string; time_zone: string; lines: readonly Line[] }>;

type Words = Readonly<{
  /** For Intl. */
  locale: string;
  subject: (count: number) => string;
  /** Above the list. */
  lead: (count: number, project: string) => string;
  line: (title: string, began: string, status: string) => string;
  severities: Readonly<Record<string, string>>;
  /** Closed is not reviewed: its rule may have ended it, and not just now. */
  statuses: Readonly<Record<string, string>>;
  signIn: string;
  notice: string;
}>;

const words: Readonly<Record<MailLanguage, Words>> = {
  en: {
    locale: 'en-GB',
    subject: (count) => (count === 1 ? 'an episode was opened' : `${count} episodes were opened`),
    lead: (count, project) =>
      `${count === 1 ? 'An episode was opened' : `${count} episodes were opened`} by rules of the project ${project}:`,
    line: (title, began, status) => `${title}, began ${began}, ${status}`,
    severities: { low: 'low', medium: 'medium', high: 'high' },
    statuses: { open: 'still open', closed: 'has ended', cancelled: 'dismissed' },
    signIn: 'Sign in to see whose they are: this message names nobody, because others can read it on its way.',
    notice: 'Not an alarm system. Not a medical device. This message can be late, or never arrive.',
  },
  de: {
    locale: 'de',
    subject: (count) => (count === 1 ? 'eine Episode wurde eröffnet' : `${count} Episoden wurden eröffnet`),
    lead: (count, project) => `Regeln des Projekts ${project} haben ${count === 1 ? 'eine Episode' : `${count} Episoden`} eröffnet:`,
    line: (title, began, status) => `${title}, begann ${began}, ${status}`,
    severities: { low: 'niedrig', medium: 'mittel', high: 'hoch' },
    statuses: { open: 'noch offen', closed: 'inzwischen beendet', cancelled: 'verworfen' },
    signIn: 'Melden Sie sich an, um zu sehen, um wen es geht: Diese Nachricht nennt niemanden, weil andere sie unterwegs lesen können.',
    notice: 'Kein Alarmsystem. Kein Medizinprodukt. Diese Nachricht kann spät oder nie ankommen.',
  },
  fr: {
    locale: 'fr',
    subject: (count) => (count === 1 ? 'un épisode a été ouvert' : `${count} épisodes ont été ouverts`),
    lead: (count, project) =>
      `${count === 1 ? 'Un épisode a été ouvert' : `${count} épisodes ont été ouverts`} par des règles du projet ${project} :`,
    line: (title, began, status) => `${title}, commencé le ${began}, ${status}`,
    severities: { low: 'faible', medium: 'moyenne', high: 'élevée' },
    statuses: { open: 'toujours en cours', closed: 'terminé depuis', cancelled: 'écarté' },
    signIn: 'Connectez-vous pour voir de qui il s’agit : ce message ne nomme personne, car d’autres peuvent le lire en chemin.',
    notice: 'Pas un système d’alarme. Pas un dispositif médical. Ce message peut arriver en retard, ou jamais.',
  },
  es: {
    locale: 'es',
    subject: (count) => (count === 1 ? 'se ha abierto un episodio' : `se han abierto ${count} episodios`),
    lead: (count, project) => `Las reglas del proyecto ${project} han abierto ${count === 1 ? 'un episodio' : `${count} episodios`}:`,
    line: (title, began, status) => `${title}, empezó el ${began}, ${status}`,
    severities: { low: 'baja', medium: 'media', high: 'alta' },
    statuses: { open: 'sigue abierto', closed: 'ya terminado', cancelled: 'descartado' },
    signIn: 'Inicie sesión para ver de quién se trata: este mensaje no nombra a nadie, porque otros pueden leerlo por el camino.',
    notice: 'No es un sistema de alarma. No es un producto sanitario. Este mensaje puede llegar tarde o no llegar nunca.',
  },
};

/** @param publicUrl address of the service, for links */
export function writeMessage(
  { project, time_zone: timeZone, lines }: Message,
  language: MailLanguage,
  publicUrl: string,
): Readonly<{ subject: string; text: string }> {
  const { locale, subject, lead, line, severities, statuses, signIn, notice } = words[language];
  const time = new Intl.DateTimeFormat(locale, { timeZone, dateStyle: 'medium', timeStyle: 'short' });
  const list = lines.map(({ episode, title, severity, began, status }) => {
    const name = `${withoutDirections(title)}${severity === 'none' ? '' : ` (${severities[severity] ?? severity})`}`;
    const words = line(name, `${time.format(new Date(began))} (${timeZone})`, statuses[status] ?? status);
    return `- ${words}\n  ${publicUrl}/dashboard/#/episodes/${episode}`;
  });
  return {
    subject: `biosignal: ${subject(lines.length)}`,
    text: `${[lead(lines.length, withoutDirections(project)), ...list, signIn, notice].join('\n\n')}\n`,
  };
}
