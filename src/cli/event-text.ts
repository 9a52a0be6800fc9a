/** Writes an annotation as the text of an event: events have no duration of their own, so it goes at the end of the text. */
import { fitText } from '../text.ts';

/** The wire format's limit, bytes of UTF-8. */
const TEXT_BYTES_MAX = 256;

/** `Sleep stage W; duration 30 s`. A text that is too long is cut, but never its duration.
 *  @param durationSec NaN or absent: none */
export function eventText(text: string, durationSec = Number.NaN): string {
  const tail = Number.isNaN(durationSec) ? '' : `; duration ${durationSec.toFixed(9).replace(/\.?0+$/, '')} s`;
  return fitText(text, 'text', TEXT_BYTES_MAX - tail.length) + tail;
}

/** The parts of such a text; durationSec is NaN where it states none. */
export function readEventText(content: string): Readonly<{ text: string; durationSec: number }> {
  const match = /^(.*); duration (\d{1,9}(?:\.\d{1,9})?) s$/s.exec(content);
  return match === null ? { text: content, durationSec: Number.NaN } : { text: match[1]!, durationSec: Number(match[2]) };
}
