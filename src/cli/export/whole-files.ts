/** Makes the files of an export appear complete and together, or not at all. */
import { existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { UsageError } from '../command.ts';

/** Of a command that writes files, with the name `force`. */
export const FORCE_OPTION = { type: 'boolean', doc: 'Replace files that are there already.' } as const;

/** @throws UsageError one is there already, and is not to be replaced */
export function refuseExisting(paths: readonly string[], mayReplace: boolean): void {
  const [there] = mayReplace ? [] : paths.filter((path) => existsSync(path));
  if (there !== undefined) throw new UsageError(`${there} is there already: name another place, or replace it with --force`);
}

/** Has files written into a temporary folder, and moves them to `folder` when all are complete. On failure nothing is left behind, because
 *  an old file next to a new one of another length would be misread.
 *  @param mayReplace files that are there already @throws UsageError
 *  @param write writes into the folder that it is given  @returns paths of the files in `folder` */
export async function writeWhole(
  folder: string,
  mayReplace: boolean,
  write: (apart: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const apart = await mkdtemp(join(folder, '.export-'));
  const moved: string[] = [];
  try {
    const written = await write(apart);
    const placeOf = (path: string): string => join(folder, basename(path));
    refuseExisting(written.map(placeOf), mayReplace);
    for (const path of written) {
      const place = placeOf(path);
      await rename(path, place);
      moved.push(place);
    }
    return moved;
  } catch (error) {
    await Promise.all(moved.map((path) => rm(path, { force: true })));
    throw error;
  } finally {
    await rm(apart, { recursive: true, force: true });
  }
}
