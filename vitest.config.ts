import { defineConfig } from 'vitest/config';

// A suite is a folder of test/. The real-broker suites run file by file, after the others and on clusters of their
// own: two cores do not carry several brokers and their clients at once.
const REAL_BROKERS = ['./test/harness/shared-clusters.ts'];

interface Suite {
  include: string;
  exclude?: string;
  timeoutMs: number;
  realBrokers?: boolean;
  group: number;
}

const suites: Record<string, Suite> = {
  unit: { include: 'test/unit/**/*.test.ts', timeoutMs: 20_000, group: 0 },
  differential: { include: 'test/differential/**/*.test.ts', timeoutMs: 30_000, group: 0 },
  'fake-broker': { include: 'test/fake-broker/**/*.test.ts', timeoutMs: 20_000, group: 0 },
  lint: { include: 'test/lint/**/*.test.ts', timeoutMs: 60_000, group: 0 },
  regressions: {
    include: 'test/regressions/**/*.test.ts',
    exclude: 'test/regressions/**/*.broker.test.ts',
    timeoutMs: 20_000,
    group: 0,
  },
  'regressions-broker': {
    include: 'test/regressions/**/*.broker.test.ts',
    timeoutMs: 90_000,
    realBrokers: true,
    group: 1,
  },
  integration: { include: 'test/integration/**/*.test.ts', timeoutMs: 90_000, realBrokers: true, group: 2 },
  clients: { include: 'test/clients/**/*.test.ts', timeoutMs: 90_000, realBrokers: true, group: 3 },
};

export default defineConfig({
  test: {
    projects: Object.entries(suites).map(([name, suite]) => ({
      test: {
        name,
        include: [suite.include],
        exclude: suite.exclude === undefined ? [] : [suite.exclude],
        testTimeout: suite.timeoutMs,
        hookTimeout: suite.timeoutMs,
        // a condition is waited for, however busy the machine is
        expect: { poll: { timeout: 10_000 } },
        maxWorkers: suite.realBrokers ? 1 : 2,
        sequence: { groupOrder: suite.group },
        ...(suite.realBrokers ? { globalSetup: REAL_BROKERS } : {}),
      },
    })),
  },
});
