/** Answers of the documented shapes for widget pages, and a way to bend them: every state of every widget from one page. */
import type { Fixture, FixtureAnswer } from './browser-fixture.ts';

export type Mode = 'ready' | 'loading' | 'empty' | 'stale' | 'offline' | 'error' | 'unauthorized';

export const widgetTags = [
  'bio-health-metrics',
  'bio-trend-card',
  'bio-progress-ring',
  'bio-trend-chart',
  'bio-mood',
  'bio-checkin',
  'bio-journal',
  'bio-task-list',
] as const;

const biosignal = (id: number, name: string, abbreviation: string, unit: string, loinc = '') => ({
  id,
  name,
  abbreviation,
  unit,
  loinc_code: loinc,
  signal_type: 'scalar',
  role: 'measurement',
  source_type: 'device',
  is_flowing: true,
});

/** @param state `word` makes every text of a person or a project this one, `nowMs` is the time of the answers (default: now) */
export function serveWidgetAnswers(fixture: Fixture, state: { mode: Mode; word: string | null; nowMs?: number }): void {
  const text = (plain: string): string => state.word ?? plain;
  const answer = (json: () => unknown, empty: unknown) => (): FixtureAnswer => {
    switch (state.mode) {
      case 'loading':
        return null;
      case 'offline':
        return { status: -1 };
      case 'error':
        return {
          status: 500,
          json: { type: 'about:blank', title: text('A fault'), status: 500, code: 'internal', request_id: text('req-1') },
        };
      case 'unauthorized':
        return { status: 401, json: { type: 'about:blank', title: 'No', status: 401, code: 'credential_invalid', request_id: 'req-2' } };
      case 'empty':
        return { json: empty };
      default:
        return { json: json() };
    }
  };
  const ageMs = (): number => (state.mode === 'stale' ? 3 * 3_600_000 : 0);
  const time = (minutesAgo: number): string => new Date((state.nowMs ?? Date.now()) - ageMs() - minutesAgo * 60_000).toISOString();
  const biosignals = [
    biosignal(1, 'Heart rate', 'HR', '/min', '8867-4'),
    biosignal(2, 'Steps', 'STEPS', '{steps}', '55423-8'),
    biosignal(3, 'Sleep duration', 'SLEEP', 'min', '93832-4'),
    biosignal(4, 'RMSSD', 'RMSSD', 'ms'),
    biosignal(5, 'Skin temperature', 'TEMP', 'Cel', '61008-9'),
  ];
  fixture.on('GET', /\/biosignals$/, () => ({ json: biosignals.map((item) => ({ ...item, name: text(item.name) })) }));
  fixture.on('GET', '/api/v1/observations', (request) => {
    const id = Number(request.url.searchParams.get('biosignal_id'));
    const value = [0, 72.4, 6421, 444, 38.2, 33.4][id];
    const item = {
      id: `o${id}`,
      biosignal_id: id,
      value,
      unit: biosignals[id - 1]?.unit,
      effective_time: time(id),
      device_id: text('band-17'),
      qmask: 0,
    };
    return answer(() => [{ ...item, method_code: text('derived:hr_ecg_v1') }], [])();
  });
  fixture.on('POST', '/api/v1/charts/query', (request) => {
    const body = request.body as ChartBody;
    const unknown = body.series.find(({ feature = 'hr_ecg' }) => feature !== 'hr_ecg');
    if (unknown !== undefined) return { status: 404, json: { code: 'not_found', detail: `There is no feature ${unknown.feature}.` } };
    return answer(() => chartAnswer(body, ageMs()), { range: body.range, resolution: 'PT1M', values: [], data: [], qmask: [] })();
  });
  fixture.on(
    'GET',
    '/api/v1/moods',
    answer(() => [{ id: 'm1', score: 4, note: text('Slept well'), time: time(600) }], []),
  );
  fixture.on(
    'GET',
    '/api/v1/journal',
    answer(() => [{ id: 'j1', text: text('Walked to the lake.\nA bit dizzy afterwards.'), time: time(900) }], []),
  );
  fixture.on(
    'GET',
    '/api/v1/tasks',
    answer(
      () => [
        {
          id: 't1',
          title: text('Measure blood pressure'),
          description: text('Sitting, after five minutes'),
          due: time(-60),
          status: 'due',
        },
        { id: 't2', title: text('Walk for 20 minutes'), due: time(120), status: 'due' },
        { id: 't3', title: text('Morning medication'), due: null, status: 'done' },
      ],
      [],
    ),
  );
  fixture.on(
    'GET',
    '/api/v1/goals',
    answer(() => [], []),
  );
  fixture.on(
    'GET',
    /\/questionnaires\//,
    answer(() => questionnaire(text), { resourceType: 'Questionnaire', id: 'x', item: [] }),
  );
}

type ChartBody = {
  range: { from: string; to: string };
  max_points: number;
  series: readonly { biosignal_id?: number; feature?: string }[];
};

