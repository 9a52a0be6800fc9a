/** `biosignal doctor`: checks machine, settings, database and service, and reports problems and remedies. */
import { EPOCH_MAX, EPOCHS_FEW_LEFT, EPOCHS_MANY, epochsUsed } from '../cluster/epochs.ts';
import { existsSync, readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { arch, availableParallelism, hostname, platform, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLoopbackHost, needSecret, readConfig } from '../config.ts';
import type { Config } from '../config.ts';
import { openFilesMax } from '../http/open-files.ts';
import { isTimeZone, usedZone } from '../http/time-zone.ts';
import { loadUws } from '../http/uws.ts';
import { inspectSecret } from '../records/secret-change.ts';
import { openDatabase } from '../storage/database/database.ts';
import type { Database, ServerKind } from '../storage/database/database.ts';
import { OVERDUE_SEC } from '../storage/maintenance.ts';
import { connectionRoom, fewConnections } from '../storage/database/roles.ts';
import { projectRetentionAgeSec } from '../storage/retention.ts';
import { countsAsFailed, failingJobs } from '../storage/schema/timescale-jobs.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_UNAVAILABLE } from './command.ts';
import { notStored } from './backlog.ts';
import { hasDatabase, locateDatabase } from './open-database.ts';
import type { DatabaseAddress } from './open-database.ts';
import { connectionOf } from './psql.ts';

type Finding = Readonly<{
  check: string;
  state: 'ok' | 'warning' | 'fault';
  found: string;
  /** What to do about it. */
  advice?: string;
}>;

const GIB = 1024 ** 3;
/** An owner renews every second, and one that waits takes over after ten. */
const OWNER_SILENT_SEC = 15;
/** A node renews every second: one that was killed a moment ago does not count, s. */
const NODE_SILENT_SEC = 3;

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check machine, settings, database and service, and report problems.',
  options: {
    health: { type: 'boolean', doc: 'Only ask the service on PORT whether it is healthy (for container health checks).' },
    'no-database': { type: 'boolean', doc: 'Do not touch the database (without DATABASE_URL it would be started).' },
  },
  examples: ['biosignal doctor', 'biosignal doctor --json'],
  run: async ({ console, options, json }) => {
    if (options.flag('health')) return await health(console);
    const findings: Finding[] = [...machine(), ...native()];
    let config: Config | null = null;
    try {
      config = readConfig(console.env);
      findings.push({ check: 'settings', state: 'ok', found: 'valid' });
    } catch (error) {
      findings.push({ check: 'settings', state: 'fault', found: messageOf(error), advice: "see 'biosignal config print'" });
    }
    if (config !== null) {
      findings.push(...exposure(config), ...noSecret(config), await disk(config));
      let ownerPort: number | null = null;
      if (!options.flag('no-database')) findings.push(...(await databaseFindings(console, config, (port) => (ownerPort = port))));
      findings.push(...(await service(config, ownerPort)));
    }
    if (json) console.out(JSON.stringify(findings, null, 2));
    else {
      const mark = { ok: 'ok     ', warning: 'WARNING', fault: 'FAULT  ' } as const;
      for (const { check, state, found, advice } of findings) {
        console.out(`${mark[state]}  ${check.padEnd(12)}  ${found}`);
        if (advice !== undefined) console.out(`${' '.repeat(23)}> ${advice}`);
      }
    }
    return findings.some(({ state }) => state === 'fault') ? EXIT_FAILED : EXIT_OK;
  },
};

function machine(): Finding[] {
  const runtime = `Node ${process.version} on ${platform()} ${arch()}, ${availableParallelism()} cores, ${(totalmem() / GIB).toFixed(1)} GiB`;
  const findings: Finding[] = [{ check: 'machine', state: 'ok', found: runtime }];
  if (platform() !== 'linux' || arch() !== 'x64') {
    findings[0] = { check: 'machine', state: 'fault', found: runtime, advice: 'the socket library is locked for Linux on x64' };
  }
  const limit = openFilesMax();
  if (limit !== null) {
    const few = limit < 65_536;
    findings.push({
      check: 'open files',
      state: few ? 'warning' : 'ok',
      found: `${limit} per process`,
      ...(few ? { advice: 'each device and viewer is one socket: raise it (LimitNOFILE=262144, or ulimit -n)' } : {}),
    });
  }
  return findings;
}

