/** Writes beats and features to their tables: deletes the replaced range, sends new rows by COPY, adds missing methods to the catalog. */
import type pg from 'pg';
import { CopyBuffer, copyRows, microseconds } from './copy-binary.ts';
import { cutAtReplacements } from './derived-steps.ts';
import type { Step } from './derived-steps.ts';
import { derivedLock } from './database/locks.ts';
import { RowFault } from './database/sql-states.ts';
import type { Partitions } from './schema/partitions.ts';

export type DerivedTablesOptions = Readonly<{
  /** See DerivedWriterOptions. */
  currentMethods: readonly string[];
  /** Cadence of features by name, Hz, for the catalog of methods. */
  cadences: Readonly<Record<string, number>>;
  /** See DerivedWriterOptions. */
  valueSteps: Readonly<Record<string, number>>;
}>;

type Method = Readonly<{ kind: 'beat' | 'feature'; code: string; name: string }>;

/** Rows as they go to the server, and the step whose range is deleted before them. */
export type EncodedPart = Readonly<{
  replaces: Step | null;
  beats: CopyBuffer;
  features: CopyBuffer;
  /** Unix µs. */
  beatTimes: readonly number[];
  featureTimes: readonly number[];
}>;

/** The name of a beat's method is part of its code. */
const BEAT_NAME = '';
const beatKinds = ['normal', 'ectopic', 'artefact', 'interpolated'] as const;
const BEAT_COLUMNS = 'time, ts_ns, stream_id, channel_no, method_id, interval_ms, kind, qmask, reason';
const FEATURE_COLUMNS = 'time, ts_ns, value, stream_id, method_id, channel_no, qmask';

export class DerivedTables {
  readonly #partitions: Partitions;
  readonly #options: DerivedTablesOptions;
  /** By code, then by name. */
  readonly #methodIds = { beat: new Map<string, Map<string, number>>(), feature: new Map<string, Map<string, number>>() };

  constructor(partitions: Partitions, options: DerivedTablesOptions) {
    this.#partitions = partitions;
    this.#options = options;
  }

  /** Rows as they go to the server; adds missing methods to the catalog. */
  async encode(client: pg.Client, steps: readonly Step[]): Promise<readonly EncodedPart[]> {
    const missing = new Map<string, Method>();
    const encodeAll = (): EncodedPart[] => {
      try {
        return cutAtReplacements(steps).map((part) => this.#encodePart(part, missing));
      } catch (error) {
        throw new RowFault(`it could not be encoded: ${(error as Error).message}`, { cause: error });
      }
    };
    const parts = encodeAll();
    if (missing.size === 0) return parts;
    for (const method of missing.values()) await this.#enterMethod(client, method);
    return encodeAll();
  }

  #encodePart(part: readonly Step[], missing: Map<string, Method>): EncodedPart {
    const beats = new CopyBuffer(1024);
    const features = new CopyBuffer();
    const beatTimes: number[] = [];
    const featureTimes: number[] = [];
    for (const { epochNs, rows } of part) {
      for (const beat of rows.beats) {
        const methodId = this.#methodId('beat', beat.method, BEAT_NAME, missing);
        const tsNs = epochNs + beat.tNs;
        const us = microseconds(tsNs);
        beatTimes.push(us);
        beats.row(9);
        beats.timestamptz(us);
        beats.int8(tsNs);
        beats.int4(rows.streamId);
        beats.int2(beat.channelNo);
        beats.int2(methodId);
        beats.float8(beat.ibiMs);
        beats.int2(beatKinds.indexOf(beat.kind));
        beats.int2(beat.quality);
        beats.text(beat.reason);
      }
      for (const feature of rows.features) {
        const methodId = this.#methodId('feature', feature.methodCode, feature.feature, missing);
        const tsNs = epochNs + feature.tNs;
        const us = microseconds(tsNs);
        featureTimes.push(us);
        features.row(7);
        features.timestamptz(us);
        features.int8(tsNs);
        features.float8(feature.value);
        features.int4(rows.streamId);
        features.int2(methodId);
        features.int2(feature.channelNo);
        features.int2(feature.qmask);
      }
    }
    const first = part[0]!;
    return { replaces: first.rows.replaces === null ? null : first, beats, features, beatTimes, featureTimes };
  }

