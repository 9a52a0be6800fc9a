/** `biosignal audit`: checks that the audit log is unchanged and complete to its end. */
import type { Pool } from 'pg';
import { auditChain, findHead } from '../tenancy/audit-chain.ts';
import type { AuditChain } from '../tenancy/audit-chain.ts';
import type { Command, Console } from './command.ts';
import { EXIT_FAILED, EXIT_OK, UsageError } from './command.ts';
import { withDatabase } from './open-database.ts';
import { formatTable } from './table.ts';

type Chain = AuditChain & Readonly<{ organization: string; name: string }>;

export const auditLog: Command = {
  name: 'audit',
  summary: 'Verify the audit log, or print the heads that reveal a missing end.',
  positionals: 'head | verify',
  description: `The audit log is one chain of entries per organization, and one for the installation. The head of a chain is the hash of its newest entry.
head      prints the head of every chain. Save them on another machine every day
verify    reads every chain and finds entries that were changed, moved or removed from the middle. Entries deleted from the end leave a
          shorter but valid chain: pass a saved head with --head, and it is looked for. Exit code 1 if something is wrong`,
  options: { head: { type: 'string', value: 'HASH', multiple: true, doc: 'verify: a saved head. May be given several times.' } },
  examples: ['biosignal audit head --json', 'biosignal audit verify --head 5f3a…'],
  run: ({ console, options, positionals, json }) =>
    withDatabase(console, async ({ pool }) => {
      const [verb] = positionals;
      if (verb !== 'head' && verb !== 'verify') throw new UsageError('say head or verify');
      const heads = options.list('head').map((head) => head.toLowerCase());
      const bad = heads.find((head) => !/^[0-9a-f]{64}$/.test(head));
      if (bad !== undefined) throw new UsageError(`--head must be 64 hexadecimal digits, not '${bad}'`);
      const chains = await readChains(pool);
      if (verb === 'head') {
        const rows = chains.map(({ name, entries, head }) => ({ chain: name, entries, head: head ?? 'empty' }));
        if (json) console.out(JSON.stringify(chains, null, 2));
        else for (const line of formatTable(rows)) console.out(line);
        return EXIT_OK;
      }
      const missing: string[] = [];
      for (const head of heads) if (!(await findHead(pool, head))) missing.push(head);
      const ok = missing.length === 0 && chains.every((chain) => chain.broken_at === null);
      if (json) console.out(JSON.stringify({ ok, chains, missing }, null, 2));
      else tell(console, chains, heads, missing);
      return ok ? EXIT_OK : EXIT_FAILED;
    }),
};

/** Prints the verdict: whole chains on standard output, broken ones on standard error. */
function tell(console: Console, chains: readonly Chain[], heads: readonly string[], missing: readonly string[]): void {
  let entryCount = 0;
  for (const { name, entries, head, broken_at: at } of chains) {
    entryCount += entries;
    if (at !== null) console.err(`${name}: broken at entry ${at} of ${entries}: it was changed, or the one before it is missing`);
    else if (head !== null) console.out(`${name}: ${entries} entries, head ${head}`);
  }
  for (const head of missing) console.err(`the head ${head} is in no chain: the end of a chain was deleted`);
  if (missing.length > 0 || chains.some((chain) => chain.broken_at !== null)) return;
  const kept = heads.length === 0 ? '' : `, and every given head is in a chain`;
  console.out(`ok: ${entryCount} entries in ${chains.length} chains, as they were written${kept}`);
  console.out(
    "Save the heads on another machine ('biosignal audit head --json'): only 'verify --head' shows whether newer entries were deleted.",
  );
}

async function readChains(pool: Pool): Promise<readonly Chain[]> {
  // A deleted organization leaves its chain.
  const { rows } = await pool.query<{ id: string | null; name: string | null }>(
    `select id, name from (select id from organization union select organization_id from audit_log union select null) chains
       left join organization using (id) order by id nulls first`,
  );
  const chains: Chain[] = [];
  for (const { id, name } of rows) {
    chains.push({ organization: id ?? 'installation', name: name ?? id ?? 'installation', ...(await auditChain(pool, id)) });
  }
  return chains;
}
