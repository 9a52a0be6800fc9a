/** The report alone, without the frame of the dashboard: `biosignal report` prints it. Person and range are in the fragment,
 *  which no request and no log sees. The attribute `data-report` of the page says when it can be printed, or that it cannot;
 *  `data-notice` and `data-page-of` are for the foot of each page; `data-note` is a sentence for the person who prints it. */
import { html, render } from 'lit-html';
import '../widgets/bio-widgets.ts';
import { Session } from '../widgets/shared/session.ts';
import { locale, problemOf, t } from './language.ts';
import { versionOf } from './pages/report.ts';
import { readReport } from './report/report-data.ts';
import { earlierNote, isComplete, partialNote, ReportView } from './report/report-view.ts';

const LOOK_EVERY_MS = 100;
/** So often it is looked for the charts and strips: a minute. */
const LOOKS_MAX = 600;

const app = document.querySelector<HTMLElement>('#app')!;
const asked = new URLSearchParams(location.hash.slice(1));
const page = document.documentElement.dataset;

function end(state: 'ready' | 'failed', problem = ''): void {
  page['problem'] = problem;
  page['notice'] = t('Not a medical device and no diagnosis.');
  page['pageOf'] = t('Page {page} of {pages}', { page: '{page}', pages: '{pages}' });
  page['report'] = state;
}

async function show(): Promise<void> {
  const subject = { subjectId: asked.get('subject') ?? '', projectId: asked.get('project') ?? '' };
  const session = new Session(location.origin, { mode: 'operator', ...subject });
  const nowMs = Date.now();
  const [data, version] = await Promise.all([readReport(session, asked, nowMs), versionOf()]);
  document.title = t('Report, {name}', { name: data.user.display_name || data.user.external_id });
  app.replaceChildren();
  const view = new ReportView(data, locale).view(nowMs, version);
  render(html`<bio-provider .operator=${subject}>${view}</bio-provider>`, app);
  for (let look = 0; look < LOOKS_MAX && !isComplete(document); look++)
    await new Promise<void>((resolve) => {
      globalThis.setTimeout(resolve, LOOK_EVERY_MS);
    });
  const notes = [
    ...(data.endsWith === null ? [] : [earlierNote(data.endsWith)]),
    ...(data.computedToMs === null ? [] : [partialNote(data, locale)]),
  ];
  if (notes.length > 0) page['note'] = notes.join(' ');
  if (isComplete(document)) end('ready');
  else end('failed', t('the charts and strips were not there within a minute'));
}

// Another person or range: what is shown must not stay under its address.
globalThis.addEventListener('hashchange', () => location.reload());
show().catch((error: unknown) => {
  const problem = error instanceof RangeError ? error.message : problemOf(error);
  app.textContent = problem;
  end('failed', problem);
});
