/** The live monitor of one subject: traces, heart rate, HRV, and how far to trust them. */
import { html, nothing, render } from 'lit-html';
import '../widgets/bio-widgets.ts';
import type { BioProvider } from '../widgets/provider/provider.ts';
import { formatAge, formatValue } from '../widgets/shared/format.ts';
import type { LiveChannel, LiveFrame, LiveState } from '../widgets/shared/live-feed.ts';
import { qualityMark } from '../widgets/shared/quality.ts';
import { localeOf, textFor } from '../widgets/shared/strings.ts';
import { fetchDemoSession } from './demo-session.ts';

/** What the right-hand column shows, in order; a tile appears when its feature first arrives, the first two always. */
const tiles = [
  { feature: 'hr_ecg', label: 'Heart rate', unit: '/min', title: 'bpm', staleMs: 5000, always: true },
  { feature: 'hrv_rmssd_60s', label: 'HRV · RMSSD, 60 s', unit: 'ms', title: 'ms', staleMs: 30_000, always: true },
  { feature: 'hrv_sdnn_300s', label: 'HRV · SDNN, 5 min', unit: 'ms', title: 'ms', staleMs: 60_000, always: false },
  { feature: 'hr_ppg', label: 'Pulse rate, PPG', unit: '/min', title: 'bpm', staleMs: 5000, always: false },
  { feature: 'resp_rate', label: 'Respiratory rate', unit: '/min', title: '/min', staleMs: 30_000, always: false },
] as const;

const provider = document.querySelector<BioProvider>('#provider')!;
const app = document.querySelector<HTMLElement>('#app')!;
app.replaceChildren();
const locale = localeOf(document.documentElement.lang);

type Latest = { value: number; qmask: number; timeMs: number; atMs: number };
const latest = new Map<string, Latest>();
const channels = new Map<string, LiveChannel>();
let state: LiveState = 'connecting';
let lagMs = 0;
let dropped = 0;
let problem: string | null = null;
let gain = 10;

function take(frame: LiveFrame, nowMs: number): void {
  for (const feature of frame.features) {
    const known = latest.get(feature.name);
    if (known === undefined || feature.timeMs >= known.timeMs) latest.set(feature.name, { ...feature, atMs: nowMs });
  }
  for (const channel of frame.channels) {
    if (channels.get(channel.id)?.rateHz !== channel.rateHz) {
      channels.set(channel.id, channel);
      queueDraw();
    }
  }
  const endMs = Number(frame.t0Ns) / 1e6 + frame.durationMs;
  // The service's own measure where it has one, else the wall clocks of both sides.
  const lag = frame.lagMs > 0 ? frame.lagMs : Math.max(0, Date.now() - endMs);
  lagMs = lagMs === 0 ? lag : lagMs * 0.9 + lag * 0.1;
  dropped += frame.droppedFrames;
}

let queued = false;
function queueDraw(): void {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    draw();
  });
}

const stateWords = {
  connecting: 'connecting',
  live: 'live',
  stale: 'signalLost',
  offline: 'notConnected',
  refused: 'refused',
  closed: 'notConnected',
} as const;

function draw(): void {
  const nowMs = performance.now();
  const traces = [...channels.values()].filter((channel) => channel.kind !== 'acc' && channel.kind !== 'gyro').slice(0, 8);
  render(
    html`<header class="top">
        <div class="brand">
          <svg viewBox="0 0 32 20" aria-hidden="true"><path d="M1 11h7l2-5 4 13 4-18 3 10h10" /></svg>biosignal
        </div>
        <h1>Live monitor</h1>
        <p class="who">Demo patient, simulated device</p>
        <p class="link ${state}" role="status"><span class="dot" aria-hidden="true"></span>${textFor(locale, stateWords[state])}</p>
        <p class="lag">
          ${state === 'live' ? textFor(locale, 'delay', { time: lagMs < 1000 ? `${Math.round(lagMs)} ms` : `${(lagMs / 1000).toFixed(1)} s` }) : ''}
          ${dropped > 0 ? html` · ${dropped} frames left out` : nothing}
        </p>
      </header>
      ${problem === null ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
      <main>
        <section class="traces" aria-label="Traces">
          <div class="tools">
            <label>
              Gain
              <select
                @change=${(event: Event) => {
                  gain = Number((event.target as HTMLSelectElement).value);
                  queueDraw();
                }}
              >
                ${[5, 10, 20].map((value) => html`<option value=${value} ?selected=${value === gain}>${value} mm/mV</option>`)}
              </select>
            </label>
            <p class="legend">
              <span>${qualityMark(0, locale)}</span><span>${qualityMark(1, locale)}: thin, hatched</span
              ><span>${qualityMark(2, locale)}: gap</span>
            </p>
          </div>
          ${
            traces.length === 0
              ? html`<bio-live-trace channel="ecg" gain=${gain}></bio-live-trace>`
              : traces.map((channel) => html`<bio-live-trace class=${channel.kind} channel=${channel.id} gain=${gain}></bio-live-trace>`)
          }
        </section>
        <section class="vitals" aria-label="Values">${tiles.map((tile) => drawTile(tile, nowMs))}</section>
      </main>`,
    app,
  );
}

function drawTile(tile: (typeof tiles)[number], nowMs: number) {
  const value = latest.get(tile.feature);
  if (value === undefined && !tile.always) return nothing;
  const ageMs = value === undefined ? Infinity : nowMs - value.atMs;
  const old = ageMs > tile.staleMs;
  const usable = value !== undefined && value.qmask < 2 && Number.isFinite(value.value);
  return html`<article class="tile ${old ? 'old' : ''}" data-feature=${tile.feature}>
    <h2>${tile.label}</h2>
    <p class="number">
      <output>${usable ? formatValue(locale, value.value, tile.unit) : '--'}</output>
      <span class="unit">${tile.title}</span>
    </p>
    <p class="foot">
      ${value === undefined ? html`<span class="muted">waiting for enough beats</span>` : qualityMark(value.qmask, locale)}
      ${old && value !== undefined ? html`<span class="muted">${formatAge(locale, Date.now() - ageMs, Date.now())}</span>` : nothing}
    </p>
  </article>`;
}

async function renewDemo(): Promise<void> {
  const session = await fetchDemoSession().catch(() => null);
  if (session === null) {
    problem = 'Open the address that the service printed when it started.';
    queueDraw();
    return;
  }
  problem = null;
  provider.setAttribute('sdk-key', session.sdk_key);
  provider.xuserToken = session.xuser_token;
}

document.addEventListener('bio:token:expiring', () => void renewDemo());
draw();
await renewDemo();
await Promise.resolve();
provider.session?.live({
  frame: take,
  state: (next) => {
    state = next;
    queueDraw();
  },
});
setInterval(queueDraw, 500);
