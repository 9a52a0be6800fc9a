/** Checks that erased people are nowhere, that data of people who withdrew are shown to nobody else, and that retention deletes. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Oracle, Person } from '../oracle.ts';

const RETENTION_MS_MAX = 30_000;

export async function compareGone(oracle: Oracle): Promise<void> {
  for (const person of oracle.gone) await compareErased(oracle, person);
  for (const person of await oracle.people()) if (oracle.isMissing(person, 'sharing')) await compareWithdrawn(oracle, person);
}

async function compareErased(oracle: Oracle, person: Person): Promise<void> {
  const { xuserId, externalId, token } = person;
  const { status } = await oracle.ask('GET', `/api/v1/streams?subject_id=${xuserId}`);
  oracle.expect('gone', status === 404, () => `recordings of ${externalId}, who was erased, are answered ${status}`);
  const own = await oracle.ask('GET', '/api/v1/streams', { as: token });
  oracle.expect(
    'gone',
    own.status === 401 || own.status === 404,
    () => `the token of ${externalId}, who was erased, is answered ${own.status}`,
  );
  const { text } = await oracle.ask('GET', '/api/v1/xusers?limit=1000');
  oracle.expect(
    'gone',
    !text.includes(`"${externalId}"`) && !text.includes(xuserId),
    () => `${externalId}, who was erased, is in the list of users`,
  );
  const tables = await oracle.stage.sql<{ table: string; column: string }>(
    `select c.table_name as table, c.column_name as column from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.table_name <> 'audit_log' and c.column_name in ('xuser_id', 'subject_id') and c.data_type = 'uuid'`,
  );
  for (const { table, column } of tables) {
    const rows = await oracle.stage.sql<{ n: number }>(`select count(*)::int as n from "${table}" where "${column}" = $1`, [xuserId]);
    oracle.expect('gone', rows[0]!.n === 0, () => `${table} has ${rows[0]!.n} rows of ${externalId}, who was erased`);
  }
  await compareRecordingsGone(oracle, person);
  await compareAnswersGone(oracle, person);
}

/** Rollups and whatever else knows a recording by its number alone; views too, for what is shown may come from elsewhere. */
async function compareRecordingsGone(oracle: Oracle, { externalId, streamIds }: Person): Promise<void> {
  const relations = await oracle.stage.sql<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'stream_id' and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
       and a.atttypid = 'integer'::regtype order by 1`,
  );
  for (const { name } of relations) {
    const rows = await oracle.stage.sql<{ n: number }>(`select count(*)::int as n from "${name}" where stream_id = any ($1)`, [
      [...streamIds],
    ]);
    oracle.expect('gone', rows[0]!.n === 0, () => `${name} has ${rows[0]!.n} rows of recordings of ${externalId}, who was erased`);
  }
}

/** Answers that are kept to be given again: to whom they were given, and what they say. */
async function compareAnswersGone(oracle: Oracle, { xuserId, externalId }: Person): Promise<void> {
  const kept = await oracle.stage.sql<{ operation: string }>(
    `select operation from idempotency i where exists (select 1 from unnest($1::text[]) name
       where position(name in i.idempotency_key) > 0 or position(convert_to(name, 'UTF8') in coalesce(i.response_body, '')) > 0)`,
    [[xuserId, externalId]],
  );
  const operations = [...new Set(kept.map(({ operation }) => operation))].join(', ');
  oracle.expect('gone', kept.length === 0, () => `${kept.length} kept answers name ${externalId}, who was erased: ${operations}`);
}

/** To keys nothing; to the person everything, which the other comparisons look at. */
async function compareWithdrawn(oracle: Oracle, { xuserId, externalId }: Person): Promise<void> {
  const chart = { subject_id: xuserId, series: [{ feature: 'hr_ecg' }], range: { duration: 'P7D' } };
  const answers = await Promise.all([
    oracle.ask('GET', `/api/v1/streams?subject_id=${xuserId}`),
    oracle.ask('GET', `/api/v1/observations?subject_id=${xuserId}&biosignal_id=1`),
    oracle.ask('GET', `/api/v1/episodes?subject_id=${xuserId}`),
    oracle.ask('POST', '/api/v1/charts/query', { body: chart }),
  ]);
  oracle.expect(
    'visible',
    answers.every(({ status }) => status === 403),
    () => `${externalId} has not consented to sharing: ${answers.map(({ status }) => status).join()}`,
  );
  const lists = await Promise.all(['signal-quality', 'fleet/episodes'].map((path) => oracle.ask('GET', `/api/v1/${path}`)));
  oracle.expect(
    'visible',
    lists.every(({ text }) => !text.includes(xuserId)),
    () => `${externalId} has not consented to sharing and is listed`,
  );
}

/** Of boots that were over when the retention was set. */
export async function compareRetention(oracle: Oracle): Promise<void> {
  const { retention } = oracle;
  if (retention === null) return;
  const over = oracle.boots.filter(
    (boot) => oracle.hasAccepted(boot) && boot.answeredMs < retention.setMs && !oracle.gone.includes(boot.person),
  );
  const cutoff = new Date(retention.setMs - retention.days * 86_400_000).toISOString();
  const left = async (): Promise<string> => {
    const counts = await oracle.stage.sql<{ relation: string; n: number }>(
      ['sample_block', 'feature', 'beat']
        .map(
          (relation) =>
            `select '${relation}' as relation, count(*)::int as n from ${relation} r join stream s on s.id = r.stream_id where r.time < $2::timestamptz and encode(s.boot_id, 'hex') = any ($1)`,
        )
        .join(' union all '),
      [over.map(({ bootId }) => bootId), cutoff],
    );
    return counts
      .filter(({ n }) => n > 0)
      .map(({ relation, n }) => `${n} of ${relation}`)
      .join(', ');
  };
  let found = await left();
  for (const deadline = performance.now() + RETENTION_MS_MAX; found !== '' && performance.now() < deadline; found = await left())
    await sleep(500);
  oracle.expect('retention', found === '', () => `rows from before ${cutoff} are still there, ${retention.days} days being kept: ${found}`);
}
