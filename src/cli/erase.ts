/** `biosignal erase`: erases everything of one user, with a receipt. */
import { writeFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import { PipelineError } from '../errors.ts';
import { eraseUser, finishErasures } from '../records/erase.ts';
import { commandLine } from './acts.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { FORCE_OPTION, refuseExisting } from './export/whole-files.ts';
import { withDatabase } from './open-database.ts';
import { findOrganization } from './organizations.ts';
import { formatTable } from './table.ts';

export const erase: Command = {
  name: 'erase',
  summary: 'Erase a user with all recordings, values and records; prints a receipt.',
  positionals: 'USER',
  description: `USER is the uuid or external id of a user record. Samples, beats, values, rollups, records and the user record are deleted immediately and permanently;
the receipt counts what was deleted and what is left (0), and holds no health data. Raw packets are logged in batches of many devices and
disappear with the log's partitions, at the time the receipt states. Devices that recorded nobody else are deleted too. What the database
server keeps outside its tables is yours to expire: archived WAL, lagging standbys, disk snapshots, backups. Stop the devices of the user
first: one that sends with a key of the organization and names the user makes the record anew with its next packet. If the command is killed, give
it again, with the uuid when the user record is gone already. A running service finishes it as well.`,
  options: {
    org: { type: 'string', value: 'ORG', doc: 'Id or name of the organization. Not needed while there is only one.' },
    yes: { type: 'boolean', doc: 'Erase. Without --yes the command only says what it would erase.' },
    force: FORCE_OPTION,
    receipt: { type: 'string', value: 'FILE', doc: 'Also write the receipt to this file, as JSON.' },
  },
  examples: ['biosignal erase patient-7', 'biosignal erase patient-7 --yes --receipt patient-7.erased.json'],
  run: async ({ console, options, positionals, json }) => {
    const [wanted] = positionals;
    if (wanted === undefined || positionals.length > 1) throw new UsageError('name one user');
    return await withDatabase(console, async ({ pool }) => {
      const orgId = await findOrganization(pool, options.text('org'));
      const { rows } = await pool.query<{ id: string; external_id: string; project: string; streams: number }>(
        `select x.id, x.external_id, p.name as project, (select count(*)::int from stream where xuser_id = x.id) as streams
         from xuser x join project p on p.id = x.project_id
         where x.organization_id = $1 and (x.id::text = $2 or x.external_id = $2)`,
        [orgId, wanted],
      );
      const [user] = rows;
      if (user === undefined) return await finishOrRefuse(pool, { orgId, wanted, mayErase: options.flag('yes') }, console);
      if (rows.length > 1) throw new UsageError(`'${wanted}' is a user of several projects: give the uuid`);
      if (!options.flag('yes')) {
        console.out(
          `would erase user ${user.external_id} (${user.id}) of project ${user.project} with ${user.streams} streams; add --yes to do it`,
        );
        return EXIT_OK;
      }
      const file = options.text('receipt');
      refuseExisting(file === '' ? [] : [file], options.flag('force'));
      const receipt = await eraseUser(pool, orgId, user.id, { actor: commandLine(console, orgId) });
      if (file !== '') await writeFile(file, `${JSON.stringify(receipt, null, 2)}\n`, { mode: 0o600 });
      if (json) console.out(JSON.stringify(receipt, null, 2));
      else {
        for (const line of formatTable(receipt.stores.map((store) => ({ ...store })))) console.out(line);
        if (receipt.devices_shared > 0) console.out(`${receipt.devices_shared} devices are kept: they also recorded other users`);
        console.out(`user ${receipt.xuser_id} erased at ${receipt.erased_at}; raw packets gone by ${receipt.packet_log_until}`);
      }
      return receipt.stores.every(({ remaining }) => remaining === 0) ? EXIT_OK : EXIT_FAILED;
    });
  },
};

type Wanted = Readonly<{ orgId: string; wanted: string; mayErase: boolean }>;

/** An erasure that was killed has left no user, and perhaps rows.
 *  @throws PipelineError not_found: neither; unavailable: another process is erasing them */
async function finishOrRefuse(pool: Pool, { orgId, wanted, mayErase }: Wanted, console: Console): Promise<number> {
  const isUnfinished = async (): Promise<boolean> =>
    (await pool.query('select from unfinished_erasure where organization_id = $1 and person_id::text = $2', [orgId, wanted])).rows.length >
    0;
  const { rows } = await pool.query<{ there: boolean }>(`select to_regclass('unfinished_erasure') is not null as there`);
  if (rows[0]?.there !== true || !(await isUnfinished())) throw new PipelineError('not_found', `no user '${wanted}'`);
  if (!mayErase) {
    console.out(`user ${wanted} was erased by a process that was interrupted, and rows may be left; add --yes to erase them`);
    return EXIT_OK;
  }
  await finishErasures(pool, wanted);
  if (await isUnfinished()) throw new PipelineError('unavailable', `another process is erasing what is left of '${wanted}'; try again`);
  console.out(`user ${wanted} was erased before, by a process that was interrupted; what it had left is erased now (audit log)`);
  return EXIT_OK;
}
