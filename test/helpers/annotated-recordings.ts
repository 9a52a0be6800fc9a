/** The annotated recordings next to the project, which are not part of it: a test that needs them is skipped, loudly, where they are
 *  absent. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const data = process.env['BIO_TEST_DATA'] ?? join(import.meta.dirname, '..', '..', '..', 'shared', 'data');

/** Path of a recording, e.g. `mitdb/119.hea`; null, and a line that says so, where it is absent. */
export function recording(path: string): string | null {
  const file = join(data, path);
  if (existsSync(file)) return file;
  console.warn(`SKIPPED: no recording ${file} (set BIO_TEST_DATA)`);
  return null;
}
