import { defineConfig } from 'vitest/config';

// A machine at work may need seconds for what takes 50 ms alone; a poll ends as soon as it holds.
const expect = { poll: { timeout: 10_000 } } as const;
const shared = { testTimeout: 30_000, hookTimeout: 120_000, pool: 'forks', expect } as const;

export default defineConfig({
  test: {
    maxWorkers: 3, // of two cores: a third of the time a test waits for a database or a clock
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['src/**/*.test.ts', 'sdk/**/*.test.ts', 'widgets/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['test/**/*.int.test.ts'],
        },
      },
      { test: { ...shared, name: 'integration', include: ['test/**/*.int.test.ts'], testTimeout: 120_000 } },
    ],
  },
});
