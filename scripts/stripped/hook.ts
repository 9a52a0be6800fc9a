/** Loads .ts files from what fill.ts kept, by their content; Node loads the others itself. Runs as .cache/stripped/hook.js in every thread
 *  and child process of the tests. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The machine's own Node, which runs npm, may be too old to have it.
nodeModule.registerHooks?.({
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts') || url.includes('/node_modules/')) return next(url, context);
    const text = readFileSync(fileURLToPath(url), 'utf8');
    const kept = join(import.meta.dirname, `${createHash('sha1').update(text).digest('hex')}.js`);
    try {
      return { format: 'module', source: readFileSync(kept, 'utf8'), shortCircuit: true };
    } catch {
      return next(url, context);
    }
  },
});
