/** `biosignal audit`: is the audit log as it was written, to its end? */
import type { Pool } from 'pg';
import { auditChain, findHead } from '../auth/audit-chain.ts';
import type { AuditChain } from '../auth/audit-chain.ts';
import type { Command } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { formatTable } from './table.ts';

type Chain = AuditChain & Readonly<{ organization: string }>;

export const auditLog: Command = {
  name: 'audit',
  summary: 'Verify the audit log, and print the heads that show whether its end is missing.',
  positionals: 'head | verify',
  description: `head      the newest hash of every chain: one per organization, and one of the installation. Keep them on another machine
verify    reads every chain again. Finds entries that were changed, moved or taken out of the middle; with a --head that was kept also
          entries that were taken off the end. Exit code 1 when anything is not as it was`,
  options: { head: { type: 'string', value: 'HASH', multiple: true, doc: 'verify: a head that was kept. May be given several times.' } },
  examples: ['biosignal audit head --json', 'biosignal audit verify --head 5f3a…'],
  run: ({ console, options, positionals, json }) =>
    withDatabase(console, async ({ pool }) => {
      const [verb] = positionals;
      if (verb !== 'head' && verb !== 'verify') throw new UsageError('say head or verify');
      const heads = options.list('head').map((head) => head.toLowerCase());
      const bad = heads.find((head) => !/^[0-9a-f]{64}$/.test(head));
      if (bad !== undefined) throw new UsageError(`--head must be 64 hexadecimal digits, not '${bad}'`);
      const chains = await readChains(pool);
      const missing: string[] = [];
      for (const head of heads) if (!(await findHead(pool, head))) missing.push(head);
      const broken = chains.filter((chain) => chain.broken_at !== null);
      if (json)
        console.out(JSON.stringify(verb === 'head' ? chains : { ok: broken.length + missing.length === 0, chains, missing }, null, 2));
      else for (const line of formatTable(chains.map((chain) => ({ ...chain })))) console.out(line);
      if (verb === 'head') return EXIT_OK;
      for (const { organization, broken_at: at } of broken)
        console.err(`biosignal audit: ${organization}: entry ${at} is not as it was written`);
      for (const head of missing)
        console.err(`biosignal audit: no chain has an entry with the head ${head}: entries are missing from an end`);
      return broken.length + missing.length === 0 ? EXIT_OK : EXIT_FAILED;
    }),
};

async function readChains(pool: Pool): Promise<readonly Chain[]> {
  // An organization that was deleted leaves its chain.
  const { rows } = await pool.query<{ id: string | null }>(
    `select id from organization union select organization_id from audit_log union select null order by 1 nulls first`,
  );
  const chains: Chain[] = [];
  for (const { id } of rows) chains.push({ organization: id ?? 'installation', ...(await auditChain(pool, id)) });
  return chains;
}
