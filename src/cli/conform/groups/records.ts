/** One record of each kind, created as its owner would; then every list and every record, read and compared with the description. */
import { setTimeout as sleep } from 'node:timers/promises';
import { need, Skipped } from '../checks.ts';
import { nobody } from '../client.ts';
import { families, pathOf, rows } from '../operations.ts';
import type { Run } from '../run.ts';
import { isoOf, nowNs, SECOND_NS } from '../signals.ts';

const idOf = (json: unknown): string => (json as { id?: string } | undefined)?.id ?? '';

export async function makeRecords({ checks, stage, ada }: Run): Promise<void> {
  const { ids, full, project } = stage;
  ids.user = ada.id;
  ids.externalId = ada.externalId;
  const make = async (name: string, path: string, body: unknown, as = full, status = 201): Promise<unknown> =>
    (await checks.ask(`Made: ${name}`, { method: 'POST', path, as, body }, { status }))?.json;
  const startedAt = '2025-03-03T08:00:00Z';
  ids.episode = idOf(
    await make('an episode', '/api/v1/episodes', { subject_id: ada.id, kind: 'event', started_at: startedAt, title: 'Walk' }),
  );
  const artifact = { kind: 'note', title: 'note', content: { text: 'conform' } };
  const detail = (await make('an artifact', `/api/v1/episodes/${ids.episode}/artifacts`, artifact)) as
    | { artifacts?: { id: string }[] }
    | undefined;
  ids.artifact = detail?.artifacts?.[0]?.id ?? '';
  await make('an acknowledgement', `/api/v1/episodes/${ids.episode}/acknowledgement`, { note: 'seen' }, full, 200);
  ids.task = idOf(await make('a task', '/api/v1/tasks', { subject_id: ada.id, title: 'Walk' }));
  ids.schedule = idOf(
    await make('a schedule', '/api/v1/task-schedules', { subject_id: ada.id, title: 'Walk', every: 'day', times: ['08:00'] }),
  );
  const streams = await checks.ask(
    'recordings',
    { method: 'GET', path: `/api/v1/streams?subject_id=${ada.id}`, as: full },
    { status: 200 },
  );
  const [stream] = (streams?.json as readonly { id: string; recorded_from: string | null; started_at: string }[] | undefined) ?? [];
  const marked = { stream_id: stream?.id ?? '', kind: 'note', starts_at: stream?.recorded_from ?? stream?.started_at, text: 'conform' };
  ids.annotation = idOf(await make('an annotation', '/api/v1/annotations', marked));
  const bound = {
    name: 'conform',
    feature: 'hr_ecg',
    comparison: 'above',
    threshold: 400,
    sustain_sec: 60,
    subject_id: ada.id,
    enabled: false,
  };
  ids.rule = idOf(await make('a rule', `/api/v1/projects/${project.id}/rules`, bound));
  ids.group = idOf(await make('a group', `/api/v1/projects/${project.id}/groups`, { name: stage.name('group') }));
  ids.goal = idOf(await make('a goal', '/api/v1/goals', { subject_id: ada.id, biosignal_id: 60, target: 8000 }));
  await make('a mood', '/api/v1/moods', { score: 4, note: 'well' }, ada.as);
  await make('a journal entry', '/api/v1/journal', { text: 'a quiet day' }, ada.as);
  const measurements = [{ biosignal_id: 61, value: 97, time: startedAt }];
  await make('a measurement', '/api/v1/measurements', { subject_id: ada.id, measurements });
  await make('a consent', `/api/v1/xusers/${ada.id}/consents`, { purpose: 'sharing', granted: true, document: 'conform' }, ada.as);
  const who5 = { resourceType: 'QuestionnaireResponse', questionnaire: 'who-5', status: 'completed' };
  const asked = await checks.ask('A questionnaire', { method: 'GET', path: '/api/v1/questionnaires/who-5', as: ada.as }, { status: 200 });
  const items = itemsOf(asked?.json);
  ids.response = idOf(await make('answers to it', '/api/v1/questionnaire-responses', { ...who5, item: items }, ada.as));
  await checks.ask(
    'Made: a draft',
    { method: 'PUT', path: '/api/v1/questionnaires/phq-9/draft', as: ada.as, body: { item: [] } },
    { status: 200 },
  );
  if (stage.ownProject) {
    const key = (await make('an SDK key', `/api/v1/projects/${project.id}/sdk-keys`, { name: stage.name('sdk') }, full)) as
      | { id: string }
      | undefined;
    if (key !== undefined) {
      ids.sdkKey = key.id;
      stage.noteSdkKey(project.id, key.id);
    }
  } else checks.skip('Made: an SDK key', 'the project is not of this run');
}

