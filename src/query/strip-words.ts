/** The words on a strip, in the languages of the dashboard. */

export const stripLanguages = ['en', 'de', 'fr', 'es'] as const;
export type StripLanguage = (typeof stripLanguages)[number];

type StripWords = Readonly<{ beats: string; key: string }>;

/** Short: a line below the narrowest strip has about 65 letters. */
export const stripWords: Readonly<Record<StripLanguage, StripWords>> = {
  en: { beats: 'beats', key: 'V: ectopic, x: artefact; hatched: suspect; dashed: unusable' },
  de: { beats: 'Schläge', key: 'V: Extrasystole, x: Artefakt; schraffiert: fraglich; gestrichelt: unbrauchbar' },
  fr: { beats: 'battements', key: 'V : extrasystole, x : artefact ; hachuré : douteux ; tirets : inutilisable' },
  es: { beats: 'latidos', key: 'V: extrasístole, x: artefacto; rayado: dudoso; a trazos: inutilizable' },
};
