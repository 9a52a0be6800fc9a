/** Picks the media type of an answer from Accept (RFC 9110 section 12.5.1). */
import { PipelineError } from '../errors.ts';

/** @param accept the header, '' when absent  @param offered media types without parameters, the preferred first
 *  @returns the one of `offered` with the highest quality; the earlier one where several have it
 *  @throws PipelineError not_acceptable when none is acceptable */
export function pickMediaType<T extends string>(accept: string, offered: readonly T[]): T {
  const ranges = accept
    .toLowerCase()
    .split(',')
    .map((part) => {
      const [range = '', ...parameters] = part.split(';').map((item) => item.trim());
      const q = parameters.map((item) => /^q=([\d.]+)$/.exec(item)?.[1]).find((item) => item !== undefined);
      return { range, quality: q === undefined ? 1 : Number(q) };
    })
    .filter(({ range }) => range !== '');
  let best: T | null = null;
  let bestQuality = 0;
  for (const type of offered) {
    const quality = ranges.length === 0 ? 1 : qualityOf(type, ranges);
    if (quality > bestQuality) {
      best = type;
      bestQuality = quality;
    }
  }
  if (best === null) throw new PipelineError('not_acceptable', `Can be produced: ${offered.join(', ')}.`);
  return best;
}

/** The most specific range that covers the type decides. */
function qualityOf(type: string, ranges: readonly Readonly<{ range: string; quality: number }>[]): number {
  const group = `${type.slice(0, type.indexOf('/'))}/*`;
  for (const wanted of [type, group, '*/*']) {
    const found = ranges.find(({ range }) => range === wanted);
    if (found !== undefined) return found.quality;
  }
  return 0;
}