function native(): Finding[] {
  try {
    loadUws();
    return [{ check: 'sockets', state: 'ok', found: 'uWebSockets.js loads and its hash is as recorded' }];
  } catch (error) {
    return [{ check: 'sockets', state: 'fault', found: messageOf(error), advice: 'npm ci; on glibc older than 2.36 use a newer system' }];
  }
}

function exposure(config: Config): Finding[] {
  const loopback = isLoopbackHost(config.host);
  const tls = config.tlsCert !== '' && config.tlsKey !== '';
  if (loopback || tls) return [{ check: 'transport', state: 'ok', found: tls ? 'TLS' : `plain HTTP on ${config.host} only` }];
  if (config.trustProxy.length > 0) {
    return [{ check: 'transport', state: 'ok', found: `TLS is expected from the proxy at ${config.trustProxy.join(', ')}` }];
  }
  const advice = 'set BIO_TLS_CERT and BIO_TLS_KEY, or BIO_TRUST_PROXY; until then other machines get https_required';
  return [{ check: 'transport', state: 'warning', found: `${config.host} without TLS`, advice }];
}

/** Findings about a missing secret. Which one was used, and whether it is right, only the database can tell. */
function noSecret(config: Config): Finding[] {
  if (config.secret !== '') return [];
  const found = 'no BIO_SECRET: journals and signing keys are encrypted with a secret that is stored in the database itself';
  try {
    needSecret(config);
  } catch (error) {
    return [{ check: 'secret', state: 'fault', found, advice: messageOf(error) }];
  }
  const advice = 'set one before other machines reach the service (openssl rand -base64 32), and keep it';
  return [{ check: 'secret', state: 'warning', found, advice }];
}

async function disk(config: Config): Promise<Finding> {
  if (config.databaseUrl !== '') return { check: 'disk', state: 'ok', found: 'data are on the database server' };
  let folder = resolve(config.dataDir);
  while (!existsSync(folder)) folder = resolve(folder, '..');
  const { bavail, bsize } = await statfs(folder);
  const free = (bavail * bsize) / GIB;
  // One device with 400 samples/s at 1.3 bytes writes 45 MB a day.
  const state = free < 1 ? 'fault' : free < 10 ? 'warning' : 'ok';
  const found = `${free.toFixed(1)} GiB free below ${config.dataDir}`;
  return { check: 'disk', state, found, ...(state === 'ok' ? {} : { advice: 'a device of 400 samples/s writes about 45 MB a day' }) };
}

const kindWords: Readonly<Record<ServerKind, readonly [string, string?]>> = {
  timescale: ['TimescaleDB, community licence'],
  timescale_apache: ['TimescaleDB, Apache licence', 'no columnstore compression: old data take more space'],
  postgres: [
    'PostgreSQL without TimescaleDB',
    'no hypertables and no columnstore: native partitions are used; fine for tests and small sites',
  ],
};

/** @param onPort called with the port of a service on this machine, where the database knows of one */
async function databaseFindings(console: Console, config: Config, onPort: (port: number) => void): Promise<Finding[]> {
  if (!hasDatabase(config)) {
    return [{ check: 'database', state: 'ok', found: `none yet in ${config.dataDir}: the service creates an embedded one when it starts` }];
  }
  let address;
  try {
    address = await locateDatabase(console, config);
  } catch (error) {
    return [{ check: 'database', state: 'fault', found: messageOf(error) }];
  }
  try {
    const database = await openDatabase(address.url, { applicationName: 'biosignal doctor', poolSizeMax: 1 });
    try {
      return [
        ...(await server(database, placeOf(address))),
        ...(await connections(database, config)),
        await schema(database),
        await clock(database),
        ...(await owner(database, onPort)),
        ...(await sameNames(database)),
        ...(await refusedNodes(database)),
        ...(await epochs(database)),
        await backlog(database),
        ...(await setAside(database)),
        ...(await housekeeping(database)),
        ...(await erasures(database)),
        ...(await timeZones(database)),
        ...(await secretFindings(database, config)),
      ];
    } finally {
      await database.close();
      if (!database.pool.ended) await database.pool.end();
    }
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? ` (${error.cause.message})` : '';
    return [
      {
        check: 'database',
        state: 'fault',
        found: `${messageOf(error)}${cause}`,
        advice: 'check DATABASE_URL, and that the server is running',
      },
    ];
  } finally {
    await address.stop();
  }
}

