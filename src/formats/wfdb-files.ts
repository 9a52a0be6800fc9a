/** Files of WFDB records, untrusted: read within a size and inside their folder, replaced whole. */
import { constants } from 'node:fs';
import { open, readFile, realpath, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { PipelineError } from '../errors.ts';

/** Opens a data file that a header names: inside the folder also after symbolic links are followed, and a regular file. */
export async function readInFolder(folder: string, name: string, bytesMax: number): Promise<Buffer> {
  const path = join(folder, name);
  let inside: string;
  try {
    const [realFolder, realFile] = await Promise.all([realpath(folder), realpath(path)]);
    if (!realFile.startsWith(realFolder.endsWith(sep) ? realFolder : realFolder + sep)) {
      throw new PipelineError('validation_failed', `${path}: leads out of the folder of its header`);
    }
    inside = realFile;
  } catch (cause) {
    if (cause instanceof PipelineError) throw cause;
    throw new PipelineError('not_found', `${path}: no such file`, { cause });
  }
  return readBounded(inside, bytesMax);
}

/** O_NONBLOCK so that a named pipe does not hang the open; what is not a regular file is refused. */
export async function readBounded(path: string, bytesMax: number): Promise<Buffer> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (cause) {
    throw new PipelineError('not_found', `${path}: cannot be opened`, { cause });
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new PipelineError('validation_failed', `${path}: not a regular file`);
    if (stat.size > bytesMax) throw new PipelineError('payload_too_large', `${path}: ${stat.size} bytes (limit ${bytesMax})`);
    return await readFile(file);
  } finally {
    await file.close();
  }
}

export async function replaceFile(path: string, bytes: Uint8Array): Promise<void> {
  const part = join(dirname(path), `.${basename(path)}.${process.pid}.part`);
  await writeFile(part, bytes);
  await rename(part, path);
}
