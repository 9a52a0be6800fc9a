/** The same ten seconds in every format that the API writes: the samples that were sent, by their number and hash. */
import { createHash } from 'node:crypto';
import { parseHeader } from '../../../formats/wfdb-header.ts';
import { decodeGroup } from '../../../formats/wfdb-read.ts';
import { need } from '../checks.ts';
import type { Answer } from '../client.ts';
import { readSegments } from '../messages.ts';
import type { Run } from '../run.ts';
import { isoOf, SECOND_NS } from '../signals.ts';
import { lastYearNs, lastYearSamples } from './ingest.ts';

type Rows = Readonly<{ times: readonly bigint[]; values: readonly number[] }>;
const STEP_NS = 4_000_000n;
const wantedTimes = Array.from(lastYearSamples, (_, i) => lastYearNs + BigInt(i) * STEP_NS);

export async function checkExports(run: Run): Promise<void> {
  const { checks, stage, ada } = run;
  const as = stage.byScope.read;
  const range = `since=${isoOf(lastYearNs)}&until=${isoOf(lastYearNs + 10n * SECOND_NS)}`;
  const path = `/api/v1/streams/${stage.ids.stream}`;
  const wanted = hashOf({ times: wantedTimes, values: Array.from(lastYearSamples) });
  const same = (name: string, query: string, accept: string, read: (answer: Answer) => Rows | Promise<Rows>): Promise<boolean> =>
    checks.claim(
      name,
      `GET …/${query.split('?')[0]}, ${accept}`,
      `${lastYearSamples.length} rows, sha256 of times and values ${wanted}`,
      async () => {
        const answer = await checks.within(
          { method: 'GET', path: `${path}/${query}${query.includes('?') ? '&' : '?'}${range}`, as, headers: { accept } },
          { status: 200 },
        );
        const rows = await read(answer);
        need(rows.values.length === lastYearSamples.length, `${rows.values.length} rows`);
        const got = hashOf(rows);
        need(got === wanted, `${rows.values.length} rows, sha256 ${got}`);
        return `${rows.values.length} rows, sha256 ${got}`;
      },
    );
  await same('Samples as JSON', 'samples?raw=true', 'application/json', ({ json }) => ofSegments(json));
  await same('Samples as CSV', 'samples?raw=true', 'text/csv', ({ text }) => ofCsv(text));
  await same('Samples as protobuf', 'samples', 'application/x-protobuf', ({ bytes }) => ofProtobuf(bytes));
  await same('Samples as Arrow', 'samples?raw=true', 'application/vnd.apache.arrow.stream', ({ bytes }) => ofArrow(bytes));
  await same('A strip as WFDB', 'strip?format=wfdb', '*/*', ({ bytes }) => ofWfdb(bytes));
  await same('A strip as CSV, in millivolts', 'strip?format=csv', '*/*', ({ text }) => {
    const { times, values } = ofCsv(text);
    return { times, values: values.map((value) => Math.round(value * 200)) };
  });
  await checks.ask(
    'Samples as physical values',
    { method: 'GET', path: `${path}/samples?${range}`, as },
    {
      status: 200,
      says: 'digital / 200, exactly',
      test: ({ json }) => ofSegments(json).values.some((value, i) => value !== (lastYearSamples[i] ?? 0) / 200) && 'another value',
    },
  );
  for (const format of ['svg', 'png'] as const) {
    await checks.ask(
      `A strip as ${format}`,
      { method: 'GET', path: `${path}/strip?format=${format}&${range}`, as },
      {
        status: 200,
        says: `begins as ${format} does`,
        test: ({ bytes, text }) =>
          (format === 'svg' ? !text.includes('<svg') : Buffer.from(bytes.subarray(1, 4)).toString() !== 'PNG') && 'is something else',
      },
    );
  }
  const long = `since=2025-03-03T08:00:00Z&until=2025-03-03T08:01:01Z`;
  await checks.ask(
    'A strip of more than a minute',
    { method: 'GET', path: `${path}/strip?${long}`, as },
    { status: 400, code: 'range_too_large' },
  );
  await checks.ask(
    'Samples in a format that is none',
    { method: 'GET', path: `${path}/samples?${range}`, as, headers: { accept: 'image/gif' } },
    { status: 406, code: 'not_acceptable' },
  );

  await checks.claim(
    'Observations as FHIR R4',
    'GET /api/v1/observations with Accept: application/fhir+json',
    'as many, with the same ids, values and LOINC codes, as in JSON',
    async () => {
      const query = `/api/v1/observations?biosignal_id=61&subject_id=${ada.id}&quality_max=2`;
      const plain = (await checks.within({ method: 'GET', path: query, as }, { status: 200 })).json as {
        id: string;
        value: number;
        loinc_code: string;
      }[];
      const bundle = (
        await checks.within({ method: 'GET', path: query, as, headers: { accept: 'application/fhir+json' } }, { status: 200 })
      ).json as Bundle;
      const entries = bundle.entry ?? [];
      need(bundle.resourceType === 'Bundle' && bundle.type === 'searchset', 'no searchset Bundle');
      const links = bundle.link ?? [];
      need(links.length > 0, 'no link');
      for (const { relation, url } of links) need(URL.canParse(url), `the link ${relation} is not absolute`);
      need(plain.length > 0 && entries.length === plain.length, `${entries.length} entries, ${plain.length} observations`);
      for (const [i, { fullUrl, resource }] of entries.entries()) {
        const one = plain[i];
        need(URL.canParse(fullUrl), `entry ${i}: its fullUrl is not absolute`);
        need(resource.id === one?.id && resource.valueQuantity.value === one.value, `entry ${i} is another`);
        need(
          resource.code.coding[0]?.code === one.loinc_code && resource.subject.reference === `Patient/${ada.id}`,
          `entry ${i}: code or subject`,
        );
      }
      return `${entries.length} entries`;
    },
  );
  await checks.claim(
    'Everything of a person, as lines of JSON',
    'GET /api/v1/xusers/{xuserId}/export by the person',
    'the user, the samples that were sent, the text of the journal, and an end',
    async () => {
      const { text } = await checks.within(
        { method: 'GET', path: `/api/v1/xusers/${ada.id}/export`, as: ada.as },
        { status: 200, headers: { 'content-type': /ndjson/ } },
      );
      const lines = text.trimEnd().split('\n');
      const tables = new Set(lines.map((line) => (JSON.parse(line) as { table: string }).table));
      for (const table of ['xuser', 'stream', 'mood', 'journal_entry', 'episode', 'consent', 'end']) need(tables.has(table), `no ${table}`);
      need(text.includes('a quiet day'), 'no text of the journal');
      const digits = `[${Array.from(lastYearSamples.subarray(0, 100)).join(',')}`;
      need(text.replaceAll(' ', '').includes(digits), 'the samples of last year are not in it');
      return `${lines.length} lines of ${tables.size} tables`;
    },
  );
  await checks.claim(
    'The same by a key',
    'GET /api/v1/xusers/{xuserId}/export by a key of scope admin',
    'without the text of the journal',
    async () => {
      const { text } = await checks.within(
        { method: 'GET', path: `/api/v1/xusers/${ada.id}/export`, as: stage.byScope.admin },
        { status: 200 },
      );
      need(text.includes('"journal_entry"') && !text.includes('a quiet day'), 'the text of the journal is in it');
      return 'without it';
    },
  );
}