async function server(database: Database, where: string): Promise<Finding[]> {
  const { rows } = await database.pool.query<{
    version: string;
    timescale: string | null;
    connections: number;
    used: number;
    fsync: string;
    flush: string;
  }>(
    `select current_setting('server_version') as version,
       (select extversion from pg_extension where extname = 'timescaledb') as timescale,
       current_setting('max_connections')::int as connections, current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as flush,
       (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used`,
  );
  const { version, timescale, connections, used, fsync, flush } = rows[0]!;
  const [words, lost] = kindWords[database.kind];
  const found = `${words}${timescale === null ? '' : ` ${timescale}`} on PostgreSQL ${version} (${where}), ${used} of ${connections} connections`;
  const findings: Finding[] = [{ check: 'database', state: 'ok', found, ...(lost === undefined ? {} : { advice: lost }) }];
  if (fsync !== 'on') {
    findings.push({
      check: 'durability',
      state: 'fault',
      found: 'fsync is off',
      advice: 'acknowledged packets can be lost: set fsync = on',
    });
  }
  if (flush === 'off') {
    findings.push({
      check: 'durability',
      state: 'warning',
      found: 'synchronous_commit is off',
      advice: 'packets are flushed all the same, but what people enter can be lost in a crash: set synchronous_commit = on',
    });
  }
  if (timescale !== null && olderThan(timescale, [2, 29, 2])) {
    findings.push({
      check: 'timescaledb',
      state: 'warning',
      found: timescale,
      advice: 'the tests run on 2.29.2; use that or a newer version',
    });
  }
  return findings;
}

async function nodesThatRun(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ nodes: number }>(
    `select count(*)::int as nodes from cluster_node where renewed_at > clock_timestamp() - interval '10 s'`,
  );
  return Math.max(1, rows[0]!.nodes);
}

/** Checks free connections. Those of nodes already running count as their own; each may open as many as this one's settings say. */
async function connections(database: Database, config: Config): Promise<Finding[]> {
  const { limit } = await connectionRoom(database);
  const { rows } = await database.pool.query<{ others: number; hasNodes: boolean }>(
    `select count(*)::int as others, to_regclass('cluster_node') is not null as "hasNodes" from pg_stat_activity
     where backend_type = 'client backend' and not (datname = current_database() and application_name like 'biosignal%')`,
  );
  const { others, hasNodes } = rows[0]!;
  const nodes = hasNodes ? await nodesThatRun(database) : 1;
  const room = { limit, used: others };
  if (room.limit - room.used >= nodes * config.dbConnectionsMax) return [];
  return [{ check: 'connections', state: 'warning', found: fewConnections(room, config.dbConnectionsMax, nodes) }];
}

function olderThan(version: string, wanted: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [i, part] of wanted.entries()) if ((parts[i] ?? 0) !== part) return (parts[i] ?? 0) < part;
  return false;
}

