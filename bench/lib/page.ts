/** The page of a run: every goal with the figure next to it, every figure with its spread, every curve drawn. One file, no scripts. */
import { goals, reached, type Goal, type GoalName } from './goals.ts';
import { figure, type BenchCurve, type BenchResult } from './result.ts';

export type BenchRun = Readonly<{
  startedAt: string;
  full: boolean;
  commit: string;
  machine: Readonly<{ cpu: string; cores: number; memoryGiB: number; node: string }>;
  /** Load average of one minute before the first bench; above 0.5 something else was running. */
  loadBefore: number;
  benches: readonly Readonly<{
    file: string;
    status: number | null;
    seconds: number;
    results: readonly BenchResult[];
    curves: readonly BenchCurve[];
    output?: string;
  }>[];
}>;

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

export function drawPage(run: BenchRun): string {
  const { machine } = run;
  const busy =
    run.loadBefore > 0.5
      ? `<p class="warn">The machine was busy before the run (load ${run.loadBefore.toFixed(1)}): trust ratios and CPU seconds more than milliseconds.</p>`
      : '';
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Benches ${escape(run.commit)}</title><style>${STYLE}</style>
<h1>What it costs</h1>
<p>Commit <code>${escape(run.commit)}</code>, ${run.startedAt.slice(0, 16).replace('T', ' ')} UTC, ${machine.cores} × ${escape(machine.cpu)}, ${machine.memoryGiB} GiB, Node ${escape(machine.node)}${run.full ? ', full form' : ''}. Again: <code>npm run bench${run.full ? ' -- --full' : ''}</code></p>
${busy}
<h2>Goals</h2>
${drawGoals(run)}
${run.benches.map(drawBench).join('\n')}
</html>
`;
}

function drawGoals(run: BenchRun): string {
  const rows = (Object.entries(goals) as [GoalName, Goal][]).map(([name, goal]) => {
    const found = run.benches.flatMap(({ file, results }) =>
      results.filter((result) => result.goal === name).map((result) => ({ file, result })),
    );
    if (found.length === 0)
      return `<tr><td>${name}<td>${goal.what}<td class="n">${figure(goal.target)}<td colspan="3" class="dim">not measured in this run`;
    return found
      .map(({ file, result }) => {
        const ok = reached(goal, result.value);
        return `<tr><td>${name}<td>${goal.what}<div class="dim">${escape(result.name)} · ${escape(file)}</div><td class="n">${goal.better === 'higher' ? '≥' : '≤'} ${figure(goal.target)}<td class="n ${ok ? 'ok' : 'miss'}">${figure(result.value)} ${escape(goal.unit)}<td>${drawShare(goal, result.value)}<td>${ok ? 'reached' : 'missed'}`;
      })
      .join('\n');
  });
  return `<table><tr><th>Goal<th>What<th class="n">To reach<th class="n">Measured<th>Share of the goal<th>\n${rows.join('\n')}</table>`;
}

/** A bar as long as the share of the goal that is reached; the line is the goal. */
function drawShare(goal: Goal, value: number): string {
  const share = goal.better === 'higher' ? value / goal.target : goal.target / value;
  const width = Math.max(1, Math.min(160, share * 100));
  return `<svg width="162" height="14" role="img" aria-label="${Math.round(share * 100)} percent"><rect width="${width.toFixed(0)}" height="14" class="${share >= 1 ? 'okbar' : 'missbar'}"/><path d="M100 0V14" class="goal"/></svg>`;
}

function drawBench({ file, status, seconds, results, curves }: BenchRun['benches'][number]): string {
  const rows = results.map(
    (result) =>
      `<tr><td>${escape(result.name)}${result.note === undefined ? '' : `<div class="dim">${escape(result.note)}</div>`}<td class="n">${figure(result.value)}<td>${escape(result.unit)}<td class="dim">${result.spread === undefined ? '' : `${figure(result.spread[0])} to ${figure(result.spread[1])}${result.repetitions === undefined ? '' : `, ${result.repetitions} times`}`}`,
  );
  const table = rows.length === 0 ? '' : `<table><tr><th>Figure<th class="n">Value<th>Unit<th>Spread\n${rows.join('\n')}</table>`;
  const failed = status === 0 ? '' : `<p class="warn">This bench failed (${status}).</p>`;
  return `<h2>${escape(file)}</h2><p class="dim">${seconds} s</p>${failed}${table}<div class="curves">${curves.map(drawCurve).join('')}</div>`;
}

const WIDTH = 420;
const HEIGHT = 220;
const PAD = { left: 62, right: 12, top: 10, bottom: 38 };

/** Points joined by lines; y from 0, so that slopes are honest. */
function drawCurve(curve: BenchCurve): string {
  const points = curve.points.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
  if (points.length === 0) return '';
  const toX = (x: number): number => (curve.logX === true ? Math.log10(x) : x);
  const xs = points.map(([x]) => toX(x));
  const xMin = Math.min(...xs);
  const xSpan = Math.max(...xs) - xMin || 1;
  const yTop = niceTop(Math.max(...points.map(([, y]) => y)));
  const px = (x: number): number => PAD.left + ((toX(x) - xMin) / xSpan) * (WIDTH - PAD.left - PAD.right);
  const py = (y: number): number => HEIGHT - PAD.bottom - (y / yTop) * (HEIGHT - PAD.top - PAD.bottom);
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const y = py(share * yTop).toFixed(1);
    return `<path d="M${PAD.left} ${y}H${WIDTH - PAD.right}" class="grid"/><text x="${PAD.left - 6}" y="${y}" dy="4" text-anchor="end">${figure(share * yTop)}</text>`;
  });
  const shown = points.length <= 12 ? points : points.filter((_, i) => i % Math.ceil(points.length / 8) === 0);
  const labels = shown.map(
    ([x]) => `<text x="${px(x).toFixed(1)}" y="${HEIGHT - PAD.bottom + 16}" text-anchor="middle">${short(x)}</text>`,
  );
  const line = points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join('');
  const dots =
    points.length <= 40 ? points.map(([x, y]) => `<circle cx="${px(x).toFixed(1)}" cy="${py(y).toFixed(1)}" r="3"/>`).join('') : '';
  return `<figure><figcaption>${escape(curve.name)}</figcaption><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img" aria-label="${escape(curve.name)}">${grid.join('')}${labels.join('')}<path d="${line}" class="line"/>${dots}<text x="${WIDTH / 2}" y="${HEIGHT - 4}" text-anchor="middle">${escape(curve.x)}</text></svg><div class="dim">${escape(curve.y)}</div></figure>`;
}

