/** The live feed of a session, shared by all who watch it, over the connection of the SDK. Apart from the session, so that pages without
 *  live widgets carry neither the connection nor its decoder. */
import { ApiError } from '../../sdk/fetch-json.ts';
import { openLiveConnection } from '../../sdk/live-connection.ts';
import type { ConnectionState } from '../../sdk/live-connection.ts';
import { afterStatus, backoffMs } from '../../sdk/retry.ts';
import { shownFrame } from './live-frame.ts';
import type { LiveListener, Session } from './session.ts';

/** Joins the one live socket of a session; it is opened for the first listener and closed after the last. Returns how to leave. */
export function joinLive(session: Session, listener: LiveListener): () => void {
  const { live } = session;
  live.listeners.add(listener);
  if (live.feed !== null || live.opening) listener.state?.(live.state, '');
  else void open(session);
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

/** @param attempt failures before this one */
async function open(session: Session, attempt = 0): Promise<void> {
  const { live } = session;
  live.opening = true;
  if (attempt === 0) live.state = 'connecting'; // it may be left from the connection before
  const onState = (state: ConnectionState, detail: string): void => {
    live.state = state === 'waiting' ? 'offline' : state;
    for (const listener of live.listeners) listener.state?.(live.state, detail);
  };
  try {
    const address = await session.liveAddress();
    live.opening = false;
    if (live.listeners.size === 0) return;
    const feed = openLiveConnection({
      ...address,
      // All that is held: a trace of seconds a centimetre would take a minute to fill.
      after: 0,
      onFrame: (received, nowMs) => {
        const frame = shownFrame(received);
        for (const listener of live.listeners) listener.frame?.(frame, nowMs);
      },
      onMessage: ({ oldest_seq: oldest }) => {
        // A second later than the oldest: that one goes while the request is on its way.
        if (oldest) feed.tell({ type: 'replay', after: oldest + 9 });
      },
      onState,
    });
    live.feed = feed;
  } catch (error) {
    const refused = error instanceof ApiError && error.status !== 0 && afterStatus(error.status) !== 'retry';
    live.opening = !refused;
    onState(refused ? 'refused' : 'waiting', refused ? error.message : '');
    if (refused) return;
    setTimeout(
      () => {
        if (live.listeners.size > 0) void open(session, attempt + 1);
        else live.opening = false;
      },
      backoffMs(attempt, Math.random()),
    );
  }
}