type Bundle = Readonly<{
  resourceType: string;
  type: string;
  link?: readonly { relation: string; url: string }[];
  entry?: readonly {
    fullUrl: string;
    resource: { id: string; valueQuantity: { value: number }; code: { coding: { code: string }[] }; subject: { reference: string } };
  }[];
}>;

function hashOf({ times, values }: Rows): string {
  const hash = createHash('sha256');
  for (const [i, value] of values.entries()) hash.update(`${times[i]} ${value}\n`);
  return hash.digest('hex').slice(0, 16);
}

function ofSegments(json: unknown): Rows {
  const times: bigint[] = [];
  const values: number[] = [];
  for (const { t0_ns: t0Ns, samples } of json as { t0_ns: bigint | number; samples: number[] }[]) {
    samples.forEach((value, i) => {
      times.push(BigInt(t0Ns) + BigInt(i) * STEP_NS);
      values.push(value);
    });
  }
  return { times, values };
}

function ofCsv(text: string): Rows {
  const rows = text
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(','));
  return { times: rows.map(([ns]) => BigInt(ns ?? 0)), values: rows.map(([, , value]) => Number(value)) };
}

/** SampleSegmentList of proto/query.proto. */
function ofProtobuf(bytes: Uint8Array): Rows {
  const times: bigint[] = [];
  const values: number[] = [];
  for (const { t0Ns, samplesDelta } of readSegments(bytes)) {
    let value = 0;
    for (const [i, delta] of samplesDelta.entries()) {
      value = (value + delta) | 0;
      times.push(t0Ns + BigInt(i) * STEP_NS);
      values.push(value);
    }
  }
  return { times, values };
}

async function ofArrow(bytes: Uint8Array): Promise<Rows> {
  const { tableFromIPC } = await import('apache-arrow'); // 60 ms that other commands do not need
  const table = tableFromIPC(bytes);
  const times: bigint[] = [];
  const values: number[] = [];
  for (const batch of table.batches) {
    const ns = batch.getChild('ts_ns')?.data[0]?.values as BigInt64Array | undefined;
    const physical = batch.getChild('value')?.data[0]?.values as Float64Array | undefined;
    need(ns !== undefined && physical !== undefined, 'a batch without times or values');
    times.push(...ns.subarray(0, batch.numRows));
    values.push(...physical.subarray(0, batch.numRows));
  }
  return { times, values };
}

/** A ZIP of stored files, NAME.hea and NAME.dat. */
function ofWfdb(zip: Uint8Array): Rows {
  const bytes = Buffer.from(zip);
  const files = new Map<string, Buffer>();
  for (let at = 0; bytes.readUInt32LE(at) === 0x04034b50;) {
    const [size, nameLength, extraLength] = [bytes.readUInt32LE(at + 18), bytes.readUInt16LE(at + 26), bytes.readUInt16LE(at + 28)];
    const name = bytes.toString('utf8', at + 30, at + 30 + nameLength);
    const from = at + 30 + nameLength + extraLength;
    files.set(name, bytes.subarray(from, from + size));
    at = from + size;
  }
  const named = (end: string): Buffer => [...files].find(([name]) => name.endsWith(end))?.[1] ?? Buffer.alloc(0);
  const header = parseHeader(named('.hea').toString());
  need(!('rejected' in header), 'the header is none');
  const leads = decodeGroup(named('.dat'), header.signals, header);
  need(Array.isArray(leads) && leads.length === 1, 'the samples do not fit the header');
  const [lead] = leads;
  need(lead !== undefined && lead.checksumOk && lead.gain === 200, 'checksum or gain');
  return { times: wantedTimes, values: Array.from(lead.samples) };
}
