import { defineConfig } from 'vitest/config';

const shared = { testTimeout: 30_000, hookTimeout: 120_000, pool: 'forks' } as const;

export default defineConfig({
  test: {
    maxWorkers: 2,
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
