/** The live feed of a session, shared by all who watch it. Apart from the session, so that pages without live widgets carry neither the
 *  feed nor its decoder. */
import { ApiError } from '../../sdk/fetch-json.ts';
import { startLiveFeed } from './live-feed.ts';
import type { LiveState } from './live-feed.ts';
import type { LiveListener, Session } from './session.ts';

/** Joins the one live socket of a session; it is opened for the first listener and closed after the last. Returns how to leave. */
export function joinLive(session: Session, listener: LiveListener): () => void {
  const { live } = session;
  live.listeners.add(listener);
  if (live.feed === null) void open(session);
  else listener.state?.(live.state, '');
  return () => {
    live.listeners.delete(listener);
    // A widget that moves in the page leaves and joins in one task; keep the socket for it.
    setTimeout(() => {
      if (live.listeners.size > 0) return;
      live.feed?.close();
      live.feed = null;
    });
  };
}

async function open(session: Session): Promise<void> {
  const { live } = session;
  const onState = (state: LiveState, detail: string): void => {
    live.state = state;
    for (const listener of live.listeners) listener.state?.(state, detail);
  };
  try {
    await session.openFeed(startLiveFeed, {
      onState,
      onFrame: (frame, nowMs) => {
        for (const listener of live.listeners) listener.frame?.(frame, nowMs);
      },
    });
  } catch (error) {
    const refused = error instanceof ApiError && error.status !== 0;
    onState(refused ? 'refused' : 'offline', refused ? error.message : '');
  }
}
