import { afterEach, describe, expect, it } from 'vitest';
import type { In, Out } from '../fake-broker/index.ts';
import { startUnderTest, type UnderTest } from '../fake-broker/support/gateway-under-test.ts';
import { API } from '../fake-broker/support/requests.ts';

interface Coordinator {
  key: string;
  id: number;
  host: string;
  port: number;
  code: number;
}

function readCoordinators(input: In, version: number): Coordinator[] {
  if (version >= 1) input.i32();
  if (version >= 4) {
    return input.list(() => {
      const found = {
        key: input.str(),
        id: input.i32(),
        host: input.str(),
        port: input.i32(),
        code: input.i16(),
      };
      input.nstr();
      input.tags();
      return found;
    });
  }
  const code = input.i16();
  if (version >= 1) input.nstr();
  return [{ key: '', id: input.i32(), host: input.str(), port: input.i32(), code }];
}

function ask(version: number, keys: readonly string[]): (out: Out) => void {
  return (out) => {
    if (version < 4) out.str(keys[0] ?? '');
    if (version >= 1) out.i8(0);
    if (version >= 4) out.list(keys, (key) => void out.str(key));
    out.tags();
  };
}

// P16: group calls reached the wrong broker; an answer's address was read although it carried an error.
describe('P16 FindCoordinator', () => {
  let test: UnderTest;
  afterEach(() => test.close());

  it.each([0, 1, 2, 3, 4, 5, 6])('version %i gives our address', async (version) => {
    test = await startUnderTest({ brokers: 2 });
    const client = await test.connect();
    const found = readCoordinators(
      await client.call(API.findCoordinator, version, version >= 3, ask(version, ['g'])),
      version,
    );
    expect(found).toMatchObject([{ id: 1, host: '127.0.0.1', port: test.portOf(1), code: 0 }]);
  });

  it('each key of a batch is handled for itself: good, failed with a stray address, and beyond the mapped ids', async () => {
    test = await startUnderTest({
      brokers: [1, 4],
      config: { brokerPorts: new Map([[1, 0]]) },
      apis: {
        [API.findCoordinator]: {
          versions: [0, 6],
          flexibleFrom: 3,
          handle: (_, output) => {
            const rows = [
              ['good', 1, 'real-1', 9092, 0],
              ['failed', 7, 'real-7', 9092, 15],
              ['far', 4, 'real-4', 9092, 0],
            ] as const;
            output.i32(0).list(rows, ([key, id, host, port, code]) => {
              output.str(key).i32(id).str(host).i32(port).i16(code).str(null).tags();
            });
            return { body: output.tags() };
          },
        },
      },
    });
    const client = await test.connect();
    const found = readCoordinators(
      await client.call(API.findCoordinator, 4, true, ask(4, ['good', 'failed', 'far'])),
      4,
    );
    expect(found).toEqual([
      { key: 'good', id: 1, host: '127.0.0.1', port: test.portOf(1), code: 0 },
      { key: 'failed', id: -1, host: '', port: -1, code: 15 },
      { key: 'far', id: -1, host: '', port: -1, code: 15 },
    ]);
  });

  it('an error clears on the next lookup', async () => {
    test = await startUnderTest();
    const client = await test.connect();
    test.fake.next(API.findCoordinator, { kind: 'fail', code: 15 });
    const first = readCoordinators(await client.call(API.findCoordinator, 3, true, ask(3, ['g'])), 3);
    const second = readCoordinators(await client.call(API.findCoordinator, 3, true, ask(3, ['g'])), 3);
    expect([first[0]?.code, second[0]?.code]).toEqual([15, 0]);
  });
});
