/** Reads how many files and sockets this process may have open. */
import { existsSync, readFileSync } from 'node:fs';

/** The soft limit; null: none, or a system that does not say. */
export function openFilesMax(): number | null {
  if (!existsSync('/proc/self/limits')) return null;
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  return soft === undefined ? null : Number(soft);
}
