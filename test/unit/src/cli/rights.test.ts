import { describe, expect, test } from 'vitest';
import { brokerAge } from '../../../../src/cli/broker-version.ts';
import { allows, grantCommand, Operation } from '../../../../src/cli/rights.ts';
import type { BrokerConnection } from '../../../../src/net/connection.ts';

describe('rights as a broker tells them', () => {
  test('a bit for each operation', () => {
    const bits = (1 << Operation.READ) | (1 << Operation.ALTER_CONFIGS);
    expect(allows(bits, 'READ')).toBe(true);
    expect(allows(bits, 'ALTER_CONFIGS')).toBe(true);
    expect(allows(bits, 'WRITE')).toBe(false);
  });

  test('what was not told is not held against anyone', () => {
    expect(allows(-0x8000_0000, 'CLUSTER_ACTION')).toBe(true);
  });

  test('the command that grants what is missing', () => {
    expect(grantCommand('w:9092', "--topic 'orders'", ['DESCRIBE_CONFIGS', 'READ'])).toBe(
      "kafka-acls --bootstrap-server w:9092 --add --allow-principal User:NAME --operation DescribeConfigs --operation Read --topic 'orders'",
    );
  });
});

describe('the age of a broker', () => {
  const broker = (metadata: number, fetch: number, level?: number) =>
    brokerAge({
      versions: new Map([
        [3, { min: 0, max: metadata }],
        [1, { min: 4, max: fetch }],
      ]),
      features: new Map(level === undefined ? [] : [['metadata.version', { min: 1, max: level }]]),
    } as unknown as BrokerConnection);

  test.each([
    ['2.7 with ZooKeeper', broker(9, 12), false, false, false],
    ['2.8 with ZooKeeper', broker(11, 12), true, false, false],
    ['3.5', broker(12, 15, 11), true, false, false],
    ['3.6', broker(12, 15, 14), true, true, false],
    ['3.8', broker(12, 16, 20), true, true, true],
    ['4.4', broker(13, 18, 33), true, true, true],
  ] as const)('%s', (_title, age, source, destination, alter) => {
    expect(age).toMatchObject({
      enoughForSource: source,
      enoughForDestination: destination,
      alterAllowsMarkers: alter,
    });
  });

  test('names the release', () => {
    expect(broker(12, 17, 21).text).toBe('Kafka 3.9 (metadata.version 21)');
    expect(broker(11, 12).text).toBe('no KRaft (Metadata up to 11, Fetch up to 12)');
  });
});
