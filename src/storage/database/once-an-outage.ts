/** Tells a fault once for as long as it lasts. Who waits for the database asks again every second or so, and fails as often. */

/** What has not come for so long is told when it comes again, ms. */
const OVER_MS = 60_000;
/** Reasons that are remembered; beyond it they are forgotten, and told again. */
const REASONS_MAX = 100;

/** @returns whether what it is called with is news: it is until none of it came for a minute */
export function newsOfOutages(nowMs: () => number = () => performance.now()): (reason: string) => boolean {
  const lastMs = new Map<string, number>();
  return (reason) => {
    const isNews = nowMs() - (lastMs.get(reason) ?? -Infinity) >= OVER_MS;
    if (lastMs.size >= REASONS_MAX) lastMs.clear();
    lastMs.set(reason, nowMs());
    return isNews;
  };
}

/** @param tell is called with the first of the errors that have the same message, until none came for a minute */
export function onceAnOutage(tell: (error: unknown) => void, nowMs?: () => number): (error: unknown) => void {
  const isNews = newsOfOutages(nowMs);
  return (error) => {
    if (isNews(error instanceof Error ? error.message : String(error))) tell(error);
  };
}
