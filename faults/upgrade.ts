/** The next release starts next to this one while devices stream: it migrates tables that are being written, waits for the log, and takes
 *  over. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scenario } from './scenarios.ts';
import { supervisedStop } from './scenarios.ts';

const root = join(import.meta.dirname, '..');

/** How often the next release may end, because it did not get a table in time, before it has migrated. */
const ENDED_MAX = 20;

/** This release with one migration more for every upgrade so far. @returns its folder */
export function nextRelease(workDir: string, upgrades: number): string {
  const folder = join(workDir, `release-${upgrades}`);
  mkdirSync(folder);
  for (const part of ['src', 'sdk', 'sql', 'faults', 'package.json']) cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const last = Math.max(...readdirSync(join(folder, 'sql')).map((name) => Number(/^\d{6}(?=-)/.exec(name)?.[0] ?? 0)));
  for (let i = 1; i <= upgrades; i++) {
    const name = `${String(last + i).padStart(6, '0')}-of-the-next-release-${i}.sql`;
    // A column on the tables that packets go to, every row of one rewritten, and an index: what an upgrade does at its worst.
    writeFileSync(
      join(folder, 'sql', name),
      `alter table packet_log add column upgrade_${i} smallint not null default ${i};
alter table sample_block add column upgrade_${i} smallint not null default ${i};
update stream set uuid = uuid;
create index on stream (id, epoch_ns);
`,
    );
  }
  return folder;
}

/** The code of a commit. @returns its folder */
export function releaseOf(workDir: string, commit: string): string {
  const folder = join(workDir, `release-${commit}`);
  mkdirSync(folder);
  const archive = execFileSync('git', ['archive', commit, 'src', 'sdk', 'sql', 'faults', 'package.json'], {
    cwd: root,
    maxBuffer: 1 << 30,
  });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

let upgrades = 0;

export const upgradeScenario: Scenario = {
  name: 'upgrade',
  about: 'the next release migrates the tables under load, waits for the log, the old one is told to stop',
  rounds: 10,
  world: { front: true },
  round: async (world, random) => {
    await sleep(200 + 900 * random.next());
    const next = await world.secondInstance({ root: nextRelease(world.workDir, ++upgrades) });
    // Streaming goes on under the new schema until the old one is stopped.
    let ended = 0;
    for (const wanted = `%-of-the-next-release-${upgrades}.sql`; ; await sleep(50)) {
      const rows = await world.sql<{ n: number }>('select count(*)::int as n from migration where name like $1', [wanted]);
      if (rows[0]!.n === 1) break;
      if (next.running) continue;
      if (++ended > ENDED_MAX) throw new Error(`the next release ended ${ended} times without having migrated:\n${next.log.slice(-1200)}`);
      next.start();
    }
    await sleep(500 + 500 * random.next());
    return await supervisedStop(world, next);
  },
  after: async (world) => {
    const rows = await world.sql<{ n: number }>(`select count(*)::int as n from migration where name like '%-of-the-next-release-%'`);
    return rows[0]!.n === upgrades ? [] : [`${rows[0]!.n} of ${upgrades} upgrades are in the schema`];
  },
};
