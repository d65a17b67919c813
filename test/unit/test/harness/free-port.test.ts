import { expect, it, vi } from 'vitest';

async function worker(id: string): Promise<typeof import('../../../harness/free-port.ts')> {
  vi.stubEnv('VITEST_POOL_ID', id);
  vi.resetModules();
  const module = await import('../../../harness/free-port.ts');
  vi.unstubAllEnvs();
  return module;
}

it('two workers of a run never give the same port, nor does one twice', async () => {
  const [one, two] = [await worker('6'), await worker('7')];
  const ports = [...(await one.freePorts(40)), ...(await two.freePorts(40))];
  const ranges = [await one.freePortRange(5), await two.freePortRange(5)].flatMap((first) =>
    [0, 1, 2, 3, 4].map((n) => first + n),
  );
  const all = [...ports, ...ranges];
  expect(new Set(all).size).toBe(all.length);
  const [low, high] = [all.filter((port) => port < 27_500), all.filter((port) => port >= 27_500)];
  expect(low.length).toBe(45);
  expect(Math.max(...low)).toBeLessThan(Math.min(...high));
});
