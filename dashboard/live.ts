/** The page that `npm start` prints: the live monitor of the demo's patient. */
import { html, nothing, render } from 'lit-html';
import type { BioProvider } from '../widgets/provider/provider.ts';
import { fetchDemoSession } from './demo-session.ts';
import { drawOnce } from './draw-once.ts';
import { locale, t } from './language.ts';
import { languageMenu } from './language-menu.ts';
import { filtersOf } from './live-view.ts';
import { LiveMonitor } from './monitor.ts';
import { paperFoot } from './paper-foot.ts';

const provider = document.querySelector<BioProvider>('#provider')!;
const app = document.querySelector<HTMLElement>('#app')!;
app.replaceChildren();

let problem: string | null = null;
const queueDraw = drawOnce(() => draw());
const monitor = new LiveMonitor(locale, queueDraw, new URLSearchParams(location.search), (view) => {
  // What else the address says, such as its language, stays.
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(filtersOf(view))) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  history.replaceState(null, '', `${location.pathname}${query.size === 0 ? '' : `?${query.toString()}`}${location.hash}`);
});

function draw(): void {
  // Nothing connects without a session: what was shown until the last one ended stays.
  const isRefused = problem !== null && provider.session === null;
  render(
    html`<header class="top">
        <a class="brand" href="/dashboard/">
          <svg viewBox="0 0 32 20" aria-hidden="true"><path d="M1 11h7l2-5 4 13 4-18 3 10h10" /></svg><span>biosignal</span>
        </a>
        <h1>${t('Live monitor')}</h1>
        <p class="who">${t('Demo patient, simulated device')}</p>
        ${isRefused ? nothing : monitor.status()} ${languageMenu()} <a class="to-dashboard" href="/dashboard/">${t('Dashboard')}</a>
      </header>
      ${problem === null ? nothing : html`<p class="problem" role="alert">${problem} <a href="/dashboard/">${t('Sign in')}</a></p>`}
      <main>${isRefused ? nothing : monitor.view()}</main>
      <footer class="notice">${t('No alarms. Not a medical device.')}</footer>
      ${paperFoot}`,
    app,
  );
}

async function renew(): Promise<void> {
  const session = await fetchDemoSession().catch(() => null);
  problem =
    session === null
      ? t(
          'This page shows the person of the demo: open the address that the service printed at startup. Those whom your own devices measure are shown once you have signed in.',
        )
      : null;
  queueDraw();
  if (session === null) return;
  provider.setAttribute('sdk-key', session.sdk_key);
  provider.xuserToken = session.xuser_token;
}

document.addEventListener('bio:token:expiring', () => void renew());
draw();
await renew();
await Promise.resolve();
if (provider.session !== null) monitor.start(provider.session, (await provider.session.identity()).subjectId);
