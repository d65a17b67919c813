import { describe, expect, test } from 'vitest';
import { ErrorCode } from '../../../../protocol/errors.ts';
import type { BrokerConnection } from '../../../../src/net/connection.ts';
import { readTopicWriters } from '../../../../src/net/topic-writers.ts';

interface Acl {
  readonly on: string;
  readonly prefixed?: boolean;
  readonly who: string;
  readonly host?: string;
  readonly may?: 'write' | 'all' | 'read';
  readonly denied?: boolean;
}

const operations = { all: 2, read: 3, write: 4 };

const answering = (answer: object) =>
  ({
    peer: 'west:9092',
    versions: new Map([[29, {}]]),
    call: async () => answer,
  }) as unknown as BrokerConnection;

async function writersOf(topic: string, acls: readonly Acl[]): Promise<readonly string[]> {
  const resources = acls.map(({ on, prefixed, who, host = '*', may = 'write', denied }) => ({
    resourceType: 2,
    resourceName: on,
    patternType: prefixed === true ? 4 : 3,
    acls: [{ principal: who, host, operation: operations[may], permissionType: denied === true ? 2 : 3 }],
  }));
  const writers = await readTopicWriters(answering({ errorCode: 0, resources }), { timeoutMs: 1000 });
  if (writers.kind !== 'known') throw new Error(writers.kind);
  return writers.writersOf(topic);
}

describe('who may write to a topic', () => {
  test('by its name, a prefix of it or all names; by WRITE or ALL; each once and in order', async () => {
    const acls: Acl[] = [
      { on: 'orders', who: 'User:c' },
      { on: 'ord', prefixed: true, who: 'User:b', may: 'all' },
      { on: '*', who: 'User:a' },
      { on: '*', who: 'User:c' },
    ];
    expect(await writersOf('orders', acls)).toEqual(['User:a', 'User:b', 'User:c']);
  });

  test('not by READ, another name, a name that only begins like it, or a star within a prefix', async () => {
    const acls: Acl[] = [
      { on: 'orders', who: 'User:reader', may: 'read' },
      { on: 'ord', who: 'User:other' },
      { on: 'orders-2', prefixed: true, who: 'User:longer' },
      { on: '*', prefixed: true, who: 'User:star' },
    ];
    expect(await writersOf('orders', acls)).toEqual([]);
  });

  test('a denial wins, for the same principal, for everybody, and only where its host reaches', async () => {
    const acls: Acl[] = [
      { on: 'orders', who: 'User:barred' },
      { on: 'ord', prefixed: true, who: 'User:barred', denied: true },
      { on: 'orders', who: 'User:half', host: '10.0.0.1' },
      { on: 'orders', who: 'User:half' },
      { on: 'orders', who: 'User:half', host: '10.0.0.1', denied: true },
    ];
    expect(await writersOf('orders', acls)).toEqual(['User:half']);
    expect(await writersOf('orders', [...acls, { on: '*', who: 'User:*', denied: true }])).toEqual([]);
  });

  test('from one address only is said', async () => {
    expect(await writersOf('t', [{ on: 't', who: 'User:a', host: '10.0.0.1' }])).toEqual([
      'User:a from 10.0.0.1',
    ]);
  });
});

test.each([
  [ErrorCode.SECURITY_DISABLED, { kind: 'anyone' }],
  [
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    { kind: 'unknown', why: expect.stringMatching(/Describe --cluster$/) },
  ],
  [ErrorCode.INVALID_REQUEST, { kind: 'unknown', why: 'INVALID_REQUEST (why)' }],
])('error %i of the broker', async (errorCode, told) => {
  const connection = answering({ errorCode, errorMessage: 'why', resources: [] });
  expect(await readTopicWriters(connection, { timeoutMs: 1000 })).toEqual(told);
});

test('a broker without that API', async () => {
  const connection = { peer: 'w:1', versions: new Map() } as unknown as BrokerConnection;
  expect(await readTopicWriters(connection, { timeoutMs: 1000 })).toMatchObject({ kind: 'unknown' });
});