/** An answer to each question of a FHIR questionnaire with options: the first. */
function itemsOf(json: unknown): unknown[] {
  type Option = { valueCoding?: unknown; valueInteger?: number };
  type Item = { linkId: string; type: string; answerOption?: Option[]; item?: Item[] };
  const resource = (json as { resource?: { item?: Item[] }; item?: Item[] } | undefined) ?? {};
  const all = resource.resource?.item ?? resource.item ?? [];
  return all.flatMap(({ linkId, answerOption }) => (answerOption?.[0] === undefined ? [] : [{ linkId, answer: [answerOption[0]] }]));
}

/** Checks every GET by an allowed caller: documented status, type and schema. */
export async function checkAnswers(run: Run): Promise<void> {
  const { checks, stage, ada } = run;
  for (const row of rows) {
    if (row.method !== 'GET' || row.family === 'socket' || row.family === 'session') continue;
    if (row.path.includes('{webhookId}')) continue; // gone by now; asked when it was there
    const ofOthers = row.quiet === true || (row.broad === true && !stage.ownProject);
    if (ofOthers) {
      checks.skip(`${row.method} ${row.path}: a good answer`, 'it would read data of others, or is expensive');
      continue;
    }
    const family = row.family === 'public' ? null : families[row.family];
    const as = family === null ? nobody : family.user === 'yes' ? ada.as : stage.full;
    await checks.ask(
      `${row.method} ${row.path}: a good answer`,
      { method: row.method, path: pathOf(row, stage.ids), as },
      { status: 200, says: 'as described' },
    );
  }
  await checks.ask('GET /auth/session: a good answer', { method: 'GET', path: '/auth/session', as: run.session }, { status: 200 });
  const page = { accept: 'text/html' };
  await checks.ask(
    'The description as a page',
    { method: 'GET', path: '/api-docs', as: nobody, headers: page },
    { status: 200, headers: { 'content-type': /^text\/html/, 'content-security-policy': /./ } },
  );
  for (const file of ['/cdn/v1/bio-widgets.js', '/cdn/v1/bio-widgets.css']) {
    await checks.claim(`The widgets: ${file}`, `GET ${file}`, '200 with nosniff', async () => {
      const ask = { method: 'GET', path: file, as: nobody };
      if ((await run.client.send(ask)).status === 404) throw new Skipped('no widgets are built there');
      await checks.within(ask, { status: 200, headers: { 'x-content-type-options': /nosniff/ } });
      return '200';
    });
  }
  if (stage.ownProject)
    await checks.ask(
      'A list is only of the own project',
      { method: 'GET', path: '/api/v1/xusers?limit=1000', as: stage.byScope.read },
      {
        status: 200,
        says: `project_id ${stage.project.id} for each`,
        test: ({ json }) =>
          (json as { project_id: string }[]).some(({ project_id: id }) => id !== stage.project.id) && 'a user of another project',
      },
    );
  await checks.ask(
    'A user token lists its own user only',
    { method: 'GET', path: '/api/v1/xusers', as: ada.as },
    {
      status: 200,
      test: ({ json }) => (json as { xuser_id: string }[]).map(({ xuser_id: id }) => id).join() !== ada.id && 'others are listed',
    },
  );
  await checks.ask(
    'Catalog: the nine members of a biosignal',
    { method: 'GET', path: `/api/v1/projects/${stage.project.id}/biosignals`, as: ada.as },
    {
      status: 200,
      test: ({ json }) => {
        const wanted = 'abbreviation,id,is_flowing,loinc_code,name,role,signal_type,source_type,unit';
        const other = (json as object[]).find((item) => Object.keys(item).toSorted().join() !== wanted);
        return (other !== undefined && Object.keys(other).join()) || ((json as object[]).length < 20 && 'fewer than 20');
      },
    },
  );
  await checkDerived(run);
}

