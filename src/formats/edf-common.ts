/** Names shared by the reader and the writer of EDF. */

export const ANNOTATIONS_LABEL = 'EDF Annotations';
/** Years that two digits stand for. */
export const YEAR_SHORT_MIN = 1985;
export const YEAR_SHORT_MAX = 2084;

export type EdfAnnotation = Readonly<{
  /** Seconds after the start of the first record. */
  onsetSec: number;
  /** NaN where the file states none. */
  durationSec: number;
  text: string;
}>;