async function schema(database: Database): Promise<Finding> {
  const { rows: has } = await database.pool.query<{ migrated: boolean }>(`select to_regclass('migration') is not null as migrated`);
  if (has[0]?.migrated !== true) {
    return {
      check: 'schema',
      state: 'warning',
      found: 'empty database',
      advice: "run 'biosignal migrate', or start the service, which does it",
    };
  }
  const { rows } = await database.pool.query<{ version: number }>('select coalesce(max(id), 0) as version from migration');
  const files = readdirSync(fileURLToPath(new URL('../../sql', import.meta.url))).filter((name) => /^\d{6}-.*\.sql$/.test(name));
  const wanted = Math.max(...files.map((name) => Number(name.slice(0, 6))));
  const version = rows[0]!.version;
  if (version === wanted) return { check: 'schema', state: 'ok', found: `version ${version}` };
  return version < wanted
    ? {
        check: 'schema',
        state: 'warning',
        found: `version ${version} of ${wanted}`,
        advice: "run 'biosignal migrate', or restart the service",
      }
    : { check: 'schema', state: 'fault', found: `version ${version}, this release knows ${wanted}`, advice: 'start the newer release' };
}

async function secretFindings(database: Database, config: Config): Promise<Finding[]> {
  const { rows: has } = await database.pool.query<{ there: boolean }>(`select to_regclass('service_secret') is not null as there`);
  if (has[0]?.there !== true) return [];
  const { state, sentence } = await inspectSecret(database, config);
  if (state !== 'lost') return config.secret === '' ? [] : [{ check: 'secret', state: 'ok', found: sentence }];
  const [found = '', ...advice] = sentence.split(/(?<=\.) /);
  return [{ check: 'secret', state: 'fault', found, advice: advice.join(' ') }];
}

