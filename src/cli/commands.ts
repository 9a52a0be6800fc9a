/** The commands of the binary, in the order of the overview. Each is loaded when it is called: `--help` must not open a database. */
import type { Command } from './command.ts';

type Entry = Readonly<{ summary: string; load: () => Promise<Command> }>;

export const commands: Readonly<Record<string, Entry>> = {
  init: {
    summary: 'Set up a service: settings file, database schema, first organization with keys, first operator.',
    load: async () => (await import('./init.ts')).init,
  },
  start: { summary: 'Run the service in the foreground.', load: async () => (await import('./start.ts')).start },
  doctor: {
    summary: 'Check machine, settings, database and service, and report problems.',
    load: async () => (await import('./doctor.ts')).doctor,
  },
  migrate: { summary: 'Migrate the database to the schema of this release.', load: async () => (await import('./migrate.ts')).migrate },
  config: { summary: 'Check or print the settings.', load: async () => (await import('./config.ts')).config },
  org: { summary: 'Create, list, move and remove organizations.', load: async () => (await import('./organizations.ts')).org },
  project: { summary: 'Create and list projects.', load: async () => (await import('./organizations.ts')).project },
  key: { summary: 'Create, list, rotate and revoke organization keys.', load: async () => (await import('./organizations.ts')).key },
  cells: {
    summary: 'Tell a proxy which of several services has the organization of a credential.',
    load: async () => (await import('./cells.ts')).cells,
  },
  cluster: {
    summary: 'Show the nodes that share the database, drain one, or cut people into partitions.',
    load: async () => (await import('./cluster.ts')).cluster,
  },
  operator: {
    summary: 'Create, list and change the people who sign in to the dashboard.',
    load: async () => (await import('./operators.ts')).operator,
  },
  psql: { summary: "Open a read-only psql on the service's database.", load: async () => (await import('./psql.ts')).psql },
  secret: {
    summary: 'Check BIO_SECRET, re-encrypt everything under a new value, or give up a lost one.',
    load: async () => (await import('./secret.ts')).secret,
  },
  'signing-key': {
    summary: 'List the keys that sign user tokens, and withdraw one.',
    load: async () => (await import('./signing-key.ts')).signingKey,
  },
  audit: {
    summary: 'Verify the audit log, or print the heads that reveal a missing end.',
    load: async () => (await import('./audit.ts')).auditLog,
  },
  token: { summary: 'Mint a user token.', load: async () => (await import('./token.ts')).token },
  replay: { summary: 'Stream recordings into a service as if a device sent them.', load: async () => (await import('./replay.ts')).replay },
  simulate: { summary: 'Stream simulated devices, optionally with faults.', load: async () => (await import('./simulate.ts')).simulate },
  agreement: {
    summary: 'Replay annotated recordings and compare heart rate and RMSSD with their reference beats.',
    load: async () => (await import('./agreement.ts')).agreement,
  },
  conform: {
    summary: 'Test a running service from outside: every endpoint, credential, limit and format against its documentation.',
    load: async () => (await import('./conform.ts')).conform,
  },
  verify: { summary: 'Check a ledger of sent packets against the database.', load: async () => (await import('./verify.ts')).verify },
  import: {
    summary: 'Import recordings (WFDB with .atr, EDF+, CSV, dataset folders) with their original times.',
    load: async () => (await import('./import.ts')).importRecordings,
  },
  export: {
    summary: 'Export recordings as WFDB, EDF+, CSV or Parquet, or a user as FHIR.',
    load: async () => (await import('./export.ts')).exportRecordings,
  },
  report: {
    summary: 'Print the report of a user and a range as PDF, with the Chromium of this machine.',
    load: async () => (await import('./report.ts')).report,
  },
  detect: {
    summary: 'Find the R peaks of WFDB records and write them as annotation files.',
    load: async () => (await import('./detect.ts')).detect,
  },
  reprocess: {
    summary: 'Recompute beats and values from stored samples.',
    load: async () => (await import('./reprocess.ts')).reprocess,
  },
  backup: {
    summary: 'Write the whole database to a folder, while the service runs.',
    load: async () => (await import('./backup.ts')).backup,
  },
  restore: { summary: 'Read a backup into an empty database.', load: async () => (await import('./backup.ts')).restore },
  erase: {
    summary: 'Erase a user with all recordings, values and records; prints a receipt.',
    load: async () => (await import('./erase.ts')).erase,
  },
  'set-aside': {
    summary: 'List, retry or delete rows and packets that could not be stored.',
    load: async () => (await import('./set-aside.ts')).setAside,
  },
};
