/** Loads .ts files from the texts that fill.ts has kept, by what they say; Node does the others itself. Runs as .cache/stripped/hook.js, in
 *  every thread and child of the tests. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Not there in the older Node of a machine, which runs npm.
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
