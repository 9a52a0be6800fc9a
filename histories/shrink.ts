/** Cuts a failing history down: commands are left out, in halves, quarters and one by one, as long as it still fails in the same way. */
import type { History } from './commands.ts';

/** @param fails plays a history  @param playsMax so many at most */
export async function shrink(history: History, fails: (candidate: History) => Promise<boolean>, playsMax = 24): Promise<History> {
  const failsWith = (commands: History['commands']): Promise<boolean> => fails({ ...history, commands });
  return { ...history, commands: await shrinkList(history.commands, failsWith, playsMax) };
}

/** Leaves out what a failure does not need. */
export async function shrinkList<T>(all: readonly T[], fails: (candidate: T[]) => Promise<boolean>, playsMax: number): Promise<T[]> {
  let items = [...all];
  let plays = 0;
  for (let size = Math.ceil(items.length / 2); size >= 1;) {
    let isShorter = false;
    for (let at = items.length - size; at > -size && plays < playsMax; at -= size) {
      const from = Math.max(0, at);
      const candidate = [...items.slice(0, from), ...items.slice(at + size)];
      plays++;
      if (candidate.length === 0 || !(await fails(candidate))) continue;
      items = candidate;
      isShorter = true;
    }
    if (plays >= playsMax) break;
    if (size === 1 && !isShorter) break;
    if (!isShorter || size > items.length) size = Math.max(1, Math.floor(size / 2));
  }
  return items;
}
