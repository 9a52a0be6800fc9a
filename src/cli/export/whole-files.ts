/** Makes the files of an export appear complete and together, or not at all. */
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';

/** Has files written into a temporary folder, and moves them to `folder` when all are complete. On failure nothing is left behind, because
 *  an old file next to a new one of another length would be misread.
 *  @param write writes into the folder that it is given  @returns paths of the files in `folder` */
export async function writeWhole(folder: string, write: (apart: string) => Promise<readonly string[]>): Promise<string[]> {
  const apart = await mkdtemp(join(folder, '.export-'));
  const moved: string[] = [];
  try {
    for (const path of await write(apart)) {
      const place = join(folder, basename(path));
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