async function clock(database: Database): Promise<Finding> {
  const before = Date.now();
  const { rows } = await database.pool.query<{ ms: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as ms');
  const offMs = rows[0]!.ms - (before + Date.now()) / 2;
  const found = `${offMs >= 0 ? '+' : ''}${offMs.toFixed(0)} ms against the database`;
  if (Math.abs(offMs) < 1000) return { check: 'clock', state: 'ok', found };
  return { check: 'clock', state: 'warning', found, advice: 'run a time service (chrony, systemd-timesyncd) on both machines' };
}

/** Where the database is, for people and other programs. */
function placeOf({ url, where, passwordFile }: DatabaseAddress): string {
  const { host, port, user, database } = connectionOf(url);
  const password = passwordFile === null ? 'DATABASE_URL has the password' : `the password is in ${passwordFile}`;
  return `${where}: ${host}:${port}, database ${database}, user ${user}, ${password}`;
}

/** Reports which instance accepts packets, or which nodes share them. */
async function owner(database: Database, onPort: (port: number) => void): Promise<Finding[]> {
  const nobody: Finding = { check: 'owner', state: 'ok', found: 'no instance owns the packet log' };
  const { rows: has } = await database.pool.query<{ there: boolean }>(
    `select exists (select from pg_attribute where attrelid = to_regclass('packet_log_checkpoint') and attname = 'owner_name') as there`,
  );
  if (has[0]?.there !== true) return [nobody];
  const { rows } = await database.pool.query<{ owned: boolean; id: string; name: string; epoch: string; age: number }>(
    `select owner is not null as owned, owner::text as id, owner_name as name, epoch::text, extract(epoch from clock_timestamp() - renewed_at)::float8 as age
     from packet_log_checkpoint order by renewed_at`,
  );
  const owned = rows.filter((each) => each.owned);
  const row = owned[0]; // of several partitions the one that was confirmed longest ago
  if (row === undefined) return [nobody];
  const names = namesOf(owned);
  const found =
    names.length > 1
      ? `${names.length} nodes share the packet log (${names.join(', ')}), each confirmed within ${Math.ceil(row.age)} s`
      : `${row.name} owns the packet log (epoch ${row.epoch}), confirmed ${row.age.toFixed(0)} s ago`;
  const [, host, port = '0'] = /^(.*):(\d+)(?:\/\d+)?$/.exec(row.name) ?? [];
  if (row.age < OWNER_SILENT_SEC && host === hostname() && Number(port) > 0) onPort(Number(port));
  const silent = owned.filter(({ age }) => age >= OWNER_SILENT_SEC);
  const findings: Finding[] = [];
  if (owned.length < rows.length) findings.push(withoutOwner(rows.length - owned.length, rows.length, found));
  if (silent.length > 0) findings.push(silentOwner(silent, rows.length, found));
  return findings.length > 0 ? findings : [{ check: 'owner', state: 'ok', found }];
}

/** Of each owner. */
const namesOf = (owned: readonly Readonly<{ id: string; name: string }>[]): string[] =>
  [...new Map(owned.map(({ id, name }) => [id, name])).values()].toSorted();

/** @param others who owns the other partitions */
const withoutOwner = (count: number, all: number, others: string): Finding => ({
  check: 'owner',
  state: 'warning',
  found: `${count} of ${all} partitions have no owner: packets of their people are refused; ${others}`,
  advice: "a node takes them within seconds; if none does, see 'biosignal cluster status'",
});

/** Each start that takes the log, and each move of partitions, uses one up. */
async function epochs({ pool }: Database): Promise<Finding[]> {
  const { rows: has } = await pool.query<{ there: boolean }>(`select to_regclass('cluster_setting') is not null as there`);
  if (has[0]?.there !== true) return [];
  const { rows } = await pool.query<{ epoch: number }>('select epoch::float8 as epoch from cluster_setting');
  const { epoch } = rows[0]!;
  if (epochsUsed(epoch) < EPOCHS_MANY) return [];
  return [
    {
      check: 'epochs',
      state: epochsUsed(epoch) < EPOCHS_FEW_LEFT ? 'warning' : 'fault',
      found: `${epoch} of ${EPOCH_MAX} epochs were given: then nobody can take the packet log any more`,
      advice:
        'each start and each move of partitions takes one: find out which node restarts in a loop, and write to us well before the end',
    },
  ];
}

/** Nodes that may open no connection: they go on with what they have open, and take no partition. */
async function refusedNodes({ pool }: Database): Promise<Finding[]> {
  const { rows: has } = await pool.query<{ there: boolean }>(
    `select exists (select from pg_attribute where attrelid = to_regclass('cluster_node') and attname = 'refused') as there`,
  );
  if (has[0]?.there !== true) return [];
  const { rows } = await pool.query<{ name: string }>(
    'select name from cluster_node where refused and renewed_at > clock_timestamp() - make_interval(secs => $1) order by name',
    [OWNER_SILENT_SEC],
  );
  if (rows.length === 0) return [];
  return [
    {
      check: 'owner',
      state: 'warning',
      found: `the database refuses ${rows.map(({ name }) => name).join(', ')} new connections`,
      advice: 'was the password changed, or the login denied connections or its roles? Restart the node once DATABASE_URL works again',
    },
  ];
}

/** Nodes that were given the same name, as by settings that were copied. One that was killed and started again is two for some seconds. */
async function sameNames({ pool }: Database): Promise<Finding[]> {
  const { rows: has } = await pool.query<{ there: boolean }>(`select to_regclass('cluster_node') is not null as there`);
  if (has[0]?.there !== true) return [];
  const { rows } = await pool.query<{ name: string; nodes: number }>(
    `select name, count(*)::int as nodes from cluster_node where renewed_at > clock_timestamp() - make_interval(secs => $1)
     group by name having count(*) > 1 order by name`,
    [NODE_SILENT_SEC],
  );
  return rows.map(({ name, nodes }) => ({
    check: 'owner',
    state: 'warning',
    found: `${nodes} nodes that run are called ${name}`,
    advice: 'give each a BIO_NODE_NAME of its own: their lines in logs and metrics are not told apart, and drain wants an id',
  }));
}

/** @param silent partitions whose owner does not confirm them, the oldest first @param found who owns the packet log */
function silentOwner(silent: readonly Readonly<{ id: string; name: string; age: number }>[], all: number, found: string): Finding {
  const who = namesOf(silent).join(', ');
  const silence = `packets of their people wait; confirmed ${silent[0]!.age.toFixed(0)} s ago`;
  return {
    check: 'owner',
    state: 'warning',
    found: all === 1 ? found : `${who} has ${silent.length} of ${all} partitions and gives no sign: ${silence}`,
    advice: 'it was killed, hangs or is cut off from the database; a second instance would have taken over',
  };
}

/** Packets that are durable but not yet in the tables that queries read. */
async function backlog(database: Database): Promise<Finding> {
  const { rows: has } = await database.pool.query<{ there: boolean }>(`select to_regclass('packet_log') is not null as there`);
  if (has[0]?.there !== true) return { check: 'backlog', state: 'ok', found: 'none' };
  const { rows } = await database.pool.query<{ batches: number; age: number | null }>(
    `select count(distinct l.batch_id)::int as batches, extract(epoch from now() - min(l.time))::float8 as age ${notStored}`,
  );
  const { batches, age } = rows[0]!;
  const found =
    batches === 0
      ? 'every packet has reached the tables'
      : `${batches} batches of packets after the checkpoint, the oldest ${(age ?? 0).toFixed(0)} s old`;
  const old = (age ?? 0) > 600;
  return {
    check: 'backlog',
    state: old ? 'warning' : 'ok',
    found,
    ...(old ? { advice: 'the service replays them when it starts; is it running?' } : {}),
  };
}

/** Checks background jobs whose failure would not be noticed at once. */
async function housekeeping(database: Database): Promise<Finding[]> {
  const { rows: has } = await database.pool.query<{ there: boolean }>(`select to_regclass('project_retention_swept') is not null as there`);
  if (has[0]?.there !== true) return [];
  const findings: Finding[] = [];
  const ageSec = await projectRetentionAgeSec(database.pool);
  if (ageSec > OVERDUE_SEC) {
    findings.push({
      check: 'retention',
      state: 'warning',
      found: `last applied in full ${Math.round(ageSec / 60)} minutes ago: rows are kept longer than their project asks for`,
      advice: 'the service applies it: is it running, and what does its log say about retention?',
    });
  }
  for (const { job, why } of await failingJobs(database)) {
    findings.push({ check: 'timescaledb', state: 'warning', found: `${job}: ${why}`, advice: JOB_ADVICE });
  }
  if (await countsAsFailed(database)) {
    findings.push({
      check: 'timescaledb',
      state: 'warning',
      found: 'counts runs of jobs as failed that have done their work, and repeats them later and later',
      advice: 'this version of TimescaleDB does so on PostgreSQL from 15.20 and 17.12 on: install a later one',
    });
  }
  return findings;
}

/** Reports erasures that a kill has interrupted and that nothing finishes. */
async function erasures({ pool }: Database): Promise<Finding[]> {
  const { rows: has } = await pool.query<{ there: boolean }>(`select to_regclass('unfinished_erasure') is not null as there`);
  if (has[0]?.there !== true) return [];
  const { rows } = await pool.query<{ id: string; since: string }>(
    `select person_id as id, to_char(erased_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as since
     from unfinished_erasure where erased_at < now() - interval '1 minute' order by erased_at limit 20`,
  );
  if (rows.length === 0) return [];
  return [
    {
      check: 'erasures',
      state: 'warning',
      found: `interrupted, so rows may be left: ${rows.map(({ id, since }) => `${id} (${since} UTC)`).join(', ')}`,
      advice: "a running service finishes them within seconds; if none runs, give 'biosignal erase UUID' again",
    },
  ];
}

/** People and projects that are named at most. */
const ZONES_MAX = 20;

/** Reports people and projects with a time zone that is no longer accepted. */
async function timeZones({ pool }: Database): Promise<Finding[]> {
  const { rows: has } = await pool.query<{ there: boolean }>(`select to_regclass('xuser') is not null as there`);
  if (has[0]?.there !== true) return [];
  const { rows: zones } = await pool.query<{ zone: string }>(
    'select distinct time_zone as zone from xuser where time_zone is not null union select time_zone from project',
  );
  const refused = zones.flatMap(({ zone }) => (isTimeZone(zone) ? [] : [zone]));
  if (refused.length === 0) return [];
  const { rows } = await pool.query<{ what: string; zone: string; otherwise: string }>(
    `select 'project ' || name as what, time_zone as zone, 'UTC' as otherwise from project where time_zone = any ($1)
     union all (select external_id || ' (' || id || ')', time_zone, 'that of the project' from xuser where time_zone = any ($1) order by external_id)
     limit ${ZONES_MAX + 1}`,
    [refused],
  );
  const words = rows.slice(0, ZONES_MAX).map(({ what, zone, otherwise }) => `${what}: ${zone}, used as ${usedZone(zone) ?? otherwise}`);
  return [
    {
      check: 'time zones',
      state: 'warning',
      found: `accepted by an older release, no longer now: ${words.join('; ')}${rows.length > ZONES_MAX ? '; and more' : ''}`,
      advice: 'name a place, such as Europe/Paris: PATCH /api/v1/xusers/{id} with time_zone',
    },
  ];
}

const JOB_ADVICE = 'until it runs, old data are not compressed and charts of older data get slower: see timescaledb_information.job_errors';

/** Reports data that could not be stored. */
async function setAside(database: Database): Promise<Finding[]> {
  const { rows: has } = await database.pool.query<{ there: boolean }>(`select to_regclass('set_aside') is not null as there`);
  if (has[0]?.there !== true) return [];
  const { rows } = await database.pool.query<{ kind: string; n: number; newest: string; reason: string }>(
    `select kind, count(*)::int as n, to_char(max(time) at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as newest,
       (array_agg(reason order by id desc))[1] as reason
     from set_aside group by kind order by max(id) desc`,
  );
  if (rows.length === 0) return [{ check: 'set aside', state: 'ok', found: 'everything that was acknowledged could be stored' }];
  const kinds = rows.map(({ kind, n }) => `${n} ${kind}`).join(', ');
  const { newest, reason } = rows[0]!;
  return [
    {
      check: 'set aside',
      state: 'warning',
      found: `could not be stored: ${kinds}; the newest, at ${newest} UTC: ${reason}`,
      advice: "'biosignal set-aside list' shows them, 'biosignal set-aside replay' stores them once the cause is fixed",
    },
  ];
}

/** Asks the running service, whose settings may differ from this command's.  @param ownerPort port of the packet log's owner on this
 *  machine, used when nothing listens on the configured port */
async function service(config: Config, ownerPort: number | null): Promise<Finding[]> {
  const scheme = config.tlsCert === '' ? 'http' : 'https';
  const base = `${scheme}://127.0.0.1:${config.port}`;
  let response;
  try {
    response = await fetch(`${base}/readyz`, { signal: AbortSignal.timeout(3000) });
  } catch {
    if (ownerPort !== null && ownerPort !== config.port) return await service({ ...config, port: ownerPort }, null);
    const advice = 'the service is not running, or listens on another port (PORT=8081 biosignal doctor)';
    return [{ check: 'service', state: 'warning', found: `nothing listens on ${base}`, advice }];
  }
  const { status, parts = [] } = (await response.json().catch(() => ({}))) as Readiness;
  const failing = parts.filter(({ name, ok }) => !ok && !(status === 'standby' && name === 'packet_log'));
  const faults = failing.map(({ name, detail }): Finding => ({ check: 'service', state: 'fault', found: `${name}: ${detail}` }));
  if (status === 'standby') return [{ check: 'service', state: 'ok', found: `${base} is on standby for another instance` }, ...faults];
  const state = response.ok ? 'ok' : 'warning';
  return [{ check: 'service', state, found: `${base} answers ${response.status} to /readyz` }, ...faults];
}

type Readiness = Readonly<{ status?: string; parts?: readonly Readonly<{ name: string; ok: boolean; detail: string }>[] }>;

async function health(console: Console): Promise<number> {
  const config = readConfig(console.env);
  const base = `${config.tlsCert === '' ? 'http' : 'https'}://127.0.0.1:${config.port}`;
  try {
    const response = await fetch(`${base}/healthz`, { signal: AbortSignal.timeout(3000) });
    console.out(`${base}/healthz: ${response.status}`);
    return response.ok ? EXIT_OK : EXIT_FAILED;
  } catch (error) {
    console.err(`${base}/healthz: ${messageOf(error)}`);
    return EXIT_UNAVAILABLE;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
