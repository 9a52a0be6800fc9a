/** The page of a soak run: one plot per series with its fitted slope. */

export type Fit = Readonly<{
  mean: number;
  /** Slope, per hour. */
  perHour: number;
  /** Slope over its standard error. */
  t: number;
  /** More than a tenth of the mean in an hour, and no chance. */
  grows: boolean;
}>;
export type Series = Readonly<{
  title: string;
  unit: string;
  /** [s since start, value] */
  points: readonly (readonly [number, number])[];
  fit: Fit;
  judged: boolean;
}>;

/** Least squares. @param points [s, value]; those that are not finite are left out */
export function fitSlope(points: readonly (readonly [number, number])[]): Fit {
  const finite = points.filter(([, y]) => Number.isFinite(y));
  const n = finite.length;
  if (n < 3) return { mean: finite[0]?.[1] ?? Number.NaN, perHour: 0, t: 0, grows: false };
  const meanX = finite.reduce((sum, [x]) => sum + x, 0) / n;
  const mean = finite.reduce((sum, [, y]) => sum + y, 0) / n;
  let sxx = 0;
  let sxy = 0;
  for (const [x, y] of finite) {
    sxx += (x - meanX) ** 2;
    sxy += (x - meanX) * (y - mean);
  }
  const slope = sxy / sxx;
  let residual = 0;
  for (const [x, y] of finite) residual += (y - mean - slope * (x - meanX)) ** 2;
  const error = Math.sqrt(residual / (n - 2) / sxx);
  const perHour = slope * 3600;
  const t = error === 0 ? 0 : slope / error;
  return { mean, perHour, t, grows: t > 3 && perHour > 0.1 * Math.abs(mean) };
}

const WIDTH = 760;
const HEIGHT = 150;
const LEFT = 60;

export function soakPage(about: string, series: readonly Series[]): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Soak run</title>
<style>body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:${WIDTH + 40}px;color:#1c2733}h1{font-size:1.4rem}h2{font-size:1rem;margin:1.4rem 0 .2rem}p{margin:0}
svg{width:100%;height:auto}.line{fill:none;stroke:#0b6e8f;stroke-width:1.3}.fit{stroke:#c2410c;stroke-dasharray:5 4}.axis{stroke:#b8c4ce}text{font-size:11px;fill:#4b5b68}.grows{color:#b91c1c;font-weight:600}</style>
<h1>Soak run</h1><p>${escape(about)}</p>
${series.map(plot).join('\n')}
</html>
`;
}

function plot({ title, unit, points, fit, judged }: Series): string {
  const finite = points.filter(([, y]) => Number.isFinite(y));
  const maxX = Math.max(1, ...finite.map(([x]) => x));
  const maxY = Math.max(1e-9, ...finite.map(([, y]) => y)) * 1.1;
  const px = (x: number): string => (LEFT + (x / maxX) * (WIDTH - LEFT - 10)).toFixed(1);
  const py = (y: number): string => (HEIGHT - 20 - (Math.max(0, y) / maxY) * (HEIGHT - 30)).toFixed(1);
  const slope = fit.perHour / 3600;
  const middle = maxX * 0.6; // of the fitted four fifths
  const fitted = (x: number): string => py(fit.mean + slope * (x - middle));
  const words = `mean ${fit.mean.toFixed(2)} ${unit}, ${fit.perHour >= 0 ? '+' : ''}${fit.perHour.toFixed(2)} ${unit} per hour (t ${fit.t.toFixed(1)})`;
  const verdict = judged ? (fit.grows ? '; <span class="grows">grows</span>' : '; does not grow') : '';
  return `<h2>${escape(title)}</h2><p>${escape(words)}${verdict}</p>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(`${title}: ${words}`)}">
<line class="axis" x1="${LEFT}" y1="${HEIGHT - 20}" x2="${WIDTH - 10}" y2="${HEIGHT - 20}"/><line class="axis" x1="${LEFT}" y1="10" x2="${LEFT}" y2="${HEIGHT - 20}"/>
<text x="${LEFT - 6}" y="14" text-anchor="end">${maxY.toPrecision(3)}</text><text x="${LEFT - 6}" y="${HEIGHT - 17}" text-anchor="end">0</text>
<text x="${WIDTH - 10}" y="${HEIGHT - 5}" text-anchor="end">${(maxX / 60).toFixed(1)} min</text>
<polyline class="line" points="${finite.map(([x, y]) => `${px(x)},${py(y)}`).join(' ')}"/>
<line class="fit" x1="${px(maxX * 0.2)}" y1="${fitted(maxX * 0.2)}" x2="${px(maxX)}" y2="${fitted(maxX)}"/></svg>`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
