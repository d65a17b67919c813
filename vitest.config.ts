import { defineConfig } from 'vitest/config';

// A suite is a folder of test/. The real-broker suites run after the others, three files at a time on one shared cluster
// of each release: so a file names its topics, state topics and transactional ids after itself, and what burns producer
// ids, kills a broker or looks at a whole cluster starts a cluster of its own.
// A test may take much longer than a wait in it (30 s, see test/harness/until.ts and patient-waits.ts), so that a wait in
// vain ends the test with what was waited for and not with the runner's own time-out.
const REAL_BROKERS = ['./test/harness/shared-clusters.ts'];

interface Suite {
  include: string;
  exclude?: string;
  timeoutMs: number;
  realBrokers?: boolean;
  group: number;
}

const suites: Record<string, Suite> = {
  unit: { include: 'test/unit/**/*.test.ts', timeoutMs: 60_000, group: 0 },
  differential: { include: 'test/differential/**/*.test.ts', timeoutMs: 60_000, group: 0 },
  'fake-broker': { include: 'test/fake-broker/**/*.test.ts', timeoutMs: 60_000, group: 0 },
  lint: { include: 'test/lint/**/*.test.ts', timeoutMs: 60_000, group: 0 },
  regressions: {
    include: 'test/regressions/**/*.test.ts',
    exclude: 'test/regressions/**/*.broker.test.ts',
    timeoutMs: 60_000,
    group: 0,
  },
  'regressions-broker': {
    include: 'test/regressions/**/*.broker.test.ts',
    timeoutMs: 180_000,
    realBrokers: true,
    group: 1,
  },
  integration: { include: 'test/integration/**/*.test.ts', timeoutMs: 180_000, realBrokers: true, group: 1 },
  clients: { include: 'test/clients/**/*.test.ts', timeoutMs: 180_000, realBrokers: true, group: 1 },
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
        expect: { poll: { timeout: 30_000, interval: 10 } },
        setupFiles: ['./test/harness/patient-waits.ts'],
        // real brokers are waited for more than they work
        maxWorkers: suite.realBrokers ? 3 : 2,
        sequence: { groupOrder: suite.group },
        ...(suite.realBrokers ? { globalSetup: REAL_BROKERS } : {}),
      },
    })),
  },
});
