/** After a history: everything that was acknowledged is there, once, as it was; everything that is computed is what a clean run computes;
 *  everything that may be seen is seen where and when it belongs; everything that is gone is gone. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerWriter } from '../src/cli/client/ledger.ts';
import { runCommand } from '../src/cli/command.ts';
import type { Command, Console } from '../src/cli/command.ts';
import { reprocess } from '../src/cli/reprocess.ts';
import { verify } from '../src/cli/verify.ts';
import type { Clean } from './clean.ts';
import { compareAggregates } from './compare/aggregates.ts';
import { compareAudit } from './compare/audit.ts';
import { compareGone, compareRetention } from './compare/gone.ts';
import { compareRecordings } from './compare/recordings.ts';
import { compareReports } from './compare/reports.ts';
import { compareWebhooks } from './compare/webhooks.ts';
import { compareWeights } from './compare/weights.ts';
import { compareWindows } from './compare/windows.ts';
import type { Boot, Oracle } from './oracle.ts';
import { countsOf, derivedRows, differences } from './rows.ts';
import type { Rows } from './rows.ts';

/** Rows may still be on their way: they differ when nothing has changed for so long. */
const QUIET_MS = 12_000;
const WAIT_MS_MAX = 180_000;

/** @returns beats and values that were compared, by the name of their method */
export async function judge(oracle: Oracle, clean: Clean): Promise<ReadonlyMap<string, number>> {
  await oracle.stage.untilServing();
  const boots = oracle.standing;
  const wanted = await clean.rowsOf(boots);
  await compareSamples(oracle, boots);
  const isSettled = (await compareDerived(oracle, boots, wanted)) && (await compareReprocessed(oracle, boots, wanted));
  await compareBeatChannels(oracle, boots);
  await compareRecordings(oracle);
  await compareReports(oracle);
  await compareWeights(oracle);
  if (isSettled) {
    await compareAggregates(oracle);
    await compareWindows(oracle);
  }
  await compareRetention(oracle);
  await compareGone(oracle);
  await compareAudit(oracle);
  await compareWebhooks(oracle);
  return countsOf(wanted);
}

/** By `biosignal verify`, from a ledger as a client keeps it. */
async function compareSamples(oracle: Oracle, boots: readonly Boot[]): Promise<void> {
  const name = join(oracle.stage.workDir, `ledger-${randomUUID()}`);
  const ledger = new LedgerWriter(name);
  for (const { deviceId, bootId, sent } of boots) {
    for (const { packet, bytes, accepted } of sent) {
      const key = { deviceId, bootId, seq: packet.seq };
      ledger.sent(key, bytes);
      ledger.settled(key, accepted ? 'accepted' : 'refused');
    }
  }
  ledger.close();
  await mustRun(oracle, 'samples', verify, [name, '--wait', '60']);
}

/** Runs a command of `biosignal` on the database. */
async function mustRun(oracle: Oracle, kind: string, command: Command, args: readonly string[]): Promise<boolean> {
  const out: string[] = [];
  const console: Console = {
    out: (line) => void out.push(line),
    err: (line) => void out.push(line),
    progress: null,
    env: { DATABASE_URL: oracle.stage.postgres.url },
    cwd: oracle.stage.workDir,
    signal: new AbortController().signal,
  };
  const code = await runCommand(command, [...args], console);
  oracle.expect(kind, code === 0, () => `${command.name}: ${out.join('\n')}`);
  return code === 0;
}

/** `biosignal reprocess` writes the same again. */
async function compareReprocessed(oracle: Oracle, boots: readonly Boot[], wanted: Rows): Promise<boolean> {
  const devices = [...new Set(boots.filter(({ bootId }) => (wanted.get(bootId)?.size ?? 0) > 0).map(({ deviceId }) => deviceId))];
  if (devices.length === 0) return true;
  const args = [...devices.flatMap((id) => ['--device', id]), '--ended'];
  return (await mustRun(oracle, 'derived', reprocess, args)) && (await compareDerived(oracle, boots, wanted));
}

/** @returns are they there, the same? */
async function compareDerived(oracle: Oracle, boots: readonly Boot[], wanted: Rows): Promise<boolean> {
  let found = '';
  let sinceMs = performance.now();
  for (const deadline = performance.now() + WAIT_MS_MAX; performance.now() < deadline; await sleep(300)) {
    const got = await derivedRows((text, values) => oracle.stage.sql(text, values), boots);
    const all = differences(got, wanted, boots);
    if (all.length === 0) return true;
    if (all.join() !== found) sinceMs = performance.now();
    found = all.join();
    if (performance.now() - sinceMs < QUIET_MS) continue;
    for (const text of all) oracle.complain('derived', text);
    return false;
  }
  oracle.complain('derived', `still changing after ${WAIT_MS_MAX} ms: ${found}`);
  return false;
}

/** A clean run has the same faults as the service: beats are of a channel that has some. */
async function compareBeatChannels(oracle: Oracle, boots: readonly Boot[]): Promise<void> {
  const wrong = await oracle.stage.sql<{ boot: string; method: string; kind: string; n: number }>(
    `select encode(s.boot_id, 'hex') as boot, m.code as method, coalesce(c.kind, 'none') as kind, count(*)::int as n
     from beat b join stream s on s.id = b.stream_id join method m on m.id = b.method_id
     left join stream_channel c on c.stream_id = b.stream_id and c.channel_no = b.channel_no
     where encode(s.boot_id, 'hex') = any ($1)
       and c.kind is distinct from case when m.code like '%:r\\_peaks\\_%' then 'ecg' when m.code like '%:pulse\\_peaks\\_%' then 'ppg' end
     group by 1, 2, 3`,
    [boots.map(({ bootId }) => bootId)],
  );
  for (const { boot, method, kind, n } of wrong)
    oracle.complain('derived', `${boot}: ${n} beats of ${method} are of a channel of kind ${kind}`);
}
