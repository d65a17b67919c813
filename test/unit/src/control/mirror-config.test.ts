import { describe, expect, test } from 'vitest';
import { kipPattern, parseMirrorConfig } from '../../../../src/control/mirror-config.ts';

const clusters = new Map([
  ['east', 'east-1:9092,east-2:9092'],
  ['west', 'west:9092'],
]);
const parse = (config: Record<string, string>) =>
  parseMirrorConfig(
    Object.entries(config).map(([name, value]) => ({ name, value })),
    clusters,
  );

describe("the config of KIP-1279's create", () => {
  test('names its source, or gives the bootstrap.servers of a configured cluster in any order', () => {
    expect(parse({ source: 'east' }).source).toBe('east');
    expect(parse({ 'bootstrap.servers': 'east-2:9092, EAST-1:9092' }).source).toBe('east');
    expect(() => parse({ 'bootstrap.servers': 'north:9092' })).toThrow(/configured: east \(east-1/);
    expect(() => parse({ source: 'west', 'bootstrap.servers': 'east-1:9092,east-2:9092' })).toThrow(
      /disagree/,
    );
  });

  test('is taken with and without the prefix, lists also in brackets', () => {
    expect(
      parse({ source: 'east', 'mirror.topics.include': '[orders,pay-.*]', 'topics.exclude': '__.*,old' }),
    ).toMatchObject({ include: ['orders', '/pay-.*/'], exclude: ['old'] });
    expect(parse({ source: 'east', 'mirror.source.cluster.id': 'X' }).sourceClusterId).toBe('X');
    expect(parse({ source: 'east', 'topics.replication.factor': '3' }).replicationFactor).toBe(3);
  });

  test.each(['sasl.jaas.config', 'ssl.keystore.password', 'mirror.sasl.password', 'my.secret'])(
    '%s is refused without its value',
    (name) => {
      expect(() => parse({ source: 'east', [name]: 'hush' })).toThrow(/secrets stand in the configuration/);
      expect(() => parse({ [name]: 'hush' })).not.toThrow(/hush/);
    },
  );

  test('an unknown setting is named', () => {
    expect(() => parse({ source: 'east', 'fetch.min.bytes': '1' })).toThrow(
      /fetch\.min\.bytes.*known: source/,
    );
  });

  test('a plain name stays literal: a.b never means axb', () => {
    expect(kipPattern('a.b')).toBe('a.b');
    expect(kipPattern('a.*')).toBe('/a.*/');
  });
});
