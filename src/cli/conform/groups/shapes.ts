/** Forms that answers have. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);

/** The address of the next page, as a path; null on the last. */
export function nextPage(headers: Headers): string | null {
  const next = /<([^>]+)>; *rel="next"/.exec(headers.get('link') ?? '')?.[1];
  if (next === undefined) return null;
  const url = new URL(next, 'http://service.invalid');
  return url.pathname + url.search;
}