/** Checks values computed from the heartbeat that was sent. */
async function checkDerived({ checks, client, stage, ada }: Run): Promise<void> {
  const as = stage.byScope.read;
  const list = await checks.within(
    { method: 'GET', path: `/api/v1/streams?subject_id=${ada.id}&limit=1000`, as: stage.full },
    { status: 200 },
  );
  const id = (list.json as { id: string; device_id: string }[]).find((one) => one.device_id === stage.ids.device)?.id ?? '';
  type Series = { name: string; ts_ns: (bigint | number)[]; values: number[]; qmask: number[]; method_code: string };
  let series: Series[] = [];
  await checks.claim(
    'Beats a second apart are a heart rate of 60',
    `GET /api/v1/streams/{streamId}/features, for 45 s at most`,
    'hr_ecg of 59 to 61 with a flag of 0 or 1',
    async () => {
      for (let i = 0; i < 90; i++) {
        const { json } = await checks.within({ method: 'GET', path: `/api/v1/streams/${id}/features`, as }, { status: 200 });
        series = json as Series[];
        const hr = series.find(({ name }) => name === 'hr_ecg');
        const good = hr?.values.filter((_, k) => (hr.qmask[k] ?? 2) < 2) ?? [];
        if (good.length > 3) {
          const middle = good.toSorted((a, b) => a - b)[good.length >> 1] ?? 0;
          need(middle > 59 && middle < 61, `a median of ${middle}`);
          return `${good.length} values, median ${middle.toFixed(2)}`;
        }
        await sleep(500, undefined, { signal: client.signal });
      }
      throw new Error(`no heart rate yet; ${series.length} series`);
    },
  );
  await checks.claim(
    'Series are parallel, ascending, exact',
    `GET /api/v1/streams/{streamId}/features`,
    'as many times and flags as values, 19 digits, flags 0 to 2, a method',
    async () => {
      need(series.length > 0, 'no series');
      for (const { name, ts_ns: times, values, qmask, method_code: method } of series) {
        need(times.length === values.length && qmask.length === values.length, `${name}: ${times.length} times, ${values.length} values`);
        need(
          times.every((ns, i) => String(ns).length === 19 && (i === 0 || BigInt(ns) > BigInt(times[i - 1]!))),
          `${name}: times`,
        );
        need(qmask.every((flag) => flag >= 0 && flag <= 2) && /^\w+:\w+$/.test(method), `${name}: flags or method`);
      }
      return `${series.length} series`;
    },
  );
  await checks.ask(
    'Times in milliseconds',
    { method: 'GET', path: `/api/v1/streams/${id}/features?names=hr_ecg&ts_unit=ms`, as },
    {
      status: 200,
      test: ({ json }) =>
        (json as { ts_ms?: number[]; ts_ns?: unknown }[]).some((one) => one.ts_ms === undefined || one.ts_ns !== undefined) &&
        'ts_ns, or no ts_ms',
    },
  );
  await checks.ask(
    'Beats a second apart',
    { method: 'GET', path: `/api/v1/streams/${id}/beats?channel=ecg.ii`, as },
    {
      status: 200,
      says: 'intervals of 996 to 1004 ms',
      test: ({ json }) => {
        const intervals = (json as { interval_ms: (number | null)[] }[]).flatMap((one) => one.interval_ms).filter((ms) => ms !== null);
        const odd = intervals.filter((ms) => ms < 996 || ms > 1004);
        return (
          (intervals.length < 30 && `${intervals.length} intervals`) || (odd.length > 2 && `intervals of ${odd.slice(0, 5).join(', ')} ms`)
        );
      },
    },
  );
  const since = isoOf(nowNs() - 1000n * SECOND_NS);
  await checks.ask(
    'The biosignal flows, or did',
    { method: 'GET', path: `/api/v1/streams?subject_id=${ada.id}&since=${since}`, as },
    {
      status: 200,
      test: ({ json }) => !(json as { id: string }[]).some((one) => one.id === id) && 'the stream is not listed',
    },
  );
}
