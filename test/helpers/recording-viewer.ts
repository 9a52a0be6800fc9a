/** The viewer of a recording in a real Chromium, on a recording that was sent as packets, with an ectopic beat, a gap and an annotation. */
import type { BrowserContextOptions, Page } from 'playwright-core';
import { startDashboard } from './dashboard.ts';
import type { DashboardFixture, Opened } from './dashboard.ts';
import { sendViewed, startMs } from './viewed-recording.ts';

export type ViewerFixture = Readonly<{
  dashboard: DashboardFixture;
  /** Ids of the recording and of its person. */
  stream: string;
  person: string;
  /** @param query of the page's address, such as `?at=...` */
  openViewer: (query?: string, options?: BrowserContextOptions) => Promise<Opened>;
}>;

export async function startViewer(): Promise<ViewerFixture> {
  const dashboard = await startDashboard();
  const { stream, person } = await sendViewed(dashboard);
  const openViewer = async (query = '', options: BrowserContextOptions = {}): Promise<Opened> => {
    const opened = await dashboard.open(`/dashboard/#/recordings/${stream}${query}`, {
      storageState: dashboard.signedIn,
      timezoneId: 'UTC',
      ...options,
    });
    await opened.page.locator('bio-recording[data-state=ready]').waitFor();
    return opened;
  };
  return { dashboard, stream, person, openViewer };
}

/** Where the address says that one is, seconds after the beginning. */
export const shownSec = async (page: Page): Promise<number> => {
  const query = new URLSearchParams(new URL(page.url()).hash.split('?')[1] ?? '');
  return (Date.parse(query.get('at') ?? '') - startMs) / 1000;
};

export async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env['BIO_TEST_PICTURES'];
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
}
