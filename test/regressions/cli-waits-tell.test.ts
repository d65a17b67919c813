import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type FakeGateway, fakeGateway, row, run } from '../unit/src/cli/fake-gateway.ts';

// Own faults: what a command that waits leaves its caller to guess.
const gateways: FakeGateway[] = [];
afterEach(async () => {
  for (const one of gateways.splice(0)) await one.close();
});

async function gateway(...args: Parameters<typeof fakeGateway>): Promise<readonly string[]> {
  const one = await fakeGateway(...args);
  gateways.push(one);
  return ['--bootstrap-server', one.address];
}

describe('failover', () => {
  test('of a mirror without topics is done at once: there is no end state to wait for', async () => {
    const at = await gateway(({ verb }) =>
      verb === 'describe'
        ? { ok: true, describe: [] }
        : { ok: true, topics: [], plan: { steps: [], notes: [] } },
    );
    const { code, out } = await run(['mirror', 'failover', 'm', '--all', '--yes', '--timeout', '5', ...at]);
    expect(code).toBe(0);
    expect(out).toMatch(/no topics/);
  });

  test('that does not come to its end says what keeps it', async () => {
    const at = await gateway(({ verb }) =>
      verb === 'describe'
        ? {
            ok: true,
            describe: [row(0, 'STOPPED'), row(1, 'STOPPING', { errorMessage: 'broker 3 is silent' })],
          }
        : { ok: true, topics: [{ topic: 'orders' }] },
    );
    const argv = ['mirror', 'failover', 'm', '--all', '--yes', '--timeout', '2', ...at];
    const { code, err } = await run(argv);
    expect(code).toBe(1);
    expect(err).toMatch(/orders-1 is STOPPING: broker 3 is silent/);
  });
});

test('status shows no lag where the source was never seen, not a lag of 0', async () => {
  const at = await gateway(({ verb }) =>
    verb === 'describe'
      ? {
          ok: true,
          describe: [row(0, 'MIRRORING', { sourceOffset: -1, lag: -1, errorMessage: 'no source' })],
        }
      : { ok: true, status: {} },
  );
  const { out } = await run(['status', ...at]);
  const cells =
    out
      .split('\n')
      .find((line) => line.startsWith('east-to-west'))
      ?.split(/\s{2,}/) ?? [];
  // MIRROR PARTITIONS STATES LAG … CATCH-UP
  expect(cells[3]).toBe('-');
  expect(out).not.toMatch(/\b0 s\b/);
});

test('a destination that was taken over while another is waited for ends the process', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'isthmus-run-'));
  const file = join(dir, 'isthmus.yaml');
  writeFileSync(
    file,
    'clusters:\n  a: { bootstrap.servers: "127.0.0.1:1" }\n  b: { bootstrap.servers: "127.0.0.1:2" }\n' +
      'gateways: []\nmirrors: [{ name: m, source: a, destination: b, topics: { include: [t] } }]\n',
  );
  const abort = new AbortController();
  const late = setTimeout(() => abort.abort(), 30_000);
  const { code, err } = await run(['run', '-c', file], {
    interrupted: abort.signal,
    parts: {
      startRun: async () => ({
        ready: new Promise(() => undefined),
        ended: Promise.resolve('another instance took b over'),
        close: async () => undefined,
      }),
    },
  });
  clearTimeout(late);
  rmSync(dir, { recursive: true });
  expect(err).toMatch(/^another instance took b over$/m);
  expect(code).toBe(1);
});
