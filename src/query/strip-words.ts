/** The words on a strip, in the languages of the dashboard. */

export const stripLanguages = ['en', 'de', 'fr', 'es'] as const;
export type StripLanguage = (typeof stripLanguages)[number];

/** Above beats that are not of normal origin, in the order of the key. */
export const stripLetters = ['V', 'S', 'E', 'Q', 'x', 'i', '?'] as const;
export type StripLetter = (typeof stripLetters)[number];

type StripWords = Readonly<{
  beats: string;
  letters: Readonly<Record<StripLetter, string>>;
  flags: string;
  /** As the language sets them, with the space before it. */
  colon: string;
  semicolon: string;
}>;

const closed = { colon: ':', semicolon: ';' } as const;

export const stripWords: Readonly<Record<StripLanguage, StripWords>> = {
  en: {
    beats: 'beats',
    letters: { V: 'ventricular', S: 'supraventricular', E: 'early', Q: 'not determined', x: 'artefact', i: 'interpolated', '?': 'suspect' },
    flags: 'hatched: suspect; dashed: unusable',
    ...closed,
  },
  de: {
    beats: 'Schläge',
    letters: {
      V: 'ventrikulär',
      S: 'supraventrikulär',
      E: 'vorzeitig',
      Q: 'nicht bestimmt',
      x: 'Artefakt',
      i: 'interpoliert',
      '?': 'fraglich',
    },
    flags: 'schraffiert: fraglich; gestrichelt: unbrauchbar',
    ...closed,
  },
  fr: {
    beats: 'battements',
    letters: {
      V: 'ventriculaire',
      S: 'supraventriculaire',
      E: 'prématuré',
      Q: 'non déterminé',
      x: 'artefact',
      i: 'interpolé',
      '?': 'douteux',
    },
    flags: 'hachuré : douteux ; tirets : inutilisable',
    colon: ' :',
    semicolon: ' ;',
  },
  es: {
    beats: 'latidos',
    letters: {
      V: 'ventricular',
      S: 'supraventricular',
      E: 'prematuro',
      Q: 'no determinado',
      x: 'artefacto',
      i: 'interpolado',
      '?': 'dudoso',
    },
    flags: 'rayado: dudoso; a trazos: inutilizable',
    ...closed,
  },
};