/** A course with a gap, a suspect and an unusable stretch; its buckets hold some values each, less and less of them good. */
function chartAnswer(body: ChartBody, ageMs: number) {
  const from = Date.parse(body.range.from);
  const to = Date.parse(body.range.to) - ageMs;
  const n = Math.min(body.max_points, 240);
  const rows: (number | null)[][] = [];
  const qmask: (number | null)[][] = [];
  for (let i = 0; i < n; i++) {
    if (i > 60 && i < 75) continue;
    const flag = i > 120 && i < 135 ? 1 : i > 160 && i < 166 ? 2 : 0;
    const values = body.series.map(({ biosignal_id }, k) => {
      const base = [0, 72, 40, 1, 38, 33][biosignal_id ?? 0] ?? 50;
      return flag === 2 ? null : base * (1 + 0.12 * Math.sin(i / 14 + k) + 0.04 * Math.sin(i * 1.7 + k));
    });
    // RMSSD comes half as often: no value and no flag in between.
    const held = body.series.map(({ biosignal_id }) => biosignal_id !== 4 || i % 2 === 0);
    rows.push([Math.round(from + (i * (to - from)) / n), ...values.map((value, k) => (held[k] ? value : null))]);
    qmask.push(held.map((is) => (is ? flag : null)));
  }
  const values = body.series.map(({ biosignal_id }) => ({ agg: biosignal_id === 2 ? 'sum' : 'mean' }));
  return { range: body.range, resolution: 'PT6M', values, data: rows, qmask, detail: detailOf(rows, qmask) };
}

/** What the service says of buckets with these means: values up to 10 % around each. */
export function detailOf(rows: readonly (readonly (number | null)[])[], qmask: readonly (readonly (number | null)[])[]) {
  const means = rows.map((row) => row.slice(1));
  const each = (of: (value: number | null, row: number, column: number) => number | null) =>
    means.map((row, i) => row.map((value, column) => (qmask[i]?.[column] === null ? null : of(value, i, column))));
  const share = (i: number): number => 1 - (0.5 * i) / means.length;
  const columns = means[0]?.map((_, column) => means.map((row) => row[column] ?? null).filter((value) => value !== null)) ?? [];
  return {
    n: each(() => 360),
    good_n: each((value, i) => (value === null ? 20 : Math.round(360 * share(i)))),
    expected_n: each(() => 360),
    min: each((value) => (value === null ? null : value * 0.9)),
    max: each((value) => (value === null ? null : value * 1.1)),
    totals: columns.map((held) => ({
      n: 360 * held.length,
      good_n: 270 * held.length,
      expected_n: 360 * held.length,
      qmask: held.length === 0 ? null : 0,
      min: held.length === 0 ? null : Math.min(...held) * 0.9,
      max: held.length === 0 ? null : Math.max(...held) * 1.1,
      mean: held.length === 0 ? null : held.reduce((sum, value) => sum + value, 0) / held.length,
      suspect: null,
      first: held[0] ?? null,
      last: held.at(-1) ?? null,
      sum: held.length === 0 ? null : held.reduce((sum, value) => sum + value, 0),
    })),
  };
}

function questionnaire(text: (plain: string) => string) {
  const answerOption = ['Not at all', 'Several days', 'Nearly every day'].map((display, i) => ({
    valueCoding: { code: `LA${i}`, display: text(display) },
  }));
  return {
    resourceType: 'Questionnaire',
    id: 'phq-2',
    version: '1',
    title: text('Two questions'),
    description: text('Over the last two weeks'),
    item: [
      { linkId: '1', prefix: '1.', text: text('Little interest or pleasure'), type: 'choice', required: true, answerOption },
      { linkId: '2', text: text('Hours of sleep'), type: 'decimal' },
      {
        linkId: '3',
        text: text('What happened?'),
        type: 'text',
        required: true,
        enableWhen: [{ question: '1', operator: '=', answerCoding: { code: 'LA2' } }],
      },
    ],
  };
}

/** A page of another application under a strict policy: no inline script or style, Trusted Types enforced. */
export function widgetPage(
  options: Readonly<{ origin: string; attributes: string; body?: string; lang?: string; dir?: string; scripts?: number }>,
): string {
  const policy = `default-src 'none'; script-src ${options.origin}; style-src ${options.origin}; connect-src ${options.origin} ${options.origin.replace('http', 'ws')}; require-trusted-types-for 'script'; trusted-types lit-html`;
  const script = `<script src="${options.origin}/cdn/v1/bio-widgets.js"></script>`;
  const all = widgetTags
    .map((tag) => (tag === 'bio-trend-chart' ? `<${tag} biosignals="HR,RMSSD,TEMP"></${tag}>` : `<${tag}></${tag}>`))
    .join('');
  return `<!doctype html><html lang="${options.lang ?? 'en'}" dir="${options.dir ?? 'ltr'}"><head><meta charset="utf-8"><title>Widgets</title>
<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="${options.origin}/cdn/v1/bio-widgets.css">${script.repeat(options.scripts ?? 1)}</head>
<body><main><h1>Widgets</h1><bio-provider ${options.attributes}>${options.body ?? all}</bio-provider></main></body></html>`;
}
