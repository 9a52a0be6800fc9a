/** The recordings of a person before and after one of them, in the order in which they began. */
import { callList, callNext } from './service.ts';
import type { Stream } from './service.ts';

export type Neighbours = Readonly<{ before: Stream | null; after: Stream | null }>;

const PAGE = 50;
/** A list in which the recording itself does not come is given up after so many pages: it was erased meanwhile. */
const PAGES_MAX = 20;

/** @param stream begun; one of which nothing is stored yet has no neighbours */
export async function neighboursOf(stream: Stream): Promise<Neighbours> {
  if (stream.recorded_from === null) return { before: null, after: null };
  const [before, after] = await Promise.all([nextTo(stream, 'newest'), nextTo(stream, 'oldest')]);
  return { before, after };
}

/** The first that has something to show behind a recording in a list. Two that began together keep the order of the list. */
async function nextTo({ id, subject_id: person, recorded_from: from }: Stream, sort: 'newest' | 'oldest'): Promise<Stream | null> {
  // `until` leaves out what begins then, and times are given to the microsecond.
  const narrowed = sort === 'newest' ? { until: new Date(Date.parse(from!) + 1).toISOString() } : { since: from! };
  let page = await callList('/api/v1/streams', { query: { subject_id: person, sort, limit: PAGE, ...narrowed } });
  let isBehind = false;
  for (let pages = 1; ; pages++) {
    for (const stream of page.items) {
      if (isBehind && stream.recorded_from !== null && stream.channels.length > 0) return stream;
      isBehind ||= stream.id === id;
    }
    if (page.next === null || pages === PAGES_MAX) return null;
    page = await callNext('/api/v1/streams', page.next);
  }
}
