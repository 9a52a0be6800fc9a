import { defineConfig } from 'vitest/config';

// A machine at work may need seconds for what takes 50 ms alone; a poll ends as soon as it holds.
const expect = { poll: { timeout: 20_000 } } as const;
// Tests of a file that may run together wait for the same things: one wave of them, not three.
const maxConcurrency = 12;
// What differs is in the message, which is all that the last lines of CI say: cut at 40 characters, it was "[ …(2) ] to deeply equal []".
const chaiConfig = { truncateThreshold: 400 } as const;
const shared = { testTimeout: 60_000, hookTimeout: 240_000, pool: 'forks', expect, chaiConfig, maxConcurrency } as const;

const alone = ['wall', 'wall-group', 'wall-lost', 'wall-names'].map((name) => `test/dashboard/${name}.int.test.ts`);
// Not `exclude` of a project, here and below: it would keep --exclude of the command line from it.
const others = alone.map((file) => `!${file}`);

export default defineConfig({
  test: {
    maxWorkers: 4, // of two cores: half of the time a test waits for a database or a clock
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          isolate: false, // a process for each of 200 files took half of the time
          include: ['{src,sdk,widgets,dashboard,test}/**/*.test.ts', '!test/**/*.int.test.ts'],
        },
      },
      { test: { ...shared, name: 'integration', include: ['test/**/*.int.test.ts', ...others], testTimeout: 240_000 } },
      // After all others, one at a time: with both cores taken by others its devices fall behind the clock.
      { test: { ...shared, name: 'alone', include: alone, testTimeout: 240_000, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
