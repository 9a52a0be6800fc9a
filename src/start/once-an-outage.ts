/** Tells a fault once for as long as it lasts. Who waits for the database asks again every second or so, and fails as often. */

/** What has not come for so long is told when it comes again, ms. */
const OVER_MS = 60_000;
/** Reasons that are remembered; beyond it they are forgotten, and told again. */
const REASONS_MAX = 100;

/** @param tell is called with the first of the errors that have the same message, until none came for a minute */
export function onceAnOutage(tell: (error: unknown) => void, nowMs: () => number = () => performance.now()): (error: unknown) => void {
  const lastMs = new Map<string, number>();
  return (error) => {
    const reason = error instanceof Error ? error.message : String(error);
    const isTold = nowMs() - (lastMs.get(reason) ?? -Infinity) < OVER_MS;
    if (lastMs.size >= REASONS_MAX) lastMs.clear();
    lastMs.set(reason, nowMs());
    if (!isTold) tell(error);
  };
}