function niceTop(max: number): number {
  if (!(max > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(max));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * unit).find((top) => top >= max) ?? 10 * unit;
}

function short(x: number): string {
  if (x >= 1e9) return `${figure(x / 1e9)}G`;
  if (x >= 1e6) return `${figure(x / 1e6)}M`;
  return x >= 10_000 ? `${figure(x / 1e3)}k` : figure(x);
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1c2530;--dim:#5b6876;--line:#d5dbe2;--ok:#137a4b;--miss:#b4441b;--page:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#e6ebf1;--dim:#9aa7b5;--line:#35404c;--ok:#4cc38a;--miss:#f08a5d;--page:#12181f}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:64rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.dim{color:var(--dim);font-size:.85em}.ok{color:var(--ok)}.miss{color:var(--miss)}
.warn{border-left:3px solid var(--miss);padding-left:.7rem}.okbar{fill:var(--ok)}.missbar{fill:var(--miss)}.goal{stroke:var(--ink);stroke-width:2}
.curves{display:flex;flex-wrap:wrap;gap:1.5rem}figure{margin:1rem 0}figcaption{font-weight:600}svg text{font-size:11px;fill:var(--dim)}
.grid{stroke:var(--line)}.line{fill:none;stroke:var(--ok);stroke-width:2}circle{fill:var(--ok)}`;
