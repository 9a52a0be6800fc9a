/** Which recordings of a person go on now. */
import { isLive } from '../widgets/recording/recording-source.ts';
import type { Session } from '../widgets/shared/session.ts';
import type { Stream } from './service.ts';

/** What goes on has samples of this time; clocks of browsers are wrong by less. */
const RECENT_MS = 86_400_000;

/** The recordings among which those are that go on: one may have begun long before many others. */
export const recentOf = (subjectId: string) => ({
  subject_id: subjectId,
  since: new Date(Date.now() - RECENT_MS).toISOString(),
  limit: 100,
});

export async function liveStreams(session: Session, subjectId: string): Promise<readonly Stream[]> {
  return (await session.get('/api/v1/streams', { query: recentOf(subjectId) })).filter(isLive);
}
