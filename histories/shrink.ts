/** Cuts a failing history down: commands are left out, in halves, quarters and one by one, as long as it still fails in the same way. */
import type { History } from './commands.ts';

/** @param fails plays a history  @param playsMax so many at most */
export async function shrink(history: History, fails: (candidate: History) => Promise<boolean>, playsMax = 24): Promise<History> {
  let commands = history.commands;
  let plays = 0;
  for (let size = Math.ceil(commands.length / 2); size >= 1;) {
    let isShorter = false;
    for (let at = commands.length - size; at > -size && plays < playsMax; at -= size) {
      const from = Math.max(0, at);
      const candidate = [...commands.slice(0, from), ...commands.slice(at + size)];
      plays++;
      if (candidate.length === 0 || !(await fails({ ...history, commands: candidate }))) continue;
      commands = candidate;
      isShorter = true;
    }
    if (plays >= playsMax) break;
    if (size === 1 && !isShorter) break;
    if (!isShorter || size > commands.length) size = Math.max(1, Math.floor(size / 2));
  }
  return { ...history, commands };
}