  async ensurePartitions(client: pg.Client, parts: readonly EncodedPart[]): Promise<void> {
    for (const { beatTimes, featureTimes } of parts) {
      await this.#partitions.ensure(client, 'beat', beatTimes);
      await this.#partitions.ensure(client, 'feature', featureTimes);
    }
  }

  /** Writes one replacement and the rows that follow it, up to the next. */
  async write(client: pg.Client, { replaces, beats, features }: EncodedPart, careful: boolean): Promise<void> {
    if (replaces !== null) await this.#deleteRange(client, replaces);
    if (careful) {
      await copyByTemporary(client, 'beat', BEAT_COLUMNS, 'stream_id, channel_no, method_id, time', beats);
      await copyByTemporary(client, 'feature', FEATURE_COLUMNS, 'stream_id, method_id, channel_no, time', features);
    } else {
      await copyRows(client, `beat (${BEAT_COLUMNS})`, beats);
      await copyRows(client, `feature (${FEATURE_COLUMNS})`, features);
    }
  }

  async #deleteRange(client: pg.Client, { epochNs, rows }: Step): Promise<void> {
    const { fromNs, toNs } = rows.replaces!;
    // Of two replacements at the same moment neither would see the other's rows, and the rows of both would stay.
    await client.query(`select pg_advisory_xact_lock(${derivedLock(rows.streamId)})`);
    const range = [microseconds(epochNs + fromNs), microseconds(epochNs + toNs), epochNs + fromNs, epochNs + toNs].map(String);
    for (const table of ['beat', 'feature']) {
      await client.query(
        `delete from ${table}
         where time >= timestamptz 'epoch' + $1::int8 * interval '1 microsecond' and time <= timestamptz 'epoch' + $2::int8 * interval '1 microsecond'
           and ts_ns >= $3 and ts_ns < $4
           and stream_id = $5 and method_id = any ((select array_agg(id) from method where code = any ($6))::smallint[])`,
        [...range, rows.streamId, this.#options.currentMethods],
      );
    }
  }

  /** @param name BEAT_NAME for beats  @returns 0 when the method is missing, and notes it */
  #methodId(kind: Method['kind'], code: string, name: string, missing: Map<string, Method>): number {
    const id = this.#methodIds[kind].get(code)?.get(name);
    if (id !== undefined) return id;
    missing.set(`${kind}:${code}:${name}`, { kind, code, name });
    return 0;
  }

  async #enterMethod(client: pg.Client, { kind, code, name: given }: Method): Promise<void> {
    const name = given === BEAT_NAME ? code.replace(/^[^:]*:|_v\d+$/g, '') : given;
    const cadence = kind === 'feature' ? (this.#options.cadences[name] ?? null) : null;
    const { rows } = await client.query<{ id: number }>(
      `insert into method (kind, name, code, cadence_hz, step, unit)
       values ($1, $2, $3, $4, $5, coalesce((select unit from biosignal where feature = $2 and project_id is null limit 1), ''))
       on conflict (kind, name, code) do update
       set cadence_hz = coalesce(excluded.cadence_hz, method.cadence_hz), step = greatest(excluded.step, method.step) returning id`,
      [kind, name, code, cadence, this.#options.valueSteps[code] ?? 0],
    );
    const ids = this.#methodIds[kind];
    if (!ids.has(code)) ids.set(code, new Map());
    ids.get(code)!.set(given, rows[0]!.id);
  }
}

/** The newest row of a key wins, as if rows had been written one after the other. */
async function copyByTemporary(client: pg.Client, table: string, columns: string, key: string, rows: CopyBuffer): Promise<void> {
  if (rows.rowCount === 0) return;
  const temporary = `incoming_${table}`;
  await client.query(
    `create temporary table if not exists ${temporary} (like ${table}, ordinal bigint generated always as identity) on commit delete rows`,
  );
  await copyRows(client, `${temporary} (${columns})`, rows);
  const values = columns.split(', ').filter((column) => !key.split(', ').includes(column));
  await client.query(
    `insert into ${table} (${columns}) select distinct on (${key}) ${columns} from ${temporary} order by ${key}, ordinal desc
     on conflict (${key}) do update set ${values.map((column) => `${column} = excluded.${column}`).join(', ')}`,
  );
  await client.query(`delete from ${temporary}`);
}
